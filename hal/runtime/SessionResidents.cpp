// SPDX-License-Identifier: Apache-2.0
//
// SessionResidents.cpp: what lies on the devices as long as the session:
// variables, weights and constants.
#include "NameOp.h"
#include "NamedSlots.h"
#include "Session.h"

#include <algorithm>

namespace backplane::rt {
namespace {

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
