// SPDX-License-Identifier: Apache-2.0
//
// Layouts.h: one descriptor set layout and pipeline layout for each number of
// bindings, shared by all executables of a device.
#ifndef BACKPLANE_VULKAN_LAYOUTS_H
#define BACKPLANE_VULKAN_LAYOUTS_H

#include "PhysicalDevice.h"

#include <map>
#include <mutex>

namespace backplane::vulkan {

struct Layout {
  VkDescriptorSetLayout set = VK_NULL_HANDLE;
  VkPipelineLayout pipeline = VK_NULL_HANDLE;
};

/// Thread-safe.
class Layouts {
public:
  Layouts(const VolkDeviceTable &vk, VkDevice device)
      : vk_(vk), device_(device) {}
  ~Layouts();
  Layouts(const Layouts &) = delete;
  Layouts &operator=(const Layouts &) = delete;

  /// The layout of a set with `count` storage buffers and all push constants.
  VkResult get(uint32_t count, Layout &out);

private:
  VkResult make(uint32_t count, Layout &out);

  const VolkDeviceTable &vk_;
  VkDevice device_;
  std::mutex mutex_;
  std::map<uint32_t, Layout> made_;
};

} // namespace backplane::vulkan

#endif // BACKPLANE_VULKAN_LAYOUTS_H
