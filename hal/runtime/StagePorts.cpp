// SPDX-License-Identifier: Apache-2.0
#include "StagePorts.h"

#include <algorithm>

namespace backplane::rt {
namespace {

/// What any device asks of the offset of a binding at most.
constexpr uint64_t alignment = 256;

/// A port on a device, and all that names it there.
struct StagedPort {
  uint32_t device, port;
  std::vector<Binding *> bindings;
  bool computed = false; ///< a kernel or a control uses it
};

class PortUses {
public:
  PortUses(const StagedPorts &ports, uint32_t arenaTableSlot)
      : ports_(ports), arenaTableSlot_(arenaTableSlot) {}

  std::vector<StagedPort> find(Resolved &resolved) {
    for (ResolvedCommand &command : resolved.commands)
      add(command);
    for (ResolvedControl &control : resolved.controls)
      for (auto *list : {&control.operands, &control.results})
        for (Binding &binding : *list)
          add(control.device, binding, true);
    std::erase_if(found_,
                  [](const StagedPort &port) { return !port.computed; });
    return std::move(found_);
  }

private:
  void add(ResolvedCommand &command) {
    if (auto *dispatch = std::get_if<Dispatch>(&command.command)) {
      for (Binding &binding : dispatch->bindings)
        add(command.device, binding, true);
    } else if (auto *copy = std::get_if<Copy>(&command.command)) {
      add(command.from.value_or(command.device), copy->source, false);
      add(command.device, copy->target, false);
    } else if (auto *fill = std::get_if<Fill>(&command.command)) {
      add(command.device, fill->target, false);
    }
  }

  void add(uint32_t device, Binding &binding, bool computes) {
    if (binding.buffer || binding.slot >= arenaTableSlot_ ||
        !ports_.bytes[binding.slot] || !ports_.staged(device, binding.slot))
      return;
    auto port = std::ranges::find_if(found_, [&](const StagedPort &one) {
      return one.device == device && one.port == binding.slot;
    });
    if (port == found_.end())
      port = found_.insert(port, {device, binding.slot, {}});
    port->bindings.push_back(&binding);
    port->computed |= computes;
  }

  const StagedPorts &ports_;
  uint32_t arenaTableSlot_;
  std::vector<StagedPort> found_;
};

/// Offset of memory behind what an arena has; the arena grows by it.
uint64_t append(uint64_t &arenaBytes, uint64_t bytes) {
  uint64_t offset = (arenaBytes + alignment - 1) / alignment * alignment;
  arenaBytes = offset + bytes;
  return offset;
}

} // namespace

StagedOffsets placeStagedPorts(const StagedPorts &ports,
                               std::vector<uint64_t> &arenaBytes) {
  StagedOffsets placed;
  for (uint32_t device = 0; ports.staged && device < arenaBytes.size();
       ++device)
    for (uint32_t port = 0; port < ports.bytes.size(); ++port)
      if (ports.bytes[port] && ports.staged(device, port))
        placed[{device, port}] = append(arenaBytes[device], ports.bytes[port]);
  return placed;
}

void stagePorts(const StagedPorts &ports, uint32_t arenaTableSlot,
                Resolved &resolved, const StagedOffsets *placed) {
  if (!ports.staged)
    return;
  std::vector<ResolvedCommand> before, after;
  for (StagedPort &port : PortUses(ports, arenaTableSlot).find(resolved)) {
    uint64_t bytes = ports.bytes[port.port];
    uint64_t offset = placed ? placed->at({port.device, port.port})
                             : append(resolved.arenaBytes[port.device], bytes);
    for (Binding *binding : port.bindings) {
      binding->slot = arenaTableSlot;
      binding->offset += offset;
    }
    Binding host{nullptr, 0, bytes, port.port};
    Binding device{nullptr, offset, bytes, arenaTableSlot};
    if (port.port < ports.inputCount)
      before.push_back({Copy{host, device}, port.device, {}});
    else
      after.push_back({Copy{device, host}, port.device, {}});
  }
  if (!before.empty())
    before.push_back({Barrier(), 0, {}});
  if (!after.empty())
    after.insert(after.begin(), {Barrier(), 0, {}});
  for (ResolvedControl &control : resolved.controls)
    control.position += before.size();
  auto &commands = resolved.commands;
  commands.insert(commands.begin(), before.begin(), before.end());
  commands.insert(commands.end(), after.begin(), after.end());
}

} // namespace backplane::rt
