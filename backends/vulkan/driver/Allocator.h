// SPDX-License-Identifier: Apache-2.0
//
// Allocator.h: device memory in blocks that many buffers share. Vulkan allows
// few allocations (4096 on some devices) and each is slow; a block of 64 MiB
// serves small buffers by first fit, large ones get memory of their own.
#ifndef BACKPLANE_VULKAN_ALLOCATOR_H
#define BACKPLANE_VULKAN_ALLOCATOR_H

#include "PhysicalDevice.h"

#include <list>
#include <map>
#include <mutex>

namespace backplane::vulkan {

struct Block;

/// A range of device memory.
struct Memory {
  VkDeviceMemory handle = VK_NULL_HANDLE;
  uint64_t offset = 0;
  uint64_t size = 0;
  uint8_t *mapped =
      nullptr;            ///< the range seen by the host, null when it is not
  Block *block = nullptr; ///< null: an allocation of its own
};

/// What a buffer needs of its memory.
struct MemoryNeed {
  uint64_t size;
  uint64_t alignment;     ///< of the offset in the device memory
  uint64_t hostAlignment; ///< of the address that the host sees, if it does
  uint32_t typeBits;      ///< memory types that will do
  bool staging;           ///< the host reads and writes it often
};

/// Thread-safe.
class Allocator {
public:
  /// `hidden`: device memory is not shown to the host.
  Allocator(const PhysicalDevice &physical, const VolkDeviceTable &vk,
            VkDevice device, bool hidden);
  ~Allocator();
  Allocator(const Allocator &) = delete;
  Allocator &operator=(const Allocator &) = delete;

  VkResult allocate(const MemoryNeed &need, Memory &out);
  void release(const Memory &memory);

  /// Bytes taken from the device, for tests.
  uint64_t reservedBytes() const;

private:
  bool chooseType(const MemoryNeed &need, uint32_t skip, uint32_t &out) const;
  VkResult allocateFrom(uint32_t type, const MemoryNeed &need, Memory &out);
  VkResult takeMemory(uint32_t type, uint64_t size, VkDeviceMemory *out,
                      uint8_t **mapped);
  void giveBack(VkDeviceMemory memory, uint64_t size);
  uint64_t blockBytes(uint32_t type) const;
  bool shown(uint32_t type) const;

  const PhysicalDevice &physical_;
  const VolkDeviceTable &vk_;
  VkDevice device_;
  bool hidden_;
  mutable std::mutex mutex_;
  std::list<Block> blocks_;
  uint64_t reserved_ = 0;
};

} // namespace backplane::vulkan

#endif // BACKPLANE_VULKAN_ALLOCATOR_H
