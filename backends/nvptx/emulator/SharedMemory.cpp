// SPDX-License-Identifier: Apache-2.0
#include "SharedMemory.h"

#include <algorithm>
#include <cstring>

namespace emulator {

void SharedMemory::configure(uint64_t bytes, uint32_t granule, bool checkPoison,
                             bool checkRaces, bool readsAsync) {
  data.assign(bytes, 0);
  poison = checkPoison;
  races = checkRaces;
  shift = granule;
  written.assign(poison ? bytes : 0, 0);
  size_t cells = races ? (bytes >> shift) + 1 : 0;
  writers.assign(cells, 0);
  readers.assign(cells, 0);
  atomics.assign(cells, 0);
  unfenced.assign(poison && readsAsync ? bytes : 0, 0);
  epoch = 1;
}

void SharedMemory::reset() {
  std::fill(data.begin(), data.end(), 0xff);
  std::fill(written.begin(), written.end(), 0);
  fenceProxies();
  // Older stamps are of older epochs; start over before they run out.
  if (++epoch >= uint32_t(1) << 25) {
    std::fill(writers.begin(), writers.end(), 0);
    std::fill(readers.begin(), readers.end(), 0);
    epoch = 1;
  }
}

const char *SharedMemory::race(uint64_t at, uint32_t bytes, uint32_t warp,
                               bool isWrite, bool isAtomic) {
  const uint32_t mine = epoch << kWarpBits | warp;
  for (uint64_t cell = at >> shift; cell <= (at + bytes - 1) >> shift; ++cell) {
    uint32_t writer = writers[cell];
    bool other = writer >> kWarpBits == epoch && writer != mine;
    if (other && !(isAtomic && atomics[cell]))
      return isWrite
                 ? "another warp writes the same bytes of shared memory and "
                   "no barrier is between (race)"
                 : "another warp has written these bytes of shared memory "
                   "and no barrier is between (race)";
    uint32_t &reader = readers[cell];
    bool isRead = reader >> kWarpBits == epoch;
    if (isWrite) {
      if (isRead && reader != mine)
        return "another warp reads these bytes of shared memory and no barrier "
               "is between (race)";
      writers[cell] = mine;
      atomics[cell] = isAtomic;
    } else {
      reader = !isRead || reader == mine ? mine : epoch << kWarpBits | kMany;
    }
  }
  return nullptr;
}

const char *SharedMemory::read(uint64_t at, uint32_t bytes, uint32_t warp) {
  if (poison) {
    uint8_t all = kHasValue;
    for (uint32_t i = 0; i < bytes; ++i)
      all &= written[at + i];
    if (all != kHasValue)
      return "shared memory is read that was not written in this block, or "
             "whose asynchronous copy was not waited for";
  }
  return races ? race(at, bytes, warp, false, false) : nullptr;
}

const char *SharedMemory::readAsync(uint64_t at, uint32_t bytes,
                                    uint32_t warp) {
  if (!unfenced.empty() && anyUnfenced)
    for (uint32_t i = 0; i < bytes; ++i)
      if (unfenced[at + i])
        return "shared memory was written by ordinary instructions and no "
               "fence.proxy.async is between";
  return read(at, bytes, warp);
}

void SharedMemory::fenceProxies() {
  if (anyUnfenced)
    std::fill(unfenced.begin(), unfenced.end(), 0);
  anyUnfenced = false;
}

void SharedMemory::writtenAsync(uint64_t at, uint32_t bytes) {
  if (!unfenced.empty())
    std::memset(unfenced.data() + at, 0, bytes);
}

void SharedMemory::keepUnfenced(uint64_t at, uint32_t bytes) {
  if (unfenced.empty())
    return;
  std::memset(unfenced.data() + at, 1, bytes);
  anyUnfenced = true;
}

const char *SharedMemory::write(uint64_t at, uint32_t bytes, uint32_t warp,
                                bool defined) {
  if (poison) {
    if (std::memchr(written.data() + at, kPending, bytes))
      return "shared memory is written while an asynchronous copy to it is "
             "under "
             "way";
    std::memset(written.data() + at, defined ? kHasValue : 0, bytes);
  }
  keepUnfenced(at, bytes);
  return races ? race(at, bytes, warp, true, false) : nullptr;
}

const char *SharedMemory::atomic(uint64_t at, uint32_t bytes, uint32_t warp) {
  if (poison)
    for (uint32_t i = 0; i < bytes; ++i)
      if (written[at + i] != kHasValue)
        return "an atomic operation reads shared memory that was not written "
               "in "
               "this block";
  keepUnfenced(at, bytes);
  return races ? race(at, bytes, warp, true, true) : nullptr;
}

void SharedMemory::pending(uint64_t at, uint32_t bytes) {
  if (poison)
    std::memset(written.data() + at, kPending, bytes);
}

void SharedMemory::arrived(uint64_t at, uint32_t bytes) {
  if (poison)
    std::memset(written.data() + at, kHasValue, bytes);
}

} // namespace emulator
