// SPDX-License-Identifier: Apache-2.0
//
// Device.h: an open device and its buffers.
#ifndef BACKPLANE_VULKAN_DEVICE_H
#define BACKPLANE_VULKAN_DEVICE_H

#include "Allocator.h"
#include "Layouts.h"
#include "backends/gpu/Queue.h"

#include <atomic>

namespace backplane::vulkan {

class Stager;

/// A buffer of Vulkan with its memory.
struct Storage {
  VkBuffer handle = VK_NULL_HANDLE;
  Memory memory;
};

/// Most queues that a device is opened with.
inline constexpr uint32_t maxQueues = 4;

struct Device final : bp_device_t {
  Device(const Driver &driver, const PhysicalDevice &physical);
  ~Device() override;

  const PhysicalDevice physical;
  VkDevice handle = VK_NULL_HANDLE;
  VolkDeviceTable vk = {};
  std::unique_ptr<Allocator> allocator;
  std::unique_ptr<Layouts> layouts;
  std::unique_ptr<Stager> stager;
  VkPipelineCache pipelines = VK_NULL_HANDLE;
  std::vector<uint8_t> keptPipelines; ///< what the cache was made of
  /// Stands where a binding has no bytes, which Vulkan cannot say.
  Storage nothing;
  std::vector<VkQueue> queues; ///< shared by all bp_queue_t, guarded by `mutex`
  uint32_t nextQueue = 0;      ///< likewise

  /// Creates a buffer with memory.
  VkResult create(uint64_t size, uint64_t alignment, bool staging,
                  Storage &out);
  void destroy(const Storage &storage);
  /// Remembers the device as lost, if the result says so.
  void note(VkResult result);
  /// What a failed call means for the work that it was for; noted, too.
  gpu::Outcome outcomeOf(VkResult result);

  bp_status_t allocate(bool staging, uint64_t size, uint64_t alignment,
                       bp_buffer_t **out, bp_error_t *error) override;
  bp_status_t import(void *pointer, uint64_t size, bp_buffer_t **out,
                     bp_error_t *error) override;
  void release(bp_buffer_t *buffer) override;
  bp_status_t write(bp_buffer_t &buffer, uint64_t offset, const void *data,
                    uint64_t size, bp_error_t *error) override;
  bp_status_t read(bp_buffer_t &buffer, uint64_t offset, void *data,
                   uint64_t size, bp_error_t *error) override;
  bp_status_t makeQueue(std::unique_ptr<bp_queue_t> &out,
                        bp_error_t *error) override;
  std::unique_ptr<gpu::Recording> makeRecording() override;
};

inline Device &of(bp_device_t &device) { return static_cast<Device &>(device); }

/// Its key distinguishes buffers at the same address in the course of time.
struct Buffer final : bp_buffer_t {
  Storage storage;
  uint64_t base = 0; ///< of the buffer's first byte in `storage`
  bool imported = false;
};

inline const Buffer &of(const bp_buffer_t &buffer) {
  return static_cast<const Buffer &>(buffer);
}

} // namespace backplane::vulkan

#endif // BACKPLANE_VULKAN_DEVICE_H
