// SPDX-License-Identifier: Apache-2.0
#include "Serve.h"

#include <algorithm>
#include <csignal>

namespace backplane::vulkan {

Outcome outcomeOf(VkResult result) {
  if (result == VK_SUCCESS)
    return {};
  bp_status_t status = BP_STATUS_INTERNAL;
  if (result == VK_ERROR_DEVICE_LOST)
    status = BP_STATUS_UNAVAILABLE;
  if (result == VK_ERROR_OUT_OF_HOST_MEMORY ||
      result == VK_ERROR_OUT_OF_DEVICE_MEMORY)
    status = BP_STATUS_RESOURCE_EXHAUSTED;
  return {status, "the Vulkan device failed: " + nameOf(result)};
}

namespace {

Outcome kernelError(const Recording::KernelError &error) {
  uint32_t code = error.word >> 24, op = error.word & 0xFFFFFF;
  std::string what = "error " + std::to_string(code);
  if (code == BP_KERNEL_ERROR_INDEX)
    what = "an index is out of range";
  else if (code == BP_KERNEL_ERROR_DIVISION)
    what = "an integer is divided by zero";
  else if (code == BP_KERNEL_ERROR_ITERATIONS)
    what = "the device ends loops as long as these early; make the tensors "
           "smaller or take another device";
  return {code == BP_KERNEL_ERROR_ITERATIONS ? BP_STATUS_UNIMPLEMENTED
                                             : BP_STATUS_OUT_OF_RANGE,
          "op " + std::to_string(op ? op : error.op) + ": " + what};
}

/// Waits until the device is done with a submission.
VkResult waitFor(const bp_queue_t &queue, uint64_t point) {
  VkSemaphoreWaitInfo info = {VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO};
  info.semaphoreCount = 1;
  info.pSemaphores = &queue.timeline;
  info.pValues = &point;
  return queue.device->vk.vkWaitSemaphores(queue.device->handle, &info,
                                           UINT64_MAX);
}

/// How a submission went. What it waited for has been done on the device; the
/// other queue's thread may still have to say so.
Outcome judge(bp_queue_t &queue, const Submission &submission, Lock &lock) {
  bp_device_t &device = *queue.device;
  if (submission.point == 0)
    return submission.failure;
  lock.unlock();
  VkResult result = waitFor(queue, submission.point);
  lock.lock();
  device.lost |= result == VK_ERROR_DEVICE_LOST;
  if (result)
    return outcomeOf(result);
  for (const bp_timepoint_t &at : submission.waits) {
    device.changed.wait(lock, [&] { return settled(at); });
    if (at.semaphore->failure.status != BP_STATUS_OK)
      return at.semaphore->failure;
  }
  Recording::KernelError error = submission.recording->firstError();
  return error.word ? kernelError(error) : Outcome();
}

void signal(const bp_queue_t &queue, const Submission &submission,
            const Outcome &outcome) {
  for (const bp_timepoint_t &at : submission.signals) {
    bp_semaphore_t &semaphore = *at.semaphore;
    std::erase_if(
        semaphore.promises, [&](const bp_semaphore_t::Promise &promise) {
          return promise.queue == &queue && promise.point == submission.point;
        });
    if (outcome.status == BP_STATUS_OK)
      semaphore.value = std::max(semaphore.value, at.value);
    else if (semaphore.failure.status == BP_STATUS_OK)
      semaphore.failure = outcome;
  }
}

/// Ends the first of the running submissions.
void finishFirst(bp_queue_t &queue, Lock &lock) {
  Submission &submission = queue.running.front();
  Outcome outcome = judge(queue, submission, lock);
  signal(queue, submission, outcome);
  if (submission.times && submission.point)
    submission.recording->readTimes(submission.times);
  submission.home->idle.push_back(submission.recording);
  bp_completion_t completion = submission.completion;
  queue.running.pop_front();
  queue.device->changed.notify_all();
  advance(*queue.device, lock);
  if (!completion.done)
    return;
  lock.unlock();
  completion.done(completion.context, outcome.status,
                  {outcome.message.data(), outcome.message.size()});
  lock.lock();
}

void *serve(void *self) {
  bp_queue_t &queue = *static_cast<bp_queue_t *>(self);
  Lock lock(queue.device->mutex);
  while (true) {
    queue.work.wait(lock,
                    [&] { return queue.ending || !queue.running.empty(); });
    if (queue.running.empty())
      return nullptr;
    finishFirst(queue, lock);
  }
}

} // namespace

bool startServing(bp_queue_t &queue) {
  // Signals of the process are for the application's threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool started = pthread_create(&queue.thread, nullptr, serve, &queue) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

} // namespace backplane::vulkan
