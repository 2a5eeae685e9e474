// SPDX-License-Identifier: Apache-2.0
//
// Instance.h: the Vulkan loader and an instance made with it. Both may be
// absent; that is a machine without devices, never an error.
#ifndef BACKPLANE_VULKAN_INSTANCE_H
#define BACKPLANE_VULKAN_INSTANCE_H

#include "CooperativeMatrix.h"

namespace backplane::vulkan {

/// An instance and the functions that its physical devices are asked with.
class Instance {
public:
  /// The instance of this process, made when it is first asked for and never
  /// destroyed: loading and unloading the machine's Vulkan drivers is slow, and
  /// each time leaves memory behind. Null, with the reason in `*reason`, where
  /// there is no usable Vulkan. Thread-safe.
  static const Instance *shared(std::string *reason);
  Instance(const Instance &) = delete;
  Instance &operator=(const Instance &) = delete;

  /// All physical devices; empty when there are none.
  std::vector<VkPhysicalDevice> physicalDevices() const;

  PFN_vkGetPhysicalDeviceProperties2 getProperties;
  PFN_vkGetPhysicalDeviceFeatures2 getFeatures;
  PFN_vkGetPhysicalDeviceMemoryProperties getMemory;
  PFN_vkGetPhysicalDeviceQueueFamilyProperties getQueueFamilies;
  PFN_vkEnumerateDeviceExtensionProperties enumerateExtensions;
  PFN_vkCreateDevice createDevice;
  /// Null where no device has calibrated timestamps.
  PFN_vkGetPhysicalDeviceCalibrateableTimeDomainsEXT getTimeDomains;
  /// Null where no device has cooperative matrices.
  PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR getMatrices;

private:
  Instance() = default;
  static const Instance *create(std::string *reason);
  bool loadFunctions();

  VkInstance handle_ = VK_NULL_HANDLE;
  PFN_vkEnumeratePhysicalDevices enumerate_ = nullptr;
};

/// "VK_ERROR_DEVICE_LOST" and so on.
std::string nameOf(VkResult result);

} // namespace backplane::vulkan

#endif // BACKPLANE_VULKAN_INSTANCE_H
