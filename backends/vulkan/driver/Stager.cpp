// SPDX-License-Identifier: Apache-2.0
#include "Stager.h"
#include "Barriers.h"

#include <algorithm>
#include <cstring>

namespace backplane::vulkan {

static constexpr uint64_t areaBytes = 4u << 20;

Stager::~Stager() {
  device_.vk.vkDestroyFence(device_.handle, fence_, nullptr);
  device_.vk.vkDestroyCommandPool(device_.handle, pool_, nullptr);
  device_.destroy(area_);
}

/// Makes what copies need, when the first one comes.
VkResult Stager::prepare() {
  const VolkDeviceTable &vk = device_.vk;
  if (!area_.handle)
    if (VkResult result = device_.create(areaBytes, 64, true, area_))
      return result;
  if (!pool_) {
    VkCommandPoolCreateInfo info = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    info.queueFamilyIndex = device_.physical.queueFamily;
    if (VkResult result =
            vk.vkCreateCommandPool(device_.handle, &info, nullptr, &pool_))
      return result;
  }
  if (!commands_) {
    VkCommandBufferAllocateInfo info = {
        VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    info.commandPool = pool_;
    info.commandBufferCount = 1;
    if (VkResult result =
            vk.vkAllocateCommandBuffers(device_.handle, &info, &commands_))
      return result;
  }
  VkFenceCreateInfo info = {VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  return fence_ ? VK_SUCCESS
                : vk.vkCreateFence(device_.handle, &info, nullptr, &fence_);
}

VkResult Stager::record(VkBuffer from, VkBuffer to,
                        const VkBufferCopy &region) {
  const VolkDeviceTable &vk = device_.vk;
  if (VkResult result = vk.vkResetCommandPool(device_.handle, pool_, 0))
    return result;
  VkCommandBufferBeginInfo info = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  info.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  if (VkResult result = vk.vkBeginCommandBuffer(commands_, &info))
    return result;
  orderCommands(vk, commands_);
  vk.vkCmdCopyBuffer(commands_, from, to, 1, &region);
  showToHost(vk, commands_);
  return vk.vkEndCommandBuffer(commands_);
}

VkResult Stager::submit() {
  const VolkDeviceTable &vk = device_.vk;
  VkSubmitInfo info = {VK_STRUCTURE_TYPE_SUBMIT_INFO};
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands_;
  VkResult result;
  {
    gpu::Lock lock(device_.mutex);
    result = vk.vkQueueSubmit(device_.queues[0], 1, &info, fence_);
  }
  if (!result)
    result =
        vk.vkWaitForFences(device_.handle, 1, &fence_, VK_TRUE, UINT64_MAX);
  if (!result)
    return vk.vkResetFences(device_.handle, 1, &fence_);
  device_.note(result);
  gpu::Lock lock(device_.mutex);
  gpu::advance(device_, lock); // what is held back fails now
  return result;
}

VkResult Stager::copy(VkBuffer from, uint64_t fromOffset, VkBuffer to,
                      uint64_t toOffset, uint64_t size) {
  VkResult result = record(from, to, {fromOffset, toOffset, size});
  return result ? result : submit();
}

VkResult Stager::write(const Buffer &to, uint64_t offset, const void *data,
                       uint64_t size) {
  std::lock_guard lock(mutex_);
  VkResult result = prepare();
  for (uint64_t done = 0; done < size && !result; done += areaBytes) {
    uint64_t part = std::min(areaBytes, size - done);
    std::memcpy(area_.memory.mapped, static_cast<const uint8_t *>(data) + done,
                part);
    result =
        copy(area_.handle, 0, to.storage.handle, to.base + offset + done, part);
  }
  return result;
}

VkResult Stager::read(const Buffer &from, uint64_t offset, void *data,
                      uint64_t size) {
  std::lock_guard lock(mutex_);
  VkResult result = prepare();
  for (uint64_t done = 0; done < size && !result; done += areaBytes) {
    uint64_t part = std::min(areaBytes, size - done);
    result = copy(from.storage.handle, from.base + offset + done, area_.handle,
                  0, part);
    if (!result)
      std::memcpy(static_cast<uint8_t *>(data) + done, area_.memory.mapped,
                  part);
  }
  return result;
}

} // namespace backplane::vulkan
