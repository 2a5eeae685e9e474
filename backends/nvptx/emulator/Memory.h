// SPDX-License-Identifier: Apache-2.0
//
// Memory.h: what addresses mean. Device memory has addresses that no host
// pointer has, so that a device pointer that host code follows traps. An
// address is never given out twice, so that what was freed stays out of bounds;
// the last ones that were are told by name.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace emulator {

// Windows of generic addresses, by their upper 16 bits. Zero are host
// addresses.
constexpr uint64_t kDeviceWindow = 1, kSharedWindow = 2, kLocalWindow = 3,
                   kParamWindow = 4;
constexpr uint64_t windowBase(uint64_t window) { return window << 48; }
constexpr uint64_t windowOf(uint64_t address) { return address >> 48; }

struct Allocation {
  uint64_t base = 0;
  uint64_t bytes = 0;
  uint8_t *host = nullptr;
  int device = -1; // the device that it belongs to, -1: host memory
  const char *kind = "";
  uint64_t number = 0; // counted from 1 in the order of allocation
  bool freed = false;
  bool mapped = false; // of ours, to be unmapped
  bool contains(uint64_t address, uint64_t size) const {
    return address >= base && address - base <= bytes &&
           size <= bytes - (address - base);
  }
};

// Freed allocations that are remembered.
constexpr size_t kFreed = 32;

class Memory {
public:
  // Zero when the machine has no more. Fresh memory is 0xff bytes: NaNs.
  uint64_t allocate(uint64_t bytes, int device, const char *kind);
  // Host memory that kernels may use at its own address.
  void adopt(void *host, uint64_t bytes, const char *kind);
  // False when no living allocation starts there.
  bool release(uint64_t base);
  // The living or lately freed allocation that has the address, or nullptr. It
  // lives until kFreed others are released after it, its bytes until it is.
  const Allocation *find(uint64_t address);
  // What is at an address, for messages: "12 bytes behind buffer 3 (...)".
  std::string describe(uint64_t address);
  uint64_t used(int device);

private:
  std::mutex mutex;
  std::map<uint64_t, std::unique_ptr<Allocation>> all;
  std::deque<uint64_t> freed; // the last ones, oldest first
  uint64_t next = windowBase(kDeviceWindow) + (1 << 20);
  uint64_t count = 0;
  std::map<int, uint64_t> usedBytes;

  const Allocation *findLocked(uint64_t address) const;
};

// The memory of the process: all devices and the host.
Memory &memory();

} // namespace emulator
