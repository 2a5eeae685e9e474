// SPDX-License-Identifier: Apache-2.0
#include "Queue.h"
#include "Serve.h"

#include <algorithm>
#include <new>

namespace backplane::vulkan {

bp_status_t translate(const bp_device_t &device, PreparedCommands &program,
                      const bp_header_t *const *commands, uint64_t count,
                      bp_error_t *error) {
  constexpr uint64_t maxScratch = uint64_t(1) << 40;
  if (std::optional<uint32_t> unknown = program.assign(commands, count))
    return fail(device.driver, error, BP_STATUS_UNIMPLEMENTED,
                "the Vulkan driver has no command of type " +
                    std::to_string(*unknown));
  if (program.scratch >= maxScratch)
    return fail(device.driver, error, BP_STATUS_RESOURCE_EXHAUSTED,
                "there is no memory for the scratch of a kernel");
  return BP_STATUS_OK;
}

/// A recording that nobody uses; null when there is no memory. `keeps`: all
/// that are at home are of this program.
static Recording *takeRecording(bp_device_t &device, RecordingPool &home,
                                const PreparedCommands &program,
                                const bp_binding_t *table, bool keeps) {
  Lock lock(device.mutex);
  if (Recording *idle = keeps ? home.take(program, table) : home.takeAny())
    return idle;
  std::unique_ptr<Recording> fresh(new (std::nothrow) Recording(device));
  return fresh ? home.add(std::move(fresh)) : nullptr;
}

bp_status_t enqueue(bp_queue_t &queue, const PreparedCommands &program,
                    const bp_binding_t *table, RecordingPool &home,
                    Submission submission, bp_error_t *error) {
  bp_device_t &device = *queue.device;
  bool keeps = &home != &queue.recordings;
  Recording *recording = takeRecording(device, home, program, table, keeps);
  if (!recording)
    return outOfMemory(device.driver, error);
  bool again = keeps && recording->holds(program, table);
  VkResult result =
      again ? VK_SUCCESS
            : recording->record(program, table, submission.times != nullptr);
  Lock lock(device.mutex);
  if (!result && device.lost)
    result = VK_ERROR_DEVICE_LOST;
  if (result) {
    home.idle.push_back(recording);
    return fail(device.driver, error, result, "cannot record commands");
  }
  recording->rewind();
  submission.recording = recording;
  submission.mayFail = program.mayFail;
  submission.home = &home;
  queue.waiting.push_back(std::move(submission));
  advance(device, lock);
  return BP_STATUS_OK;
}

// ---- Giving submissions to Vulkan ----

bool settled(const bp_timepoint_t &at) {
  return at.semaphore->failure.status != BP_STATUS_OK ||
         at.semaphore->value >= at.value;
}

/// What a submission waits for on the device.
struct DeviceWaits {
  std::vector<VkSemaphore> semaphores;
  std::vector<uint64_t> values;
  std::vector<VkPipelineStageFlags> stages;

