// SPDX-License-Identifier: Apache-2.0
//
// PhysicalDevice.h: what Vulkan says about a device, in the words of
// bp_device_info_t, and what of it the driver turns on.
#ifndef BACKPLANE_VULKAN_PHYSICALDEVICE_H
#define BACKPLANE_VULKAN_PHYSICALDEVICE_H

#include "Driver.h"

namespace backplane::vulkan {

/// Push constants that every device has: 32 of 32 bits.
inline constexpr uint32_t pushConstantBytes = 4 * BP_MAX_CONSTANTS;

/// Where the parameters of an entry start among its push constants: behind its
/// constants, at a multiple of 8.
constexpr uint32_t parameterOffset(uint32_t constantCount) {
  return (4 * constantCount + 7) / 8 * 8;
}

/// Features as Vulkan groups them, chained for vkCreateDevice.
struct FeatureChain {
  FeatureChain();
  FeatureChain(const FeatureChain &) = delete;
  FeatureChain &operator=(const FeatureChain &) = delete;

  VkPhysicalDeviceFeatures2 core;
  VkPhysicalDeviceVulkan11Features v11;
  VkPhysicalDeviceVulkan12Features v12;
  /// Each chained where its extension is.
  VkPhysicalDeviceSubgroupSizeControlFeaturesEXT sizes;
  VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrices;

  /// Behind all that is in the chain.
  template <typename Features> void add(Features &features) {
    features.pNext = v12.pNext;
    v12.pNext = &features;
  }
};

struct PhysicalDevice {
  VkPhysicalDevice handle;
  std::string id, name, identity;
  std::string refusal; ///< empty: usable
  uint32_t kind;
  bool discrete; ///< it reaches memory of the host over a bus
  bool unified;  ///< its memory is that of the host, which sees all of it
  VkPhysicalDeviceLimits limits;
  uint32_t apiVersion, vendor, device, driverVersion;
  uint8_t cacheUuid[VK_UUID_SIZE];
  uint64_t maxAllocation;   ///< bytes of one vkAllocateMemory
  uint64_t maxBuffer;       ///< bytes of one buffer
  uint64_t importAlignment; ///< of host memory, 0: cannot be imported
  VkPhysicalDeviceMemoryProperties memory;
  uint32_t queueFamily, queueCount;
  uint32_t subgroupSize;
  uint32_t subgroupSizes;     ///< that a pipeline can ask for, or-ed
  uint32_t maxGroupSubgroups; ///< of a work-group, where one can ask
  uint32_t timestampBits;     ///< of the queues, 0: none
  bool calibrated;            ///< it can tell its time and the host's at once
  float maxIterations;        ///< of the loops of an invocation
  /// Products of subgroups; none without VK_KHR_cooperative_matrix.
  std::vector<MatrixShape> matrixShapes;
  /// What shaders may use, by Vulkan's names; also for bp_device_info_t.
  std::vector<std::string> features;

  bool has(std::string_view feature) const;
  /// What bindings start at multiples of. Shaders access vectors of 16 bytes.
  uint64_t bindingAlignment() const;
};

/// Asks about a physical device.
PhysicalDevice describe(const Instance &instance, VkPhysicalDevice handle);
/// All devices of the instance, ids unique.
std::vector<PhysicalDevice> describeAll(const Instance &instance);
/// The features that the driver turns on.
void enable(const PhysicalDevice &device, FeatureChain &chain);

} // namespace backplane::vulkan

#endif // BACKPLANE_VULKAN_PHYSICALDEVICE_H
