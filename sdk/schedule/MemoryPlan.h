// SPDX-License-Identifier: Apache-2.0
//
// MemoryPlan.h: where the transients of a program lie in one arena.
//
// The compiler plans programs with static sizes; the runtime plans the others,
// once per tuple of symbol values. Times are numbers of a sequence in which
// everything at one number may run at once: two transients that are alive at
// the same number never overlap, unless one takes the place of the other.
#ifndef BACKPLANE_SCHEDULE_MEMORYPLAN_H
#define BACKPLANE_SCHEDULE_MEMORYPLAN_H

#include "backplane/cpp/Result.h"

#include <span>
#include <vector>

namespace backplane {

/// What every offset and the arena size are a multiple of.
inline constexpr int64_t planAlignment = 64;

struct Transient {
  int64_t bytes = 0;
  /// First and last time at which it is used, inclusive.
  uint32_t first = 0;
  uint32_t last = 0;
  /// Index of the transient whose place this one may take, at the same offset,
  /// when that one is used last where this one is used first; -1: none.
  int32_t reuse = -1;
};

struct MemoryPlan {
  std::vector<int64_t> offsets; ///< one per transient
  int64_t arenaBytes = 0;
};

/// Plans by size, largest first, each in the smallest gap that fits. The answer
/// depends on the input only. Refuses negative sizes, lifetimes that end before
/// they start, hints out of range and sums beyond 62 bits.
Result<MemoryPlan> planMemory(std::span<const Transient> transients);

} // namespace backplane

#endif // BACKPLANE_SCHEDULE_MEMORYPLAN_H
