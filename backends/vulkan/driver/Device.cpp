// SPDX-License-Identifier: Apache-2.0
//
// Device.cpp: listing and opening devices.
#include "Device.h"
#include "PipelineCache.h"
#include "Stager.h"

#include <algorithm>
#include <cstdio>
#include <new>

namespace backplane::vulkan {

static constexpr bp_string_t format = {"spirv", 5};

/// Bindings of a dispatch: what a shader sees, but for the error word and
/// scratch.
static uint32_t maxBindings(const PhysicalDevice &device) {
  constexpr uint32_t most = 1024;
  const VkPhysicalDeviceLimits &limits = device.limits;
  uint32_t count = std::min({limits.maxPerStageDescriptorStorageBuffers,
                             limits.maxDescriptorSetStorageBuffers,
                             limits.maxPerStageResources, most});
  return count > 2 ? count - 2 : 0;
}

static uint64_t deviceBytes(const VkPhysicalDeviceMemoryProperties &memory) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < memory.memoryHeapCount; ++i)
    if (memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT)
      bytes += memory.memoryHeaps[i].size;
  return bytes;
}

/// Numbers that targets may compare.
static std::vector<bp_property_t> propertiesOf(const PhysicalDevice &device) {
  const std::pair<std::string_view, int64_t> numbers[] = {
      {"group_threads", device.limits.maxComputeWorkGroupInvocations},
      {"shared_bytes", device.limits.maxComputeSharedMemorySize},
      {"subgroup_size", device.subgroupSize}};
  std::vector<bp_property_t> properties;
  for (auto [key, number] : numbers)
    if (number)
      properties.push_back({.key = {key.data(), key.size()},
                            .kind = BP_PROPERTY_I64,
                            .i64 = number});
  return properties;
}

static bp_status_t list(const Driver &driver, const PhysicalDevice &device,
                        const Options &options, const bp_device_sink_t *sink) {
  constexpr uint32_t busyGroups = 256;
  std::vector<bp_string_t> features;
  for (const std::string &name : device.features)
    features.push_back(toC(name));
  bp_device_info_t info = {BP_HEADER(bp_device_info_t)};
  info.id = toC(device.id);
  info.name = toC(device.name);
  info.kind = device.kind;
  if (device.unified && !options.staging)
    info.flags = BP_DEVICE_UNIFIED_MEMORY;
  if (device.discrete || options.staging)
    info.flags |= BP_DEVICE_DISCRETE;
  // A processor behind the interface of a GPU.
  if (device.kind == BP_DEVICE_KIND_CPU)
    info.flags |= BP_DEVICE_EMULATED;
  info.formats = &format;
  info.format_count = 1;
  info.features = features.data();
  info.feature_count = features.size();
  info.max_buffer_size = device.maxBuffer;
  // Shaders compute places inside of a binding with 32 bits and a sign.
  constexpr uint32_t maxRange = 0x7FFFFFFC;
  info.max_binding_range =
      std::min(device.limits.maxStorageBufferRange, maxRange);
  info.binding_alignment = device.bindingAlignment();
  info.memory_bytes = deviceBytes(device.memory);
  info.max_bindings = maxBindings(device);
  info.max_constants = BP_MAX_CONSTANTS;
  info.max_parameters = pushConstantBytes / 8;
  info.subgroup_sizes = device.subgroupSizes;
  std::copy_n(device.limits.maxComputeWorkGroupCount, 3, info.max_grid);
  info.worker_count = device.kind == BP_DEVICE_KIND_CPU
                          ? driver.host->worker_count(driver.host->self)
                          : busyGroups;
  info.identity = toC(device.identity);
  info.refusal = toC(device.refusal);
  std::vector<bp_property_t> properties = propertiesOf(device);
  info.properties = properties.data();
  info.property_count = properties.size();
  return sink->put(sink->context, &info);
}

/// Lists what stands for the devices of a machine without Vulkan.
static bp_status_t listNone(const std::string &reason,
                            const bp_device_sink_t *sink) {
  bp_device_info_t info = {BP_HEADER(bp_device_info_t)};
  info.id = {"none", 4};
  info.name = {"Vulkan", 6};
  info.kind = BP_DEVICE_KIND_OTHER;
  info.binding_alignment = 256;
  info.max_bindings = 2;
  info.refusal = toC(reason);
  return sink->put(sink->context, &info);
}

static bp_status_t enumerate(void *self, const bp_options_t *options,
                             const bp_device_sink_t *sink, bp_error_t *error) {
  const Driver &driver = *plugin::Self<Plugin>::of(self).plugin;
  Options read;
  if (bp_status_t status = readOptions(driver, options, read, error))
    return status;
  std::string reason = "there is no Vulkan driver for a device of this machine";
  const Instance *instance = Instance::shared(&reason);
  std::vector<PhysicalDevice> devices;
  if (instance)
    devices = describeAll(*instance);
  if (devices.empty())
    return listNone(reason, sink);
  for (const PhysicalDevice &device : devices)
    if (bp_status_t status = list(driver, device, read, sink))
      return status;
  return BP_STATUS_OK;
}

