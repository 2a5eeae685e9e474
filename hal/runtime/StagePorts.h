// SPDX-License-Identifier: Apache-2.0
//
// StagePorts.h: copies between memory of the host and of the device, for
// devices whose kernels reach the first over a bus only (BP_DEVICE_DISCRETE).
#ifndef BACKPLANE_RUNTIME_STAGEPORTS_H
#define BACKPLANE_RUNTIME_STAGEPORTS_H

#include "Resolve.h"

namespace backplane::rt {

/// The inputs, then the outputs of a program: the first entries of its table.
struct StagedPorts {
  size_t inputCount = 0;
  std::vector<uint64_t> bytes; ///< of each port
  /// Whether kernels of a device must not use the memory of a port; null: they
  /// may use all.
  std::function<bool(uint32_t device, uint32_t port)> staged;
};

/// Where staged ports lie in the arena, by device and port.
using StagedOffsets = std::map<std::pair<uint32_t, uint32_t>, uint64_t>;

/// Gives every staged port its memory behind the arena of its device, for a
/// program whose commands are resolved in several steps.
StagedOffsets placeStagedPorts(const StagedPorts &ports,
                               std::vector<uint64_t> &arenaBytes);

/// Gives each staged port that a kernel or a control uses memory behind the
/// arena of its device: an input is copied there before the first command, an
/// output from there after the last one. What only copies use stays. With
/// `placed`, ports have the memory that they have been given.
void stagePorts(const StagedPorts &ports, uint32_t arenaTableSlot,
                Resolved &resolved, const StagedOffsets *placed = nullptr);

} // namespace backplane::rt

#endif // BACKPLANE_RUNTIME_STAGEPORTS_H
