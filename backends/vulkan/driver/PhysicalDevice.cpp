// SPDX-License-Identifier: Apache-2.0
#include "PhysicalDevice.h"

#include <algorithm>
#include <cfloat>
#include <cstring>

namespace backplane::vulkan {

FeatureChain::FeatureChain()
    : core{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &v11, {}},
      v11{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, &v12},
      v12{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES},
      sizes{
          VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES_EXT},
      matrices{
          VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR} {}

namespace {

/// Properties of all versions that are asked for, chained.
struct PropertyChain {
  PropertyChain() {
    core.pNext = &v11;
    v11.pNext = &v12;
    v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES;
    v12.pNext = nullptr;
    sizes = {};
    sizes.sType =
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES_EXT;
  }
  VkPhysicalDeviceProperties2 core = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
  VkPhysicalDeviceVulkan11Properties v11 = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES};
  VkPhysicalDeviceVulkan12Properties v12; ///< all of it is filled in
  /// Chained where the extension is.
  VkPhysicalDeviceSubgroupSizeControlPropertiesEXT sizes;
};

std::vector<std::string> extensionsOf(const Instance &instance,
                                      VkPhysicalDevice handle) {
  uint32_t count = 0;
  if (instance.enumerateExtensions(handle, nullptr, &count, nullptr))
    return {};
  std::vector<VkExtensionProperties> all(count);
  if (instance.enumerateExtensions(handle, nullptr, &count, all.data()))
    return {};
  std::vector<std::string> names;
  for (uint32_t i = 0; i < count; ++i)
    names.emplace_back(all[i].extensionName);
  return names;
}

std::string hex(const uint8_t *uuid) {
  std::string text;
  for (unsigned i = 0; i < VK_UUID_SIZE; ++i) {
    constexpr const char *digits = "0123456789abcdef";
    text += digits[uuid[i] >> 4];
    text += digits[uuid[i] & 15];
    if (i == 3 || i == 5 || i == 7 || i == 9)
      text += '-';
  }
  return text;
}

uint32_t kindOf(VkPhysicalDeviceType type) {
  switch (type) {
  case VK_PHYSICAL_DEVICE_TYPE_CPU:
    return BP_DEVICE_KIND_CPU;
  case VK_PHYSICAL_DEVICE_TYPE_OTHER:
    return BP_DEVICE_KIND_OTHER;
  default:
    return BP_DEVICE_KIND_GPU;
  }
}

/// "pci:0000:01:00.0", or nothing.
std::string pciAddress(const Instance &instance, VkPhysicalDevice handle) {
  VkPhysicalDevicePCIBusInfoPropertiesEXT pci = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT};
  VkPhysicalDeviceProperties2 properties = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &pci, {}};
  instance.getProperties(handle, &properties);
  char text[32];
  std::snprintf(text, sizeof(text), "pci:%04x:%02x:%02x.%x", pci.pciDomain,
                pci.pciBus, pci.pciDevice, pci.pciFunction);
  return text;
}

uint64_t importAlignment(const Instance &instance, VkPhysicalDevice handle) {
  VkPhysicalDeviceExternalMemoryHostPropertiesEXT host = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT};
  VkPhysicalDeviceProperties2 properties = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &host, {}};
  instance.getProperties(handle, &properties);
  return host.minImportedHostPointerAlignment;
}

/// Whether the device can tell the host's monotonic time besides its own.
bool knowsHostClock(const Instance &instance, VkPhysicalDevice handle) {
  uint32_t count = 0;
  if (!instance.getTimeDomains ||
      instance.getTimeDomains(handle, &count, nullptr))
    return false;
  std::vector<VkTimeDomainEXT> domains(count);
  if (instance.getTimeDomains(handle, &count, domains.data()))
    return false;
  auto has = [&](VkTimeDomainEXT domain) {
    return std::find(domains.begin(), domains.end(), domain) != domains.end();
  };
  return has(VK_TIME_DOMAIN_DEVICE_EXT) &&
         has(VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT);
}

