// SPDX-License-Identifier: Apache-2.0
//
// Queue.cpp: the tables of queues, and their threads.
#include "Queue.h"

#include <csignal>

void bp_queue_t::serve() {
  using namespace backplane::gpu;
  Lock lock(device.mutex);
  while (true) {
    work.wait(lock, [&] { return ending || !running.empty(); });
    if (running.empty())
      return;
    finishFirst(*this, lock);
  }
}

namespace backplane::gpu {
namespace {

bool startServing(bp_queue_t &queue) {
  // Signals of the process are for the application's threads, but for those
  // that this thread's own instructions raise: the system ends a process whose
  // thread blocks one of them, without asking any handler.
  sigset_t blocked, before;
  sigfillset(&blocked);
  for (int own : {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP})
    sigdelset(&blocked, own);
  pthread_sigmask(SIG_SETMASK, &blocked, &before);
  auto serve = [](void *self) -> void * {
    static_cast<bp_queue_t *>(self)->serve();
    return nullptr;
  };
  bool started = pthread_create(&queue.thread, nullptr, serve, &queue) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

bp_status_t create(bp_device_t *device, uint32_t queueClass, bp_queue_t **out,
                   bp_error_t *error) {
  if (queueClass > BP_QUEUE_TRANSFER)
    return lacks(device->driver, error,
                 "has no queue of class " + std::to_string(queueClass));
  std::unique_ptr<bp_queue_t> queue;
  if (bp_status_t status = device->makeQueue(queue, error))
    return status;
  std::list<bp_queue_t *> made(1, queue.get());
  if (!startServing(*queue))
    return fail(device->driver, error, BP_STATUS_RESOURCE_EXHAUSTED,
                "no thread can be started for a queue's completions");
  Lock lock(device->mutex);
  device->open.splice(device->open.end(), made);
  *out = queue.release();
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
  delete queue;
}

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

} // namespace

const bp_timestamps_table_t timestampsTable = {BP_HEADER(bp_timestamps_table_t),
                                               executeTimed};
const bp_queue_table_t queueTable = {BP_HEADER(bp_queue_table_t), create,
                                     destroy, execute};

} // namespace backplane::gpu
