// SPDX-License-Identifier: Apache-2.0
#include "Serve.h"
#include "Submit.h"

#include <new>

namespace backplane::cuda {
namespace {

bp_status_t executeTimed(bp_queue_t *queue, const bp_header_t *const *commands,
                         uint64_t count, bp_timestamp_t *times,
                         const bp_completion_t *completion, bp_error_t *error) {
  return submit(*queue, {commands, count}, {{}, {}, *completion, times}, error);
}

bp_status_t execute(bp_queue_t *queue, const bp_header_t *const *commands,
                    uint64_t count, const bp_completion_t *completion,
                    bp_error_t *error) {
  return executeTimed(queue, commands, count, nullptr, completion, error);
}

void drop(bp_queue_t *queue) {
  Current current(*queue->device);
  queue->recordings.idle.clear();
  for (CUstream stream : {queue->capture, queue->stream})
    if (stream)
      queue->device->cuda.cuStreamDestroy(stream);
  delete queue;
}

CUresult makeStreams(bp_queue_t &queue) {
  const Cuda &cuda = queue.device->cuda;
  Current current(*queue.device);
  CUresult result = cuda.cuStreamCreate(&queue.stream, CU_STREAM_NON_BLOCKING);
  return result ? result
                : cuda.cuStreamCreate(&queue.capture, CU_STREAM_NON_BLOCKING);
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
  if (CUresult result = makeStreams(*queue)) {
    drop(queue);
    return device->fail(error, result, "cannot create a queue");
  }
  if (!startServing(*queue)) {
    drop(queue);
    return fail(driver, error, BP_STATUS_RESOURCE_EXHAUSTED,
                "no thread can be started for a queue's completions");
  }
  std::list<bp_queue_t *> made(1, queue);
  Lock lock(device->mutex);
  device->open.splice(device->open.end(), made);
  *out = queue;
  return BP_STATUS_OK;
}

/// What is held back will not run.
void cancelWaiting(bp_queue_t &queue) {
  for (Submission &submission : queue.waiting)
    submission.failure = {BP_STATUS_CANCELLED, "the queue was destroyed"};
  queue.running.splice(queue.running.end(), queue.waiting);
}

void destroy(bp_device_t *device, bp_queue_t *queue) {
  {
    Lock lock(device->mutex);
    cancelWaiting(*queue);
    queue->ending = true;
    queue->work.notify_one();
  }
  pthread_join(queue->thread, nullptr);
  {
    Lock lock(device->mutex);
    device->open.remove(queue);
  }
  drop(queue);
}

} // namespace

const bp_timestamps_table_t timestampsTable = {BP_HEADER(bp_timestamps_table_t),
                                               executeTimed};
const bp_queue_table_t queueTable = {BP_HEADER(bp_queue_table_t), create,
                                     destroy, execute};

} // namespace backplane::cuda