/// Takes a family that computes, rather one that does no graphics besides.
void chooseQueues(const Instance &instance, PhysicalDevice &device) {
  uint32_t count = 0;
  instance.getQueueFamilies(device.handle, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  instance.getQueueFamilies(device.handle, &count, families.data());
  for (bool graphics : {false, true})
    for (uint32_t i = 0; i < count && device.queueCount == 0; ++i) {
      VkQueueFlags flags = families[i].queueFlags;
      if (!(flags & VK_QUEUE_COMPUTE_BIT) ||
          bool(flags & VK_QUEUE_GRAPHICS_BIT) != graphics)
        continue;
      device.queueFamily = i;
      device.queueCount = families[i].queueCount;
      device.timestampBits = families[i].timestampValidBits;
    }
}

/// Whether the host sees all memory that is the device's own.
bool seesAll(const VkPhysicalDeviceMemoryProperties &memory) {
  constexpr VkMemoryPropertyFlags shared = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                           VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  for (uint32_t heap = 0; heap < memory.memoryHeapCount; ++heap) {
    if (!(memory.memoryHeaps[heap].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT))
      continue;
    bool seen = false;
    for (uint32_t i = 0; i < memory.memoryTypeCount; ++i)
      seen |= memory.memoryTypes[i].heapIndex == heap &&
              (memory.memoryTypes[i].propertyFlags & shared) == shared;
    if (!seen)
      return false;
  }
  return true;
}

/// How floats can be computed, by width: what float controls say.
void addFloatControls(const VkPhysicalDeviceVulkan12Properties &can,
                      std::vector<std::string> &names) {
  struct Control {
    const char *name;
    VkBool32 widths[3]; ///< 16, 32, 64
  };
  const Control controls[] = {
      {"shaderDenormPreserveFloat",
       {can.shaderDenormPreserveFloat16, can.shaderDenormPreserveFloat32,
        can.shaderDenormPreserveFloat64}},
      {"shaderDenormFlushToZeroFloat",
       {can.shaderDenormFlushToZeroFloat16, can.shaderDenormFlushToZeroFloat32,
        can.shaderDenormFlushToZeroFloat64}},
      {"shaderSignedZeroInfNanPreserveFloat",
       {can.shaderSignedZeroInfNanPreserveFloat16,
        can.shaderSignedZeroInfNanPreserveFloat32,
        can.shaderSignedZeroInfNanPreserveFloat64}},
      {"shaderRoundingModeRTEFloat",
       {can.shaderRoundingModeRTEFloat16, can.shaderRoundingModeRTEFloat32,
        can.shaderRoundingModeRTEFloat64}},
      {"shaderRoundingModeRTZFloat",
       {can.shaderRoundingModeRTZFloat16, can.shaderRoundingModeRTZFloat32,
        can.shaderRoundingModeRTZFloat64}},
  };
  constexpr const char *widths[] = {"16", "32", "64"};
  for (const Control &control : controls)
    for (int i = 0; i < 3; ++i)
      if (control.widths[i])
        names.push_back(std::string(control.name) + widths[i]);
}

std::vector<std::string>
featureNames(const FeatureChain &chain,
             const VkPhysicalDeviceVulkan11Properties &v11) {
  const VkPhysicalDeviceFeatures &core = chain.core.features;
  bool compute = v11.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT;
  auto subgroup = [&](VkSubgroupFeatureFlags flags) {
    return compute && (v11.subgroupSupportedOperations & flags) == flags;
  };
  const std::pair<const char *, bool> all[] = {
      {"shaderFloat64", core.shaderFloat64},
      {"shaderInt64", core.shaderInt64},
      {"shaderInt16", core.shaderInt16},
      {"shaderFloat16", chain.v12.shaderFloat16},
      {"shaderInt8", chain.v12.shaderInt8},
      {"storageBuffer8BitAccess", chain.v12.storageBuffer8BitAccess},
      {"storageBuffer16BitAccess", chain.v11.storageBuffer16BitAccess},
      {"vulkanMemoryModel", chain.v12.vulkanMemoryModel},
      {"vulkanMemoryModelDeviceScope", chain.v12.vulkanMemoryModelDeviceScope},
      {"subgroupBasic", subgroup(VK_SUBGROUP_FEATURE_BASIC_BIT)},
      {"subgroupVote", subgroup(VK_SUBGROUP_FEATURE_VOTE_BIT)},
      {"subgroupBallot", subgroup(VK_SUBGROUP_FEATURE_BALLOT_BIT)},
      {"subgroupArithmetic", subgroup(VK_SUBGROUP_FEATURE_ARITHMETIC_BIT)},
      {"subgroupShuffle", subgroup(VK_SUBGROUP_FEATURE_SHUFFLE_BIT |
                                   VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT)},
      {"shaderSubgroupExtendedTypes", chain.v12.shaderSubgroupExtendedTypes},
      {"computeFullSubgroups", compute && chain.sizes.computeFullSubgroups},
  };
  std::vector<std::string> names;
  for (auto [name, there] : all)
    if (there)
      names.emplace_back(name);
  return names;
}

/// The subgroup sizes that a compute pipeline can ask for, or-ed.
uint32_t
subgroupSizes(const FeatureChain &chain,
              const VkPhysicalDeviceSubgroupSizeControlPropertiesEXT &sizes) {
  if (!chain.sizes.subgroupSizeControl ||
      !(sizes.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT))
    return 0;
  uint32_t set = 0;
  for (uint64_t size = sizes.minSubgroupSize;
       size && size <= sizes.maxSubgroupSize; size *= 2)
    set |= uint32_t(size);
  return set;
}

/// Shaders with matrices have Vulkan's model of memory.
void addMatrices(const Instance &instance, const FeatureChain &chain,
                 PhysicalDevice &device) {
  if (!chain.matrices.cooperativeMatrix || !chain.v12.vulkanMemoryModel)
    return;
  device.matrixShapes = matrixShapes(instance, device.handle);
  device.features.emplace_back("cooperativeMatrix");
  for (const MatrixShape &shape : device.matrixShapes)
    if (std::string name = featureOf(shape); !name.empty() && !device.has(name))
      device.features.push_back(name);
}

std::string versionText(uint32_t version) {
  return std::to_string(VK_API_VERSION_MAJOR(version)) + "." +
         std::to_string(VK_API_VERSION_MINOR(version));
}

/// Why the device cannot be used; empty when it can.
std::string refusalOf(const PhysicalDevice &device, const FeatureChain &chain) {
  if (!chain.v12.timelineSemaphore)
    return "it has no timeline semaphores";
  if (device.queueCount == 0)
    return "it has no queue that computes";
  if (device.limits.maxPushConstantsSize < pushConstantBytes)
    return "it has " + std::to_string(device.limits.maxPushConstantsSize) +
           " bytes of push constants, 128 are needed";
  if (device.limits.minStorageBufferOffsetAlignment > 256)
    return "it aligns bindings to more than 256 bytes";
  // An input, an output and the error word.
  if (device.limits.maxPerStageDescriptorStorageBuffers < 3)
    return "a shader sees fewer than three buffers";
  return "";
}

/// Lavapipe ends loops after 65535 iterations, and says nothing. Invocations
/// that it computes together count as one; shaders expect eight of them.
float maxIterations(VkDriverId driver, uint32_t together) {
  if (driver != VK_DRIVER_ID_MESA_LLVMPIPE)
    return FLT_MAX;
  return 65535.0f * 8 / float(std::max(together, 8u));
}

/// Fills in what depends on Vulkan 1.2.
void describeNew(const Instance &instance, PhysicalDevice &device) {
  std::vector<std::string> extensions = extensionsOf(instance, device.handle);
  auto has = [&](const char *name) {
    return std::find(extensions.begin(), extensions.end(), name) !=
           extensions.end();
  };
  PropertyChain properties;
  FeatureChain chain;
  if (has(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME))
    chain.add(chain.matrices);
  if (has(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME)) {
    chain.add(chain.sizes);
    properties.v12.pNext = &properties.sizes;
  }
  instance.getProperties(device.handle, &properties.core);
  instance.getFeatures(device.handle, &chain.core);
  device.identity = "uuid:" + hex(properties.v11.deviceUUID);
  device.id = "uuid-" + hex(properties.v11.deviceUUID);
  if (has(VK_EXT_PCI_BUS_INFO_EXTENSION_NAME)) {
    device.identity = pciAddress(instance, device.handle);
    device.id = "pci-" + device.identity.substr(4);
  }
  if (has(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME))
    device.importAlignment = importAlignment(instance, device.handle);
  device.calibrated = has(VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME) &&
                      knowsHostClock(instance, device.handle);
  device.maxAllocation = properties.v11.maxMemoryAllocationSize;
  device.maxBuffer = device.maxAllocation;
  device.subgroupSize = properties.v11.subgroupSize;
  device.subgroupSizes = subgroupSizes(chain, properties.sizes);
  device.maxGroupSubgroups = properties.sizes.maxComputeWorkgroupSubgroups;
  device.features = featureNames(chain, properties.v11);
  addFloatControls(properties.v12, device.features);
  addMatrices(instance, chain, device);
  chooseQueues(instance, device);
  device.maxIterations =
      maxIterations(properties.v12.driverID, device.subgroupSize);
  device.refusal = refusalOf(device, chain);
}

} // namespace

