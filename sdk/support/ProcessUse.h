// SPDX-License-Identifier: Apache-2.0
//
// ProcessUse.h: what this process holds: memory, threads, files.
#ifndef BACKPLANE_SUPPORT_PROCESSUSE_H
#define BACKPLANE_SUPPORT_PROCESSUSE_H

#include <cstdint>

namespace backplane {

/// Bytes of private memory that this program has in use, without those of an
/// emulator that runs it; 0 when it cannot be told.
uint64_t residentBytes();
/// Bytes that RLIMIT_DATA counts.
uint64_t dataBytes();
/// Bytes that were allocated and not freed.
uint64_t heapBytes();
unsigned threadCount();
unsigned openFileCount();

} // namespace backplane

#endif // BACKPLANE_SUPPORT_PROCESSUSE_H
