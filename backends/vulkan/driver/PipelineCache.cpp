// SPDX-License-Identifier: Apache-2.0
#include "PipelineCache.h"

namespace backplane::vulkan {

void loadPipelineCache(bp_device_t &device) {
  VkPipelineCacheCreateInfo info = {
      VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
  device.vk.vkCreatePipelineCache(device.handle, &info, nullptr,
                                  &device.pipelines);
}

void storePipelineCache(bp_device_t &) {}

} // namespace backplane::vulkan