PhysicalDevice describe(const Instance &instance, VkPhysicalDevice handle) {
  VkPhysicalDeviceProperties2 properties = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
  instance.getProperties(handle, &properties);
  const VkPhysicalDeviceProperties &core = properties.properties;
  PhysicalDevice device = {};
  device.handle = handle;
  device.name = core.deviceName;
  device.kind = kindOf(core.deviceType);
  device.limits = core.limits;
  device.apiVersion = core.apiVersion;
  device.vendor = core.vendorID;
  device.device = core.deviceID;
  device.driverVersion = core.driverVersion;
  std::memcpy(device.cacheUuid, core.pipelineCacheUUID, VK_UUID_SIZE);
  instance.getMemory(handle, &device.memory);
  device.discrete = core.deviceType != VK_PHYSICAL_DEVICE_TYPE_CPU &&
                    core.deviceType != VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
  device.unified = !device.discrete && seesAll(device.memory);
  if (core.apiVersion >= VK_API_VERSION_1_2) {
    describeNew(instance, device);
    return device;
  }
  device.id = "cache-" + hex(core.pipelineCacheUUID);
  device.refusal = "it has Vulkan " + versionText(core.apiVersion) +
                   ", 1.2 is needed; a newer driver may help";
  return device;
}

std::vector<PhysicalDevice> describeAll(const Instance &instance) {
  std::vector<PhysicalDevice> all;
  for (VkPhysicalDevice handle : instance.physicalDevices()) {
    PhysicalDevice device = describe(instance, handle);
    unsigned same = 0;
    for (const PhysicalDevice &other : all)
      same +=
          other.id == device.id || other.id.starts_with(device.id + "-copy");
    if (same)
      device.id += "-copy" + std::to_string(same);
    all.push_back(std::move(device));
  }
  return all;
}

