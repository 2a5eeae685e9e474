// SPDX-License-Identifier: Apache-2.0
//
// Placement.h: barriers and memory for a program whose commands are in order.
#ifndef BACKPLANE_SCHEDULE_PLACEMENT_H
#define BACKPLANE_SCHEDULE_PLACEMENT_H

#include "backplane/cpp/Result.h"
#include "sdk/program/Program.h"

namespace backplane {

/// What the commands themselves do not say.
struct CommandNotes {
  /// How many of its last bindings a dispatch writes.
  size_t results = 0;
  /// Bindings of a dispatch that may have the memory of its one result.
  std::vector<uint32_t> inPlace;
  /// BP_ACCESS_ of each binding, in place of `results`; may be empty.
  std::vector<uint8_t> access;
};

/// Puts a barrier where a command reads or writes what another wrote since the
/// last one, or writes what another read; fills first and last of transients;
/// lets a result reuse the place of an operand that dies there; and gives the
/// transients their places in the arena, at the greatest size that each has
/// while symbols are in their ranges. Without such a size, or when the arena
/// would have more than maxPlannedBytes because of the symbols, the runtime
/// plans each call's shapes. There is one entry of `notes` per command. Reasons
/// are added to `report`.
Status place(Program &program, const std::vector<CommandNotes> &notes,
             const SymbolRanges &ranges, std::vector<std::string> &report);

/// A call with small shapes uses an arena of the greatest ones, which must stay
/// small beside what machines have.
inline constexpr int64_t maxPlannedBytes = int64_t(256) << 20;

} // namespace backplane

#endif // BACKPLANE_SCHEDULE_PLACEMENT_H
