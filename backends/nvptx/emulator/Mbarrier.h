// SPDX-License-Identifier: Apache-2.0
//
// Mbarrier.h: what asynchronous copies tell a barrier in shared memory.
#pragma once

#include "Access.h"

namespace emulator {

// A copy of a lane has written bytes of shared memory for the barrier of
// `barrier`, an atomic access of 8 bytes. Nobody may read them before the phase
// of the barrier is over.
void completeCopy(Warp &warp, const Access &barrier, uint32_t lane,
                  uint64_t shared, uint32_t bytes);

} // namespace emulator
