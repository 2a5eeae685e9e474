// SPDX-License-Identifier: Apache-2.0
//
// Semaphore.cpp: timelines, and submissions that wait for them. A submission
// runs on a thread that the host gives, or on one that waits.
#include "Queue.h"

#include <algorithm>
#include <chrono>

namespace backplane::host {

using Lock = std::unique_lock<std::mutex>;

static Semaphore &of(const bp_timepoint_t &at) {
  return *reinterpret_cast<Semaphore *>(at.semaphore);
}

/// The failure of a wait, if any.
static Status failureOf(const std::vector<bp_timepoint_t> &waits) {
  for (const bp_timepoint_t &at : waits)
    if (!of(at).failure.ok())
      return of(at).failure;
  return {};
}

static void signalAll(const std::vector<bp_timepoint_t> &signals,
                      const Status &outcome) {
  for (const bp_timepoint_t &at : signals) {
    Semaphore &semaphore = of(at);
    if (outcome.ok())
      semaphore.current = std::max(semaphore.current, at.value);
    else if (semaphore.failure.ok())
      semaphore.failure = outcome;
  }
}

// ---- Submissions of a queue ----

/// Whether the front submission may start.
bool Queue::isReady() const {
  return std::ranges::all_of(waiting_.front().waits, [](const auto &at) {
    return !of(at).failure.ok() || of(at).current >= at.value;
  });
}

void Queue::leave() {
  if (waiting_.empty())
    std::erase(device_.timelines->queues, this);
  device_.timelines->changed.notify_all();
}

bool Queue::step(Lock &lock) {
  if (running_ || waiting_.empty() || !isReady())
    return false;
  running_ = true;
  Submission &submission = waiting_.front();
  Status outcome = failureOf(submission.waits);
  lock.unlock();
  if (outcome.ok())
    outcome = play(submission.program, nullptr);
  lock.lock();
  signalAll(submission.signals, outcome);
  waiting_.pop_front();
  running_ = false;
  leave();
  return true;
}

/// Runs one submission of any queue; false when all have to wait.
static bool stepAny(Timelines &timelines, Lock &lock) {
  for (Queue *queue : timelines.queues)
    if (queue->step(lock))
      return true;
  return false;
}

/// Asks the host for a thread that runs what has become ready.
static void wake(const Device &device) {
  const bp_host_t &host = device.host.c();
  auto task = [](void *context) {
    std::unique_ptr<std::shared_ptr<Timelines>> timelines(
        static_cast<std::shared_ptr<Timelines> *>(context));
    Lock lock((*timelines)->mutex);
    while (stepAny(**timelines, lock))
      ;
  };
  host.post(host.self, task, new std::shared_ptr<Timelines>(device.timelines));
}

void Queue::drain() {
  Lock lock(device_.timelines->mutex);
  while (!waiting_.empty())
    if (!step(lock))
      device_.timelines->changed.wait(lock);
}

Queue::~Queue() {
  {
    Lock lock(device_.timelines->mutex);
    device_.timelines->changed.wait(lock, [&] { return !running_; });
    for (const Submission &submission : waiting_)
      signalAll(submission.signals,
                Status(BP_STATUS_CANCELLED, "the queue was destroyed"));
    waiting_.clear();
    leave();
  }
  device_.host.release(workspace_);
}

Status Queue::submit(std::span<const bp_timepoint_t> waits,
                     std::span<const bp_timepoint_t> signals,
                     Commands commands) {
  Submission submission;
  submission.waits.assign(waits.begin(), waits.end());
  submission.signals.assign(signals.begin(), signals.end());
  if (Status status = submission.program.assign(commands); !status.ok())
    return status;
  {
    Lock lock(device_.timelines->mutex);
    if (waiting_.empty())
      device_.timelines->queues.push_back(this);
    waiting_.push_back(std::move(submission));
  }
  wake(device_);
  return {};
}

// ---- Semaphores ----

Result<std::unique_ptr<Semaphore>> Device::createSemaphore(uint64_t initial) {
  return make<Semaphore>(*this, initial);
}

Result<uint64_t> Semaphore::value() {
  Lock lock(device.timelines->mutex);
  if (!failure.ok())
    return failure;
  return current;
}

Status Semaphore::signal(uint64_t value) {
  Timelines &timelines = *device.timelines;
  Lock lock(timelines.mutex);
  if (!failure.ok())
    return failure;
  if (value <= current)
    return invalidArgument("semaphore value " + std::to_string(value) +
                           " is not above the current one, " +
                           std::to_string(current));
  current = value;
  timelines.changed.notify_all();
  bool waiting = !timelines.queues.empty();
  lock.unlock();
  if (waiting)
    wake(device);
  return {};
}

Status Semaphore::wait(uint64_t value, uint64_t timeoutNs) {
  using Clock = std::chrono::steady_clock;
  constexpr uint64_t longest = uint64_t(365) * 24 * 3600 * 1000000000u;
  auto end =
      Clock::now() + std::chrono::nanoseconds(std::min(timeoutNs, longest));
  Timelines &timelines = *device.timelines;
  Lock lock(timelines.mutex);
  while (failure.ok() && current < value) {
    if (Clock::now() >= end)
      return Status(BP_STATUS_DEADLINE_EXCEEDED,
                    "semaphore value " + std::to_string(value) +
                        " was not reached in time");
    if (!stepAny(timelines, lock))
      timelines.changed.wait_until(lock, end);
  }
  return failure;
}

} // namespace backplane::host
