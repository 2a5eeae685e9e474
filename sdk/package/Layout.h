// SPDX-License-Identifier: Apache-2.0
//
// Layout.h: the fixed part of a .bpx file, as docs/reference/artifact.md
// describes it. Private to this folder: writer and reader share it.
#ifndef BACKPLANE_PACKAGE_LAYOUT_H
#define BACKPLANE_PACKAGE_LAYOUT_H

#include "sdk/support/Hash.h"

namespace backplane::layout {

inline constexpr char magic[4] = {'B', 'P', 'X', '\n'};
inline constexpr uint64_t pageBytes = 4096; ///< of the weight section's start
inline constexpr uint64_t weightAlignment = 64;

/// Little-endian, as on both supported machines.
struct Header {
  char magic[4];
  uint32_t version;
  uint64_t fileBytes;
  uint64_t metadataOffset;
  uint64_t metadataBytes;
  uint64_t weightsOffset;
  uint64_t weightsBytes;
  uint64_t hashLow; ///< XXH3-128 of the metadata
  uint64_t hashHigh;
};
static_assert(sizeof(Header) == 64);

inline uint64_t alignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

} // namespace backplane::layout

#endif // BACKPLANE_PACKAGE_LAYOUT_H
