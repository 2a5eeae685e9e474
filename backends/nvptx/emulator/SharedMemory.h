// SPDX-License-Identifier: Apache-2.0
//
// SharedMemory.h: the shared memory of a block with what is known of each byte:
// whether it was written, and which warps used it since the last barrier.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace emulator {

// Where a byte lies when pieces of 16 bytes are permuted inside of `bytes` (32,
// 64 or 128), as wgmma and copies of tensors have it.
constexpr uint64_t swizzled(uint64_t at, uint32_t bytes) {
  return at ^ (at >> 3 & (bytes - 16));
}

class SharedMemory {
public:
  std::vector<uint8_t> data;

  // `granule`: log2 of the bytes whose users are told apart. The flags turn
  // the checks on.
  void configure(uint64_t bytes, uint32_t granule, bool poison, bool races,
                 bool readsAsync);
  // For a new block: nothing is written.
  void reset();
  // All accesses until now come before all that follow.
  void separate() { ++epoch; }

  // An access of `bytes` (inside, aligned) by a warp. Each returns nullptr or
  // what is wrong.
  const char *read(uint64_t at, uint32_t bytes, uint32_t warp);
  // `defined`: whether the bytes have a value that may be read.
  const char *write(uint64_t at, uint32_t bytes, uint32_t warp, bool defined);
  // A read by wgmma or a bulk copy, which sees what others wrote behind a fence
  // of proxies alone.
  const char *readAsync(uint64_t at, uint32_t bytes, uint32_t warp);
  void fenceProxies();
  // A bulk copy has written bytes: those who read like it need no fence.
  void writtenAsync(uint64_t at, uint32_t bytes);
  // Atomic accesses do not race with each other.
  const char *atomic(uint64_t at, uint32_t bytes, uint32_t warp);
  // Of a copy that is under way: until it has arrived nobody may read or write
  // these bytes.
  void pending(uint64_t at, uint32_t bytes);
  void arrived(uint64_t at, uint32_t bytes);

private:
  static constexpr uint32_t kWarpBits = 6;
  static constexpr uint32_t kMany = 63; // more than one warp
  static constexpr uint8_t kHasValue = 0xff, kPending = 1;
  std::vector<uint8_t> written;           // kHasValue, kPending or 0
  std::vector<uint32_t> writers, readers; // epoch and warp
  std::vector<uint8_t> atomics;           // the last write was atomic
  std::vector<uint8_t> unfenced;          // written since the last fence
  bool anyUnfenced = false;
  uint32_t epoch = 1;
  uint32_t shift = 2;
  bool poison = true;
  bool races = true;

  void keepUnfenced(uint64_t at, uint32_t bytes);
  const char *race(uint64_t at, uint32_t bytes, uint32_t warp, bool isWrite,
                   bool isAtomic);
};

} // namespace emulator