/// Extensions that the driver uses where they are.
static std::vector<const char *> extensionsFor(const PhysicalDevice &device) {
  std::vector<const char *> names;
  if (device.importAlignment)
    names.push_back(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
  if (device.calibrated)
    names.push_back(VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME);
  if (device.has("computeFullSubgroups") || device.subgroupSizes)
    names.push_back(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
  if (device.has("cooperativeMatrix"))
    names.push_back(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
  return names;
}

static VkResult createDevice(Device &device, const Instance &instance) {
  const PhysicalDevice &physical = device.physical;
  uint32_t count = std::min(physical.queueCount, maxQueues);
  std::vector<float> priorities(count, 1.0f);
  VkDeviceQueueCreateInfo queues = {VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queues.queueFamilyIndex = physical.queueFamily;
  queues.queueCount = count;
  queues.pQueuePriorities = priorities.data();
  FeatureChain features;
  enable(physical, features);
  std::vector<const char *> extensions = extensionsFor(physical);
  VkDeviceCreateInfo info = {VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
  info.pNext = &features.core;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queues;
  info.enabledExtensionCount = uint32_t(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  if (VkResult result = instance.createDevice(physical.handle, &info, nullptr,
                                              &device.handle))
    return result;
  volkLoadDeviceTable(&device.vk, device.handle);
  device.queues.resize(count);
  for (uint32_t i = 0; i < count; ++i)
    device.vk.vkGetDeviceQueue(device.handle, physical.queueFamily, i,
                               &device.queues[i]);
  return VK_SUCCESS;
}

static VkResult setUp(Device &device, const Instance &instance,
                      const Options &options) {
  if (VkResult result = createDevice(device, instance))
    return result;
  device.allocator.reset(new (std::nothrow) Allocator(
      device.physical, device.vk, device.handle,
      options.staging || !device.physical.unified));
  device.layouts.reset(new (std::nothrow) Layouts(device.vk, device.handle));
  device.stager.reset(new (std::nothrow) Stager(device));
  if (!device.allocator || !device.layouts || !device.stager)
    return VK_ERROR_OUT_OF_HOST_MEMORY;
  loadPipelineCache(device);
  return device.create(64, 64, false, device.nothing);
}

static bp_status_t open(void *self, bp_string_t id, const bp_options_t *options,
                        bp_device_t **out, bp_error_t *error) {
  const Driver &driver = *plugin::Self<Plugin>::of(self).plugin;
  Options read;
  if (bp_status_t status = readOptions(driver, options, read, error))
    return status;
  std::string reason;
  const Instance *instance = Instance::shared(&reason);
  if (!instance)
    return fail(driver, error, BP_STATUS_NOT_FOUND,
                "there are no Vulkan devices: " + reason);
  for (const PhysicalDevice &physical : describeAll(*instance)) {
    if (std::string_view(id.data, id.size) != physical.id)
      continue;
    if (!physical.refusal.empty())
      return fail(driver, error, BP_STATUS_FAILED_PRECONDITION,
                  physical.name + " cannot be used: " + physical.refusal);
    std::unique_ptr<Device> device(new (std::nothrow) Device(driver, physical));
    if (!device)
      return outOfMemory(driver, error);
    if (VkResult result = setUp(*device, *instance, read))
      return fail(driver, error, result, "cannot open " + physical.name);
    *out = device.release();
    return BP_STATUS_OK;
  }
  return fail(driver, error, BP_STATUS_NOT_FOUND,
              "no Vulkan device has this id; `bp devices` lists them");
}

static void close(bp_device_t *device) {
  storePipelineCache(of(*device));
  delete device;
}

const bp_driver_table_t driverTable = {BP_HEADER(bp_driver_table_t), enumerate,
                                       open, close};

Device::Device(const Driver &driver, const PhysicalDevice &physical)
    : bp_device_t(driver), physical(physical) {}

Device::~Device() {
  if (!handle)
    return;
  vk.vkDeviceWaitIdle(handle);
  stager.reset();
  destroy(nothing);
  vk.vkDestroyPipelineCache(handle, pipelines, nullptr);
  layouts.reset();
  allocator.reset();
  vk.vkDestroyDevice(handle, nullptr);
}

void Device::note(VkResult result) {
  if (result == VK_ERROR_DEVICE_LOST)
    lose("VK_ERROR_DEVICE_LOST");
}

gpu::Outcome Device::outcomeOf(VkResult result) {
  note(result);
  gpu::Outcome outcome{statusOf(result)};
  std::snprintf(outcome.message, sizeof outcome.message,
                "the Vulkan device failed: %s", nameOf(result).c_str());
  return outcome;
}

} // namespace backplane::vulkan
