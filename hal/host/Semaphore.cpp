// SPDX-License-Identifier: Apache-2.0
//
// Semaphore.cpp: timelines, and submissions that wait for them. A submission
// runs on a thread that the host gives, or on one that waits.
#include "Queue.h"

#include <algorithm>
#include <chrono>
#include <new>

struct bp_semaphore_t {
  uint64_t value;
  bp_status_t failure; ///< BP_STATUS_OK while none was signalled
  std::string message;
};

namespace backplane::host {

using Lock = std::unique_lock<std::mutex>;

/// Whether the front submission of a queue may start.
static bool ready(const bp_queue_t &queue) {
  const std::vector<bp_timepoint_t> &waits = queue.waiting.front().waits;
  return std::all_of(waits.begin(), waits.end(), [](const bp_timepoint_t &at) {
    return at.semaphore->failure || at.semaphore->value >= at.value;
  });
}

/// The failure of a wait, if any.
static Outcome failureOf(const Submission &submission) {
  for (const bp_timepoint_t &at : submission.waits)
    if (at.semaphore->failure)
      return {at.semaphore->failure, at.semaphore->message};
  return {};
}

static void signalAll(const Submission &submission, const Outcome &outcome) {
  for (const bp_timepoint_t &at : submission.signals) {
    bp_semaphore_t &semaphore = *at.semaphore;
    if (outcome.status == BP_STATUS_OK) {
      semaphore.value = std::max(semaphore.value, at.value);
    } else if (!semaphore.failure) {
      semaphore.failure = outcome.status;
      semaphore.message = outcome.message;
    }
  }
}

static void leave(Timelines &timelines, bp_queue_t &queue) {
  if (queue.waiting.empty())
    std::erase(timelines.queues, &queue);
  timelines.changed.notify_all();
}

/// Runs the front submission of a queue; false when it has to wait.
static bool step(bp_queue_t &queue, Lock &lock) {
  if (queue.running || queue.waiting.empty() || !ready(queue))
    return false;
  Timelines &timelines = *queue.device->timelines;
  queue.running = true;
  Submission &submission = queue.waiting.front();
  Outcome outcome = failureOf(submission);
  lock.unlock();
  if (outcome.status == BP_STATUS_OK)
    outcome = run(queue, submission.program, nullptr);
  lock.lock();
  signalAll(submission, outcome);
  queue.waiting.pop_front();
  queue.running = false;
  leave(timelines, queue);
  return true;
}

/// Runs one submission of any queue; false when all have to wait.
static bool stepAny(Timelines &timelines, Lock &lock) {
  for (bp_queue_t *queue : timelines.queues)
    if (step(*queue, lock))
      return true;
  return false;
}

/// Asks the host for a thread that runs what has become ready.
static void wake(const bp_device_t &device) {
  const bp_host_t &host = *device.driver->host;
  auto task = [](void *context) {
    std::unique_ptr<std::shared_ptr<Timelines>> timelines(
        static_cast<std::shared_ptr<Timelines> *>(context));
    Lock lock((*timelines)->mutex);
    while (stepAny(**timelines, lock))
      ;
  };
  host.post(host.self, task, new std::shared_ptr<Timelines>(device.timelines));
}

void drain(bp_queue_t &queue) {
  Timelines &timelines = *queue.device->timelines;
  Lock lock(timelines.mutex);
  while (!queue.waiting.empty())
    if (!step(queue, lock))
      timelines.changed.wait(lock);
}

void cancel(bp_queue_t &queue) {
  Timelines &timelines = *queue.device->timelines;
  Lock lock(timelines.mutex);
  timelines.changed.wait(lock, [&] { return !queue.running; });
  for (const Submission &submission : queue.waiting)
    signalAll(submission, {BP_STATUS_CANCELLED, "the queue was destroyed"});
  queue.waiting.clear();
  leave(timelines, queue);
}

// ---- The table ----

static bp_status_t create(bp_device_t *device, uint64_t initial,
                          bp_semaphore_t **out, bp_error_t *error) {
  *out = new (std::nothrow) bp_semaphore_t{initial, BP_STATUS_OK, ""};
  return *out ? BP_STATUS_OK
              : fail(*device->driver, error, BP_STATUS_RESOURCE_EXHAUSTED,
                     "out of memory");
}

static void destroy(bp_device_t *, bp_semaphore_t *semaphore) {
  delete semaphore;
}

static bp_status_t failure(const bp_device_t &device,
                           const bp_semaphore_t &semaphore, bp_error_t *error) {
  return fail(*device.driver, error, semaphore.failure, semaphore.message);
}

static bp_status_t query(bp_device_t *device, bp_semaphore_t *semaphore,
                         uint64_t *outValue, bp_error_t *error) {
  Lock lock(device->timelines->mutex);
  if (semaphore->failure)
    return failure(*device, *semaphore, error);
  *outValue = semaphore->value;
  return BP_STATUS_OK;
}

static bp_status_t signal(bp_device_t *device, bp_semaphore_t *semaphore,
                          uint64_t value, bp_error_t *error) {
  Lock lock(device->timelines->mutex);
  if (semaphore->failure)
    return failure(*device, *semaphore, error);
  if (value <= semaphore->value)
    return fail(*device->driver, error, BP_STATUS_INVALID_ARGUMENT,
                "semaphore value " + std::to_string(value) +
                    " is not above the current one, " +
                    std::to_string(semaphore->value));
  semaphore->value = value;
  device->timelines->changed.notify_all();
  bool waiting = !device->timelines->queues.empty();
  lock.unlock();
  if (waiting)
    wake(*device);
  return BP_STATUS_OK;
}

static bp_status_t wait(bp_device_t *device, bp_semaphore_t *semaphore,
                        uint64_t value, uint64_t timeoutNs, bp_error_t *error) {
  using Clock = std::chrono::steady_clock;
  constexpr uint64_t longest = uint64_t(365) * 24 * 3600 * 1000000000u;
  auto end =
      Clock::now() + std::chrono::nanoseconds(std::min(timeoutNs, longest));
  Timelines &timelines = *device->timelines;
  Lock lock(timelines.mutex);
  while (!semaphore->failure && semaphore->value < value) {
    if (Clock::now() >= end)
      return fail(*device->driver, error, BP_STATUS_DEADLINE_EXCEEDED,
                  "semaphore value " + std::to_string(value) +
                      " was not reached in time");
    if (!stepAny(timelines, lock))
      timelines.changed.wait_until(lock, end);
  }
  return semaphore->failure ? failure(*device, *semaphore, error)
                            : BP_STATUS_OK;
}

static bp_status_t submit(bp_queue_t *queue, const bp_timepoint_t *waits,
                          uint64_t waitCount, const bp_timepoint_t *signals,
                          uint64_t signalCount,
                          const bp_header_t *const *commands, uint64_t count,
                          bp_error_t *error) {
  Submission submission;
  submission.waits.assign(waits, waits + waitCount);
  submission.signals.assign(signals, signals + signalCount);
  bp_status_t status = translate(*queue->device->driver, submission.program,
                                 commands, count, error);
  if (status != BP_STATUS_OK)
    return status;
  Timelines &timelines = *queue->device->timelines;
  {
    Lock lock(timelines.mutex);
    if (queue->waiting.empty())
      timelines.queues.push_back(queue);
    queue->waiting.push_back(std::move(submission));
  }
  wake(*queue->device);
  return BP_STATUS_OK;
}

const bp_semaphore_table_t semaphoreTable = {BP_HEADER(bp_semaphore_table_t),
                                             create,
                                             destroy,
                                             query,
                                             signal,
                                             wait,
                                             submit};

} // namespace backplane::host
