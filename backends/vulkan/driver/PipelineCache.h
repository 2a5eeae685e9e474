// SPDX-License-Identifier: Apache-2.0
//
// PipelineCache.h: compiled shaders, kept between runs by the host.
#ifndef BACKPLANE_VULKAN_PIPELINECACHE_H
#define BACKPLANE_VULKAN_PIPELINECACHE_H

#include "Device.h"

namespace backplane::vulkan {

/// Makes the device's pipeline cache, with what an earlier run has kept for
/// the same device and version of its driver; damaged bytes are ignored.
void loadPipelineCache(Device &device);
/// Has the host keep the cache, if it has changed.
void storePipelineCache(const Device &device);

} // namespace backplane::vulkan

#endif // BACKPLANE_VULKAN_PIPELINECACHE_H
