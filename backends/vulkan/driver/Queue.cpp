// SPDX-License-Identifier: Apache-2.0
#include "Queue.h"

#include <new>

namespace backplane::vulkan {

Queue::~Queue() {
  const Device &own = of(device);
  own.vk.vkDestroySemaphore(own.handle, timeline, nullptr);
}

VkResult Queue::makeTimeline() {
  VkSemaphoreTypeCreateInfo type = {
      VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO};
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  VkSemaphoreCreateInfo info = {VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, &type};
  const Device &own = of(device);
  return own.vk.vkCreateSemaphore(own.handle, &info, nullptr, &timeline);
}

bp_status_t Queue::record(gpu::Submission &submission, Commands commands,
                          const gpu::Terms &terms, bp_error_t *error) {
  auto &recording = static_cast<Recording &>(**submission.recording);
  std::span<const uint64_t> bound;
  if (terms.replayed)
    bound = terms.replayed->bound();
  if (!terms.replayed || !recording.holds(bound))
    if (VkResult result = recording.record(commands, bound, terms.times))
      return fail(device.driver, error, result, "cannot record commands");
  recording.rewind();
  return BP_STATUS_OK;
}

namespace {

/// What a submission waits for on the device.
struct DeviceWaits {
  std::vector<VkSemaphore> semaphores;
  std::vector<uint64_t> values;
  std::vector<VkPipelineStageFlags> stages;

  DeviceWaits(const bp_queue_t &queue, std::span<const bp_timepoint_t> waits) {
    for (const bp_timepoint_t &at : waits) {
      const gpu::Recording *other = gpu::awaited(queue, at);
      if (!other)
        continue;
      auto end = static_cast<const Recording *>(other)->end;
      semaphores.push_back(end.timeline);
      values.push_back(end.value);
      stages.push_back(VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
    }
  }
};

} // namespace

gpu::Outcome Queue::start(const gpu::Submission &submission) {
  auto &recording = static_cast<Recording &>(**submission.recording);
  DeviceWaits waits(*this, submission.waits);
  uint64_t point = points + 1;
  VkTimelineSemaphoreSubmitInfo values = {
      VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO};
  values.waitSemaphoreValueCount = uint32_t(waits.values.size());
  values.pWaitSemaphoreValues = waits.values.data();
  values.signalSemaphoreValueCount = 1;
  values.pSignalSemaphoreValues = &point;
  VkCommandBuffer commands = recording.commands();
  VkSubmitInfo info = {VK_STRUCTURE_TYPE_SUBMIT_INFO, &values};
  info.waitSemaphoreCount = uint32_t(waits.semaphores.size());
  info.pWaitSemaphores = waits.semaphores.data();
  info.pWaitDstStageMask = waits.stages.data();
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands;
  info.signalSemaphoreCount = 1;
  info.pSignalSemaphores = &timeline;
  if (VkResult result =
          of(device).vk.vkQueueSubmit(handle, 1, &info, VK_NULL_HANDLE))
    return of(device).outcomeOf(result);
  points = point;
  recording.end = {timeline, point};
  return {};
}

bp_status_t Device::makeQueue(std::unique_ptr<bp_queue_t> &out,
                              bp_error_t *error) {
  std::unique_ptr<Queue> queue(new (std::nothrow) Queue(*this));
  if (!queue)
    return outOfMemory(driver, error);
  if (VkResult result = queue->makeTimeline())
    return fail(driver, error, result, "cannot create a queue");
  gpu::Lock lock(mutex);
  queue->handle = queues[nextQueue++ % queues.size()];
  out = std::move(queue);
  return BP_STATUS_OK;
}

std::unique_ptr<gpu::Recording> Device::makeRecording() {
  return std::make_unique<Recording>(*this);
}

} // namespace backplane::vulkan
