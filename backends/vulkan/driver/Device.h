// SPDX-License-Identifier: Apache-2.0
//
// Device.h: an open device and its buffers.
#ifndef BACKPLANE_VULKAN_DEVICE_H
#define BACKPLANE_VULKAN_DEVICE_H

#include "Allocator.h"
#include "Layouts.h"

#include <atomic>
#include <condition_variable>
#include <mutex>

namespace backplane::vulkan {

class Stager;

/// A buffer of Vulkan with its memory.
struct Storage {
  VkBuffer handle = VK_NULL_HANDLE;
  Memory memory;
};

/// Most queues that a device is opened with.
inline constexpr uint32_t maxQueues = 4;

} // namespace backplane::vulkan

struct bp_device_t {
  bp_device_t(backplane::vulkan::Driver &driver,
              const backplane::vulkan::PhysicalDevice &physical);
  ~bp_device_t();
  bp_device_t(const bp_device_t &) = delete;
  bp_device_t &operator=(const bp_device_t &) = delete;

  backplane::vulkan::Driver &driver;
  const backplane::vulkan::PhysicalDevice physical;
  VkDevice handle = VK_NULL_HANDLE;
  VolkDeviceTable vk = {};
  std::unique_ptr<backplane::vulkan::Allocator> allocator;
  std::unique_ptr<backplane::vulkan::Layouts> layouts;
  std::unique_ptr<backplane::vulkan::Stager> stager;
  VkPipelineCache pipelines = VK_NULL_HANDLE;
  std::vector<uint8_t> keptPipelines; ///< what the cache was made of
  /// Stands where a binding has no bytes, which Vulkan cannot say.
  backplane::vulkan::Storage nothing;
  std::vector<VkQueue> queues; ///< shared by all bp_queue_t

  /// Guards submission, timelines and the lists of queues.
  std::mutex mutex;
  std::condition_variable changed; ///< a timeline has moved or failed
  std::vector<bp_queue_t *> open;  ///< queues that were created
  uint32_t nextQueue = 0;
  bool lost = false;
  std::atomic<uint64_t> nextBuffer = 1;

  /// Creates a buffer with memory.
  VkResult create(uint64_t size, uint64_t alignment, bool staging,
                  backplane::vulkan::Storage &out);
  void destroy(const backplane::vulkan::Storage &storage);
};

struct bp_buffer_t {
  backplane::vulkan::Storage storage;
  /// Distinguishes buffers at the same address in the course of time.
  uint64_t serial;
  uint64_t base = 0;         ///< of the buffer's first byte in `storage`
  uint8_t *mapped = nullptr; ///< null: the host does not see it
  bool imported = false;
};

#endif // BACKPLANE_VULKAN_DEVICE_H
