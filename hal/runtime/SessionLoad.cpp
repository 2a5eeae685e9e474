// SPDX-License-Identifier: Apache-2.0
//
// SessionLoad.cpp: what happens once per session: loading a variant, its
// devices and its code.
#include "NamedSlots.h"
#include "RegionUse.h"
#include "Session.h"

#include <algorithm>

namespace backplane::rt {

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
  bp_device_info_t known = device.info().c();
  const Result<bp_device_handles_t> handles = device.handles();
  known.header.next = handles ? &*handles : nullptr;
  std::vector<bp_native_function_t> functions;
  for (const Entry &entry : info.entries) {
    auto function = callResolve(*set, *info.native, entry.name, known);
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

} // namespace backplane::rt
