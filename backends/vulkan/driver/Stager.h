// SPDX-License-Identifier: Apache-2.0
//
// Stager.h: copies between the host and memory that it does not see.
#ifndef BACKPLANE_VULKAN_STAGER_H
#define BACKPLANE_VULKAN_STAGER_H

#include "Device.h"

namespace backplane::vulkan {

/// A buffer that both sides see, and the commands that copy to and from it.
/// Thread-safe; one copy at a time.
class Stager {
public:
  explicit Stager(Device &device) : device_(device) {}
  ~Stager();
  Stager(const Stager &) = delete;
  Stager &operator=(const Stager &) = delete;

  VkResult write(const Buffer &to, uint64_t offset, const void *data,
                 uint64_t size);
  VkResult read(const Buffer &from, uint64_t offset, void *data, uint64_t size);

private:
  VkResult prepare();
  VkResult copy(VkBuffer from, uint64_t fromOffset, VkBuffer to,
                uint64_t toOffset, uint64_t size);
  VkResult record(VkBuffer from, VkBuffer to, const VkBufferCopy &region);
  VkResult submit();

  Device &device_;
  std::mutex mutex_;
  Storage area_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  VkFence fence_ = VK_NULL_HANDLE;
};

} // namespace backplane::vulkan

#endif // BACKPLANE_VULKAN_STAGER_H