uint64_t PhysicalDevice::bindingAlignment() const {
  constexpr uint64_t least = 16;
  return std::max<uint64_t>(least, limits.minStorageBufferOffsetAlignment);
}

bool PhysicalDevice::has(std::string_view feature) const {
  return std::find(features.begin(), features.end(), feature) != features.end();
}

void enable(const PhysicalDevice &device, FeatureChain &chain) {
  VkPhysicalDeviceFeatures &core = chain.core.features;
  core.shaderFloat64 = device.has("shaderFloat64");
  core.shaderInt64 = device.has("shaderInt64");
  core.shaderInt16 = device.has("shaderInt16");
  chain.v11.storageBuffer16BitAccess = device.has("storageBuffer16BitAccess");
  chain.v12.timelineSemaphore = VK_TRUE;
  chain.v12.shaderFloat16 = device.has("shaderFloat16");
  chain.v12.shaderInt8 = device.has("shaderInt8");
  chain.v12.storageBuffer8BitAccess = device.has("storageBuffer8BitAccess");
  chain.v12.vulkanMemoryModel = device.has("vulkanMemoryModel");
  chain.v12.vulkanMemoryModelDeviceScope =
      device.has("vulkanMemoryModelDeviceScope");
  chain.v12.shaderSubgroupExtendedTypes =
      device.has("shaderSubgroupExtendedTypes");
  chain.sizes.computeFullSubgroups = device.has("computeFullSubgroups");
  chain.sizes.subgroupSizeControl = device.subgroupSizes != 0;
  if (chain.sizes.computeFullSubgroups || chain.sizes.subgroupSizeControl)
    chain.add(chain.sizes);
  chain.matrices.cooperativeMatrix = device.has("cooperativeMatrix");
  if (chain.matrices.cooperativeMatrix)
    chain.add(chain.matrices);
}

} // namespace backplane::vulkan
