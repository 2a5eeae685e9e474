// SPDX-License-Identifier: Apache-2.0
//
// Queue.h: a queue has a timeline semaphore of Vulkan that counts its
// submissions. A submission waits on the device for the points of other queues.
#ifndef BACKPLANE_VULKAN_QUEUE_H
#define BACKPLANE_VULKAN_QUEUE_H

#include "Recording.h"

namespace backplane::vulkan {

struct Queue final : bp_queue_t {
  explicit Queue(Device &device) : bp_queue_t(device) {}
  ~Queue() override;
  VkResult makeTimeline();

  bp_status_t record(gpu::Submission &submission, Commands commands,
                     const gpu::Terms &terms, bp_error_t *error) override;
  gpu::Outcome start(const gpu::Submission &submission) override;

  VkQueue handle = VK_NULL_HANDLE;
  VkSemaphore timeline = VK_NULL_HANDLE;
  uint64_t points = 0; ///< of the timeline that were given away
};

} // namespace backplane::vulkan

#endif // BACKPLANE_VULKAN_QUEUE_H
