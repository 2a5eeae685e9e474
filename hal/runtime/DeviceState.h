// SPDX-License-Identifier: Apache-2.0
//
// DeviceState.h: what a session has on each of its devices.
#ifndef BACKPLANE_RUNTIME_DEVICESTATE_H
#define BACKPLANE_RUNTIME_DEVICESTATE_H

#include "Memory.h"
#include "Ports.h"

namespace backplane::rt {

/// The memory of a loaded variant that outlives a call.
struct Residents {
  std::vector<Binding> weights; ///< by number, empty where unused
  Pieces constants;
  Pieces variables;
  std::map<uint32_t, uint64_t> constantBytes, variableBytes; ///< by number
  std::shared_ptr<Buffer> nothing; ///< for bindings without bytes
};

/// The memory of regions at one depth, kept from call to call.
struct Level {
  std::shared_ptr<Buffer> arena, scratch;
};

struct DeviceState {
  std::shared_ptr<Device> device;
  std::shared_ptr<Queue> queue;
  Residents residents;
  std::shared_ptr<Buffer> arena;
  std::vector<Level> levels;
  std::unique_ptr<PortBinder> ports;
  std::vector<bool> usedPorts; ///< inputs, then outputs

  uint64_t alignment() const { return device->info().c().binding_alignment; }
};

/// Bindings of the entries that bindings without a buffer name, per device.
using Tables = std::vector<std::vector<SlotBinding>>;

} // namespace backplane::rt

#endif // BACKPLANE_RUNTIME_DEVICESTATE_H
