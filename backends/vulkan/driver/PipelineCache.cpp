// SPDX-License-Identifier: Apache-2.0
#include "PipelineCache.h"

#include <cstring>

namespace backplane::vulkan {

static const bp_cache_table_t *hostCache(const Device &device) {
  const bp_host_t &host = *device.driver.host;
  return static_cast<const bp_cache_table_t *>(
      host.get_extension(host.self, {"backplane.cache", 15}, 0));
}

/// One entry for each device and version of its driver.
static std::string keyOf(const PhysicalDevice &device) {
  std::string key = "vulkan-";
  for (uint8_t byte : device.cacheUuid) {
    constexpr const char *digits = "0123456789abcdef";
    key += digits[byte >> 4];
    key += digits[byte & 15];
  }
  for (uint32_t number : {device.vendor, device.device, device.driverVersion})
    key += "-" + std::to_string(number);
  return key;
}

/// Whether bytes start as the cache of this device does. Drivers check this
/// too; some of them crash on what comes after a wrong start.
static bool fits(const PhysicalDevice &device,
                 const std::vector<uint8_t> &bytes) {
  VkPipelineCacheHeaderVersionOne head;
  if (bytes.size() < sizeof(head))
    return false;
  std::memcpy(&head, bytes.data(), sizeof(head));
  return head.headerSize >= sizeof(head) && head.headerSize <= bytes.size() &&
         head.headerVersion == VK_PIPELINE_CACHE_HEADER_VERSION_ONE &&
         head.vendorID == device.vendor && head.deviceID == device.device &&
         std::memcmp(head.pipelineCacheUUID, device.cacheUuid, VK_UUID_SIZE) ==
             0;
}

static std::vector<uint8_t> keptBytes(const Device &device) {
  const bp_cache_table_t *cache = hostCache(device);
  std::vector<uint8_t> bytes;
  if (!cache)
    return bytes;
  bp_bytes_sink_t sink = {
      [](void *context, bp_bytes_t from) -> bp_status_t {
        const auto *first = static_cast<const uint8_t *>(from.data);
        static_cast<std::vector<uint8_t> *>(context)->assign(first,
                                                             first + from.size);
        return BP_STATUS_OK;
      },
      &bytes};
  std::string key = keyOf(device.physical);
  if (cache->load(cache->self, {key.data(), key.size()}, &sink) ||
      !fits(device.physical, bytes))
    bytes.clear();
  return bytes;
}

void loadPipelineCache(Device &device) {
  device.keptPipelines = keptBytes(device);
  VkPipelineCacheCreateInfo info = {
      VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
  info.initialDataSize = device.keptPipelines.size();
  info.pInitialData = device.keptPipelines.data();
  // Without a cache pipelines are made as well.
  if (device.vk.vkCreatePipelineCache(device.handle, &info, nullptr,
                                      &device.pipelines))
    device.pipelines = VK_NULL_HANDLE;
}

void storePipelineCache(const Device &device) {
  const bp_cache_table_t *cache = hostCache(device);
  size_t size = 0;
  const VolkDeviceTable &vk = device.vk;
  if (!cache || !device.pipelines ||
      vk.vkGetPipelineCacheData(device.handle, device.pipelines, &size,
                                nullptr))
    return;
  std::vector<uint8_t> bytes(size);
  if (vk.vkGetPipelineCacheData(device.handle, device.pipelines, &size,
                                bytes.data()))
    return;
  bytes.resize(size);
  if (bytes == device.keptPipelines)
    return;
  std::string key = keyOf(device.physical);
  // A failure costs time in the next run and nothing else.
  (void)cache->store(cache->self, {key.data(), key.size()},
                     {bytes.data(), bytes.size()});
}

} // namespace backplane::vulkan
