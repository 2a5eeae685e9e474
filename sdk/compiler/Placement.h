// SPDX-License-Identifier: Apache-2.0
//
// Placement.h: barriers and memory for a program whose commands are in order.
#ifndef BACKPLANE_COMPILER_PLACEMENT_H
#define BACKPLANE_COMPILER_PLACEMENT_H

#include "sdk/package/Artifact.h"

namespace backplane {

/// What the commands themselves do not say.
struct CommandNotes {
  /// How many of its last bindings a dispatch writes.
  size_t results = 0;
  /// Bindings of a dispatch that may have the memory of its one result.
  std::vector<uint32_t> inPlace;
};

/// Puts a barrier where a command reads or writes what another wrote since the
/// last one, or writes what another read; fills first and last of transients;
/// lets a result reuse the place of an operand that dies there; and, when all
/// transients have static sizes, gives them their places in the arena. There is
/// one entry of `notes` per command. Reasons are added to `report`.
Status place(fb::ProgramT &program, const std::vector<CommandNotes> &notes,
             std::vector<std::string> &report);

} // namespace backplane

#endif // BACKPLANE_COMPILER_PLACEMENT_H
