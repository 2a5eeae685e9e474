// SPDX-License-Identifier: Apache-2.0
//
// Placement.h: barriers and memory for a program whose commands are in order.
#ifndef BACKPLANE_COMPILER_PLACEMENT_H
#define BACKPLANE_COMPILER_PLACEMENT_H

#include "sdk/package/Artifact.h"

namespace backplane {

/// Puts a barrier where a command reads or writes what another wrote since the
/// last one, or writes what another read; fills first and last of transients,
/// and, when all of them have static sizes, their places in the arena.
/// `results[i]` says how many of the last bindings dispatch i writes. Gives the
/// new index of each command.
Result<std::vector<size_t>> place(fb::ProgramT &program,
                                  const std::vector<size_t> &results);

} // namespace backplane

#endif // BACKPLANE_COMPILER_PLACEMENT_H
