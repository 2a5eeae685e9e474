// SPDX-License-Identifier: Apache-2.0
#include "Queue.h"
#include "Serve.h"

#include <new>

namespace backplane::cuda {
namespace {

/// A recording that nobody uses; null when there is no memory.
Recording *takeRecording(bp_queue_t &queue) {
  std::lock_guard lock(queue.mutex);
  if (!queue.idle.empty()) {
    Recording *idle = queue.idle.back();
    queue.idle.pop_back();
    return idle;
  }
  std::unique_ptr<Recording> fresh(new (std::nothrow) Recording(*queue.device));
  if (!fresh)
    return nullptr;
  queue.recordings.push_back(std::move(fresh));
  queue.idle.reserve(queue.recordings.size());
  return queue.recordings.back().get();
}

/// What was put into the stream before a failure is done when it can be used
/// again.
void putBack(bp_queue_t &queue, Recording *recording) {
  queue.device->cuda.cuStreamSynchronize(queue.stream);
  std::lock_guard lock(queue.mutex);
  queue.idle.push_back(recording);
}

bp_status_t executeTimed(bp_queue_t *queue, const bp_header_t *const *commands,
                         uint64_t count, bp_timestamp_t *times,
                         const bp_completion_t *completion, bp_error_t *error) {
  bp_device_t &device = *queue->device;
  if (std::optional<uint32_t> unknown =
          Recording::unknownCommand({commands, count}))
    return fail(device.driver, error, BP_STATUS_UNIMPLEMENTED,
                "the CUDA driver has no command of type " +
                    std::to_string(*unknown));
  if (std::string lost = device.lossReason(); !lost.empty())
    return fail(device.driver, error, BP_STATUS_UNAVAILABLE,
                "the CUDA device is lost: " + lost);
  Recording *recording = takeRecording(*queue);
  if (!recording)
    return outOfMemory(device.driver, error);
  Current current(device);
  if (CUresult result =
          recording->play(queue->stream, {commands, count}, times)) {
    bp_status_t status = device.fail(error, result, "cannot run commands");
    putBack(*queue, recording);
    return status;
  }
  std::lock_guard lock(queue->mutex);
  queue->running.push_back({recording, *completion, times});
  queue->work.notify_one();
  return BP_STATUS_OK;
}

bp_status_t execute(bp_queue_t *queue, const bp_header_t *const *commands,
                    uint64_t count, const bp_completion_t *completion,
                    bp_error_t *error) {
  return executeTimed(queue, commands, count, nullptr, completion, error);
}

void drop(bp_queue_t *queue) {
  Current current(*queue->device);
  queue->recordings.clear();
  if (queue->stream)
    queue->device->cuda.cuStreamDestroy(queue->stream);
  delete queue;
}

bp_status_t create(bp_device_t *device, uint32_t queueClass, bp_queue_t **out,
                   bp_error_t *error) {
  const Driver &driver = device->driver;
  if (queueClass > BP_QUEUE_TRANSFER)
    return fail(driver, error, BP_STATUS_UNIMPLEMENTED,
                "the CUDA driver has no queue of class " +
                    std::to_string(queueClass));
  auto *queue = new (std::nothrow) bp_queue_t(device);
  if (!queue)
    return outOfMemory(driver, error);
  CUresult result;
  {
    Current current(*device);
    result =
        device->cuda.cuStreamCreate(&queue->stream, CU_STREAM_NON_BLOCKING);
  }
  if (result) {
    drop(queue);
    return device->fail(error, result, "cannot create a queue");
  }
  if (!startServing(*queue)) {
    drop(queue);
    return fail(driver, error, BP_STATUS_RESOURCE_EXHAUSTED,
                "no thread can be started for a queue's completions");
  }
  *out = queue;
  return BP_STATUS_OK;
}

void destroy(bp_device_t *, bp_queue_t *queue) {
  {
    std::lock_guard lock(queue->mutex);
    queue->ending = true;
    queue->work.notify_one();
  }
  pthread_join(queue->thread, nullptr);
  drop(queue);
}

} // namespace

const bp_timestamps_table_t timestampsTable = {BP_HEADER(bp_timestamps_table_t),
                                               executeTimed};
const bp_queue_table_t queueTable = {BP_HEADER(bp_queue_table_t), create,
                                     destroy, execute};

} // namespace backplane::cuda
