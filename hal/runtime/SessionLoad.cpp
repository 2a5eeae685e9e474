// SPDX-License-Identifier: Apache-2.0
//
// SessionLoad.cpp: what happens once per session: loading a variant with its
// weights, constants and variables.
#include "NameOp.h"
#include "RegionUse.h"
#include "Session.h"

#include <algorithm>

namespace backplane::rt {
namespace {

/// Numbers of the things of one kind that a program names on a device.
std::set<uint32_t> namedBy(const Program &program, SlotKind kind,
                           uint32_t device) {
  std::set<uint32_t> numbers;
  for (const Slot &slot : program.slots)
    if (slot.kind == kind && slot.device == device)
      numbers.insert(slot.index);
  return numbers;
}

/// The program of a variant and those of its regions.
std::vector<const Program *> programsOf(const VariantInfo &variant) {
  std::vector<const Program *> programs = {&variant.program};
  for (const RegionInfo &region : variant.regions)
    programs.push_back(&region.program);
  return programs;
}

/// Sizes of the constants that the init program writes on a device.
Result<std::map<uint32_t, uint64_t>> constantSizes(const Program &init,
                                                   uint32_t device) {
  std::map<uint32_t, uint64_t> sizes;
  Evaluator evaluate;
  for (const Slot &slot : init.slots) {
    if (slot.kind != SlotKind::Constant || slot.device != device)
      continue;
    Result<int64_t> bytes = evaluate(*slot.bytes);
    if (!bytes)
      return bytes.status();
    sizes[slot.index] = uint64_t(*bytes);
  }
  return sizes;
}

Result<uint64_t> variableBytes(const VariableInfo &info) {
  std::vector<int64_t> dims;
  Evaluator evaluate;
  for (const Dim &dim : info.port.type.dims) {
    Result<int64_t> value = evaluate(dim);
    if (!value)
      return value.status();
    dims.push_back(*value);
  }
  return denseBytes(info.port.type.dtype, dims);
}

std::span<const uint8_t> weightBytes(const ArtifactFile &file,
                                     uint32_t number) {
  const WeightInfo &info = file.metadata().weights[number];
  return file.weights().subspan(info.offset, info.size);
}

/// The mapped weight section as one buffer, if the device can use it in place.
std::shared_ptr<Buffer> importWeights(Device &device,
                                      const ArtifactFile &file) {
  constexpr uint64_t offsetAlignment = 64; // of the weights in the section
  const bp_device_info_t &info = device.info().c();
  if (file.weights().empty() || isDiscrete(device) ||
      info.binding_alignment > offsetAlignment ||
      (info.max_buffer_size && file.weights().size() > info.max_buffer_size))
    return nullptr;
  // The device reads only; the pages are mapped without write permission.
  return device.import(const_cast<uint8_t *>(file.weights().data()),
                       file.weights().size(), true);
}

/// Copies weights to the device: into one buffer, or into one each when the
/// device has no room for that.
Status uploadWeights(Device &device, const std::shared_ptr<Budget> &budget,
                     const ArtifactFile &file,
                     const std::set<uint32_t> &numbers,
                     std::vector<Binding> &places) {
  std::map<uint32_t, uint64_t> sizes;
  uint64_t total = 0;
  for (uint32_t number : numbers)
    total += sizes[number] = weightBytes(file, number).size();
  uint64_t most = device.info().c().max_buffer_size;
  std::vector<std::map<uint32_t, uint64_t>> groups = {sizes};
  if (most && total + sizes.size() * 256 > most) {
    groups.clear();
    for (auto item : sizes)
      groups.push_back({item});
  }
  for (const auto &group : groups) {
    Result<Pieces> pieces = allocatePieces(device, budget, Use::Weights, group);
    if (!pieces)
      return pieces.status();
    for (auto [number, offset] : pieces->offsets) {
      auto bytes = weightBytes(file, number);
      places[number] = {pieces->buffer, offset, bytes.size()};
      if (bytes.empty())
        continue;
      if (Status s = pieces->buffer->write(offset, bytes); !s.ok())
        return s.within("cannot upload a weight");
    }
  }
  return {};
}

/// Gives `numbers` places: in the mapped file, or copied.
Status placeWeights(Device &device, const std::shared_ptr<Budget> &budget,
                    const ArtifactFile &file, const std::set<uint32_t> &numbers,
                    std::vector<Binding> &places) {
  if (numbers.empty())
    return {};
  std::shared_ptr<Buffer> whole = importWeights(device, file);
  if (!whole)
    return uploadWeights(device, budget, file, numbers, places);
  for (uint32_t number : numbers)
    places[number] = {whole, file.metadata().weights[number].offset,
                      file.metadata().weights[number].size};
  return {};
}

} // namespace

const VariantInfo &Session::variant() const {
  return artifact_->file->metadata().variants[variant_];
}

Result<std::shared_ptr<Session>>
Session::load(std::shared_ptr<const LoadedArtifact> artifact,
              const Candidate &candidate, uint64_t budget) {
  std::shared_ptr<Session> session(new Session());
  session->artifact_ = std::move(artifact);
  session->variant_ = candidate.variant;
  session->budget_ = std::make_shared<Budget>(budget);
  if (std::string why = unreadable(session->variant()); !why.empty())
    return unimplemented(candidate.target + " " + why);
  TraceScope scope(session->trace(), "load variant");
  scope.add("target", std::string_view(candidate.target));
  scope.add("device", std::string_view(candidate.uri));
  if (Status s = session->load(candidate); !s.ok())
    return s;
  return session;
}

Status Session::openDevice(std::shared_ptr<Device> device) {
  DeviceState side;
  Result<std::shared_ptr<Queue>> queue = device->createQueue();
  if (!queue)
    return queue.status();
  Result<std::shared_ptr<Buffer>> nothing = device->allocate(256);
  if (!nothing)
    return nothing.status();
  side.queue = std::move(*queue);
  side.residents.nothing = *nothing;
  side.ports = std::make_unique<PortBinder>(device, budget_, *nothing,
                                            signature().inputs().size() +
                                                signature().outputs().size());
  side.device = std::move(device);
  sides_.push_back(std::move(side));
  return {};
}

/// Opens the devices of the variant: the first is that of the candidate, the
/// others are those that were asked for beside it, or the first ones of their
/// drivers.
Status Session::openDevices(const Candidate &candidate) {
  std::shared_ptr<Device> first = candidate.device;
  if (!first) {
    auto device = artifact_->registry->device(candidate.uri);
    if (!device)
      return device.status();
    first = std::move(*device);
  }
  if (Status s = openDevice(std::move(first)); !s.ok())
    return s;
  for (size_t i = 1; i < variant().devices.size(); ++i) {
    const DeviceNeeds &need = variant().devices[i];
    const std::string &uri =
        i <= candidate.further.size() ? candidate.further[i - 1] : need.driver;
    auto device = artifact_->registry->device(uri);
    if (!device)
      return device.status();
    std::string why = misfit(need, **device);
    if (!why.empty())
      return Status(BP_STATUS_FAILED_PRECONDITION,
                    need.target + " " + why + ", found " + (*device)->uri());
    if (Status s = openDevice(std::move(*device)); !s.ok())
      return s;
  }
  return {};
}

/// With several devices a port is bound where a slot names it.
void Session::findUsedPorts() {
  size_t inputs = signature().inputs().size();
  size_t total = inputs + signature().outputs().size();
  for (uint32_t device = 0; device < sides_.size(); ++device) {
    std::vector<bool> &used = sides_[device].usedPorts;
    used.assign(total, sides_.size() == 1);
    for (uint32_t i : namedBy(variant().program, SlotKind::Input, device))
      used[i] = true;
    for (uint32_t i : namedBy(variant().program, SlotKind::Output, device))
      used[inputs + i] = true;
  }
}

Status Session::load(const Candidate &candidate) {
  if (Status s = openDevices(candidate); !s.ok())
    return s;
  if (sides_.size() == 1)
    values_ = std::make_unique<ValueMemory>(sides_[0].device, budget_);
  for (const DeviceState &side : sides_)
    discrete_ |= isDiscrete(*side.device);
  findUsedPorts();
  if (Status s = loadExecutables(); !s.ok())
    return s;
  if (Status s = loadVariables(); !s.ok())
    return s;
  if (Status s = loadWeights(); !s.ok())
    return s;
  for (const Program *program : programsOf(variant()))
    for (const program::Command &command : program->commands)
      if (const auto *dispatch = std::get_if<program::Dispatch>(&command))
        dispatchCount_ += runs(*dispatch, executables_);
  iterationsUsed_ = iterationsUsed(variant());
  return {};
}

/// The functions of a native kernel; a failure says why it does not run here.
static Result<std::shared_ptr<Executable>>
loadNative(const Registry &registry, const ExecutableInfo &info,
           Device &device) {
  const std::vector<KernelSet> &sets = registry.kernelSets();
  auto set = std::ranges::find(sets, info.native->plugin, &KernelSet::plugin);
  if (set == sets.end())
    return notFound("no plug-in '" + info.native->plugin +
                    "' with kernels is loaded");
  std::vector<bp_native_function_t> functions;
  for (const Entry &entry : info.entries) {
    auto function =
        callResolve(*set, *info.native, entry.name, device.info().c());
    if (!function)
      return function.status();
    functions.push_back(*function);
  }
  return device.loadNative(functions, info.entries, set->owner);
}

/// A native kernel that is absent stays null where it has a fallback, which
/// runs.
Result<std::shared_ptr<Executable>>
Session::loadExecutable(const ExecutableInfo &info, bool isReplaced) {
  Device &device = *sides_[info.device].device;
  if (!info.native)
    return device.load(info.format, info.blob.bytes, info.entries);
  auto executable = loadNative(*artifact_->registry, info, device);
  std::string line = "kernel " + info.native->str() + " on " + device.uri();
  if (!executable && !isReplaced)
    return executable.status().within(line + ", which no other code replaces");
  if (!executable)
    line += ": not used: " + executable.status().message() +
            "; generated code runs in its place";
  artifact_->registry->host().log(BP_LOG_INFO, line);
  kernels_ += line + "\n";
  return executable ? std::move(*executable) : nullptr;
}

Status Session::loadExecutables() {
  TraceScope scope(trace(), "load executables");
  const std::vector<bool> replaced = replaceable(variant());
  for (const ExecutableInfo &info : variant().executables) {
    Result<std::shared_ptr<Executable>> executable =
        loadExecutable(info, replaced[executables_.size()]);
    if (!executable)
      return executable.status().within(artifact_->file->path() + ": variant " +
                                        variant().target + ", executable " +
                                        std::to_string(executables_.size()));
    executables_.push_back(std::move(*executable));
  }
  return {};
}

/// A variable lies where slots say, or nothing uses it.
Status Session::loadVariables() {
  TraceScope scope(trace(), "set up variables");
  const ArtifactInfo &metadata = artifact_->file->metadata();
  std::vector<std::map<uint32_t, uint64_t>> sizes(sides_.size());
  std::vector<uint32_t> owners(metadata.variables.size(), 0);
  for (uint32_t device = 1; device < sides_.size(); ++device)
    for (const Program *program : programsOf(variant()))
      for (uint32_t i : namedBy(*program, SlotKind::Variable, device))
        owners[i] = device;
  for (uint32_t i = 0; i < metadata.variables.size(); ++i) {
    Result<uint64_t> bytes = variableBytes(metadata.variables[i]);
    if (!bytes)
      return bytes.status();
    sizes[owners[i]][i] = *bytes;
  }
  for (size_t device = 0; device < sides_.size(); ++device) {
    DeviceState &side = sides_[device];
    Result<Pieces> pieces =
        allocatePieces(*side.device, budget_, Use::Variables, sizes[device]);
    if (!pieces)
      return pieces.status();
    side.residents.variables = std::move(*pieces);
    side.residents.variableBytes = std::move(sizes[device]);
  }
  return writeInitialValues();
}

Status Session::writeInitialValues() {
  const ArtifactInfo &metadata = artifact_->file->metadata();
  for (DeviceState &side : sides_)
    for (auto [number, bytes] : side.residents.variableBytes) {
      if (bytes == 0)
        continue;
      Buffer &buffer = *side.residents.variables.buffer;
      uint64_t offset = side.residents.variables.offsets[number];
      int32_t initial = metadata.variables[number].initial;
      Status status =
          initial < 0 ? clear(buffer, offset, bytes)
                      : buffer.write(offset, weightBytes(*artifact_->file,
                                                         uint32_t(initial)));
      if (!status.ok())
        return status.within("cannot set variable " + std::to_string(number));
    }
  return {};
}

/// Weights that only the init program reads are gone when it has run.
Status Session::loadWeights() {
  TraceScope scope(trace(), "place weights");
  std::vector<std::set<uint32_t>> passing;
  for (uint32_t device = 0; device < sides_.size(); ++device) {
    DeviceState &side = sides_[device];
    std::set<uint32_t> kept;
    for (const Program *program : programsOf(variant()))
      kept.merge(namedBy(*program, SlotKind::Weight, device));
    passing.push_back(namedBy(variant().init, SlotKind::Weight, device));
    for (uint32_t number : kept)
      passing.back().erase(number);
    side.residents.weights.resize(artifact_->file->metadata().weights.size());
    for (const std::set<uint32_t> *numbers :
         {&std::as_const(kept), &std::as_const(passing.back())})
      if (Status s = placeWeights(*side.device, budget_, *artifact_->file,
                                  *numbers, side.residents.weights);
          !s.ok())
        return s;
  }
  if (Status s = runInit(); !s.ok())
    return s.within("init program");
  for (uint32_t device = 0; device < sides_.size(); ++device)
    for (uint32_t number : passing[device])
      sides_[device].residents.weights[number] = {};
  return {};
}

Status Session::allocateConstants(const Program &init) {
  for (uint32_t device = 0; device < sides_.size(); ++device) {
    Result<std::map<uint32_t, uint64_t>> sizes = constantSizes(init, device);
    if (!sizes)
      return sizes.status();
    Residents &residents = sides_[device].residents;
    Result<Pieces> constants =
        allocatePieces(*sides_[device].device, budget_, Use::Constants, *sizes);
    if (!constants)
      return constants.status();
    residents.constants = std::move(*constants);
    residents.constantBytes = std::move(*sizes);
  }
  return {};
}

Status Session::runInit() {
  const Program &init = variant().init;
  if (init.slots.empty() && init.commands.empty())
    return {};
  TraceScope scope(trace(), "init program");
  if (Status s = allocateConstants(init); !s.ok())
    return s;
  ResolveContext context{
      executables_, [&](const Slot &slot) { return placeOf(slot, nullptr); }, 0,
      sides_};
  Evaluator evaluator;
  Result<ProgramPlan> plan = planProgram(init, evaluator, context);
  if (!plan)
    return plan.status();
  std::vector<std::shared_ptr<Buffer>> arenas;
  Tables tables;
  for (size_t device = 0; device < sides_.size(); ++device) {
    Result<std::shared_ptr<Buffer>> arena =
        allocate(*sides_[device].device, budget_, Use::Arena,
                 std::max<uint64_t>(plan->arenaBytes[device], 1));
    if (!arena)
      return arena.status();
    arenas.push_back(std::move(*arena));
    tables.push_back({{arenas.back().get(), 0, 0}});
  }
  return nameOp(runPart(sides_, plan->parts.front(), tables), init);
}

} // namespace backplane::rt
