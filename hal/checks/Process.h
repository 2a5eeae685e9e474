// SPDX-License-Identifier: Apache-2.0
//
// Process.h: what this process holds: memory, threads, files.
#ifndef BACKPLANE_CHECKS_PROCESS_H
#define BACKPLANE_CHECKS_PROCESS_H

#include <cstdint>

namespace backplane::checks {

/// Bytes of private memory that this program has in use, without those of an
/// emulator that runs it; 0 when it cannot be told.
uint64_t residentBytes();
/// Bytes that RLIMIT_DATA counts.
uint64_t dataBytes();
/// Bytes that were allocated and not freed.
uint64_t heapBytes();
unsigned threadCount();
unsigned openFileCount();

} // namespace backplane::checks

#endif // BACKPLANE_CHECKS_PROCESS_H
