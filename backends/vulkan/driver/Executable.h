// SPDX-License-Identifier: Apache-2.0
//
// Executable.h: shaders as pipelines.
#ifndef BACKPLANE_VULKAN_EXECUTABLE_H
#define BACKPLANE_VULKAN_EXECUTABLE_H

#include "Device.h"

namespace backplane::vulkan {

struct EntryPoint {
  VkPipeline pipeline = VK_NULL_HANDLE;
  Layout layout;
  uint32_t bindings = 0; ///< of a dispatch; the error word comes after them
  bool reports = false;  ///< whether it may set the error word
  bool scratch = false;  ///< whether there is a binding for it
  uint64_t workspaceBytes = 0; ///< scratch per work-group, where it is known
};

} // namespace backplane::vulkan

struct bp_executable_t {
  std::vector<backplane::vulkan::EntryPoint> entries;
};

#endif // BACKPLANE_VULKAN_EXECUTABLE_H