  /// Adds what a timepoint was promised by; false when the host has to wait.
  bool add(const bp_queue_t &queue, const bp_timepoint_t &at) {
    if (settled(at))
      return true;
    for (const bp_semaphore_t::Promise &promise : at.semaphore->promises) {
      if (promise.value < at.value)
        continue;
      if (promise.mayFail)
        return false;
      if (promise.queue == &queue)
        return true; // its work is done in order
      semaphores.push_back(promise.queue->timeline);
      values.push_back(promise.point);
      stages.push_back(VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
      return true;
    }
    return false;
  }
};

static VkResult submit(bp_queue_t &queue, const Submission &submission,
                       uint64_t point, const DeviceWaits &waits) {
  VkTimelineSemaphoreSubmitInfo values = {
      VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO};
  values.waitSemaphoreValueCount = uint32_t(waits.values.size());
  values.pWaitSemaphoreValues = waits.values.data();
  values.signalSemaphoreValueCount = 1;
  values.pSignalSemaphoreValues = &point;
  VkCommandBuffer commands = submission.recording->commands();
  VkSubmitInfo info = {VK_STRUCTURE_TYPE_SUBMIT_INFO, &values};
  info.waitSemaphoreCount = uint32_t(waits.semaphores.size());
  info.pWaitSemaphores = waits.semaphores.data();
  info.pWaitDstStageMask = waits.stages.data();
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands;
  info.signalSemaphoreCount = 1;
  info.pSignalSemaphores = &queue.timeline;
  return queue.device->vk.vkQueueSubmit(queue.handle, 1, &info, VK_NULL_HANDLE);
}

/// The failure that keeps a submission from running, if any.
static Outcome obstacle(const bp_device_t &device,
                        const Submission &submission) {
  if (device.lost)
    return {BP_STATUS_UNAVAILABLE, "the Vulkan device is lost"};
  for (const bp_timepoint_t &at : submission.waits)
    if (at.semaphore->failure.status != BP_STATUS_OK)
      return at.semaphore->failure;
  return submission.failure;
}

/// Moves the first submission of a queue on; false when it has to wait.
static bool advance(bp_queue_t &queue) {
  Submission &first = queue.waiting.front();
  first.failure = obstacle(*queue.device, first);
  DeviceWaits waits;
  for (const bp_timepoint_t &at : first.waits)
    if (first.failure.status == BP_STATUS_OK && !waits.add(queue, at))
      return false;
  if (first.failure.status == BP_STATUS_OK) {
    uint64_t point = queue.points + 1;
    VkResult result = submit(queue, first, point, waits);
    queue.device->lost |= result == VK_ERROR_DEVICE_LOST;
    if (result) {
      first.failure = outcomeOf(result);
    } else {
      first.point = queue.points = point;
      for (const bp_timepoint_t &at : first.signals)
        at.semaphore->promises.push_back(
            {at.value, &queue, point, first.mayFail});
    }
  }
  queue.running.push_back(std::move(first));
  queue.waiting.pop_front();
  queue.work.notify_one();
  return true;
}

void advance(bp_device_t &device, const Lock &) {
  for (bool moved = true; moved;) {
    moved = false;
    for (bp_queue_t *queue : device.open)
      while (!queue->waiting.empty() && advance(*queue))
        moved = true;
  }
}

// ---- The table ----

static void drop(bp_queue_t *queue) {
  const bp_device_t &device = *queue->device;
  queue->recordings.all.clear();
  device.vk.vkDestroySemaphore(device.handle, queue->timeline, nullptr);
  delete queue;
}

static VkResult makeTimeline(bp_queue_t &queue) {
  VkSemaphoreTypeCreateInfo type = {
      VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO};
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  VkSemaphoreCreateInfo info = {VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, &type};
  return queue.device->vk.vkCreateSemaphore(queue.device->handle, &info,
                                            nullptr, &queue.timeline);
}

static bp_status_t create(bp_device_t *device, uint32_t queueClass,
                          bp_queue_t **out, bp_error_t *error) {
  const Driver &driver = device->driver;
  if (queueClass > BP_QUEUE_TRANSFER)
    return fail(driver, error, BP_STATUS_UNIMPLEMENTED,
                "the Vulkan driver has no queue of class " +
                    std::to_string(queueClass));
  auto *queue = new (std::nothrow) bp_queue_t{device};
  if (!queue)
    return outOfMemory(driver, error);
  if (VkResult result = makeTimeline(*queue)) {
    drop(queue);
    return fail(driver, error, result, "cannot create a queue");
  }
  if (!startServing(*queue)) {
    drop(queue);
    return fail(driver, error, BP_STATUS_RESOURCE_EXHAUSTED,
                "no thread can be started for a queue's completions");
  }
  Lock lock(device->mutex);
  queue->handle = device->queues[device->nextQueue++ % device->queues.size()];
  device->open.push_back(queue);
  *out = queue;
  return BP_STATUS_OK;
}

static void destroy(bp_device_t *device, bp_queue_t *queue) {
  {
    Lock lock(device->mutex);
    for (Submission &submission : queue->waiting) {
      submission.failure = {BP_STATUS_CANCELLED, "the queue was destroyed"};
      queue->running.push_back(std::move(submission));
    }
    queue->waiting.clear();
    queue->ending = true;
    queue->work.notify_one();
  }
  pthread_join(queue->thread, nullptr);
  {
    Lock lock(device->mutex);
    std::erase(device->open, queue);
  }
  drop(queue);
}

static bp_status_t executeTimed(bp_queue_t *queue,
                                const bp_header_t *const *commands,
                                uint64_t count, bp_timestamp_t *times,
                                const bp_completion_t *completion,
                                bp_error_t *error) {
  bp_status_t status =
      translate(*queue->device, queue->scratch, commands, count, error);
  if (status != BP_STATUS_OK)
    return status;
  Submission submission;
  submission.completion = *completion;
  submission.times = times;
  return enqueue(*queue, queue->scratch, nullptr, queue->recordings,
                 std::move(submission), error);
}

static bp_status_t execute(bp_queue_t *queue,
                           const bp_header_t *const *commands, uint64_t count,
                           const bp_completion_t *completion,
                           bp_error_t *error) {
  return executeTimed(queue, commands, count, nullptr, completion, error);
}

const bp_timestamps_table_t timestampsTable = {BP_HEADER(bp_timestamps_table_t),
                                               executeTimed};
const bp_queue_table_t queueTable = {BP_HEADER(bp_queue_table_t), create,
                                     destroy, execute};

// ---- Command buffers ----

static bp_status_t record(bp_device_t *device,
                          const bp_header_t *const *commands, uint64_t count,
                          bp_command_buffer_t **out, bp_error_t *error) {
  auto *recorded = new (std::nothrow) bp_command_buffer_t{device};
  if (!recorded)
    return outOfMemory(device->driver, error);
  bp_status_t status =
      translate(*device, recorded->program, commands, count, error);
  if (status != BP_STATUS_OK)
    delete recorded;
  else
    *out = recorded;
  return status;
}

static void forget(bp_device_t *, bp_command_buffer_t *commands) {
  delete commands;
}

static bp_status_t replay(bp_queue_t *queue, bp_command_buffer_t *commands,
                          const bp_binding_t *table, uint64_t,
                          const bp_completion_t *completion,
                          bp_error_t *error) {
  Submission submission;
  submission.completion = *completion;
  return enqueue(*queue, commands->program, table, commands->recordings,
                 std::move(submission), error);
}

const bp_command_buffer_table_t commandBufferTable = {
    BP_HEADER(bp_command_buffer_table_t), record, forget, replay};

} // namespace backplane::vulkan
