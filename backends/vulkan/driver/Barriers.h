// SPDX-License-Identifier: Apache-2.0
//
// Barriers.h: the two barriers that the driver records.
#ifndef BACKPLANE_VULKAN_BARRIERS_H
#define BACKPLANE_VULKAN_BARRIERS_H

#include "Instance.h"

namespace backplane::vulkan {

inline constexpr VkPipelineStageFlags workStages =
    VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
inline constexpr VkAccessFlags workWrites =
    VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;

/// Later commands of the queue see what earlier ones wrote.
inline void orderCommands(const VolkDeviceTable &vk, VkCommandBuffer commands) {
  VkMemoryBarrier barrier = {VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  barrier.srcAccessMask = workWrites;
  barrier.dstAccessMask =
      workWrites | VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT;
  vk.vkCmdPipelineBarrier(commands, workStages, workStages, 0, 1, &barrier, 0,
                          nullptr, 0, nullptr);
}

/// The host sees what was written, once the work has completed.
inline void showToHost(const VolkDeviceTable &vk, VkCommandBuffer commands) {
  VkMemoryBarrier barrier = {VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  barrier.srcAccessMask = workWrites;
  barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
  vk.vkCmdPipelineBarrier(commands, workStages, VK_PIPELINE_STAGE_HOST_BIT, 0,
                          1, &barrier, 0, nullptr, 0, nullptr);
}

} // namespace backplane::vulkan

#endif // BACKPLANE_VULKAN_BARRIERS_H
