// SPDX-License-Identifier: Apache-2.0
//
// Submit.cpp: the way of a submission: recorded, held back, started, ended.
#include "Queue.h"

namespace backplane::gpu {

bool settled(const bp_timepoint_t &at) {
  return at.semaphore->failure.status != BP_STATUS_OK ||
         at.semaphore->value >= at.value;
}

// ---- What a submission waits for ----

/// What the device has, raises a semaphore to a value and cannot fail.
struct Promise {
  const bp_queue_t *queue = nullptr; ///< null: there is none
  const Recording *recording = nullptr;
};

static Promise promiseOf(const bp_device_t &device, const bp_timepoint_t &at) {
  for (const bp_queue_t *queue : device.open)
    for (const Submission &submission : queue->running)
      if (submission.started && !(*submission.recording)->mayFail())
        for (const bp_timepoint_t &signal : submission.signals)
          if (signal.semaphore == at.semaphore && signal.value >= at.value)
            return {queue, submission.recording->get()};
  return {};
}

const Recording *awaited(const bp_queue_t &queue, const bp_timepoint_t &at) {
  if (settled(at))
    return nullptr;
  Promise promise = promiseOf(queue.device, at);
  return promise.queue == &queue ? nullptr : promise.recording;
}

/// The failure that keeps a submission from running, if any.
static Outcome obstacle(bp_device_t &device,
                        std::span<const bp_timepoint_t> waits) {
  for (const bp_timepoint_t &at : waits)
    if (at.semaphore->failure.status != BP_STATUS_OK)
      return at.semaphore->failure;
  Outcome lost{BP_STATUS_UNAVAILABLE};
  return device.isLost(lost.message) ? lost : Outcome();
}

/// Whether the device can do all the waiting that is left.
static bool isReady(const bp_device_t &device,
                    std::span<const bp_timepoint_t> waits) {
  return std::all_of(waits.begin(), waits.end(), [&](const auto &at) {
    return settled(at) || promiseOf(device, at).queue;
  });
}

bool canStart(bp_queue_t &queue, std::span<const bp_timepoint_t> waits,
              const Lock &) {
  return queue.waiting.empty() && isReady(queue.device, waits) &&
         obstacle(queue.device, waits).status == BP_STATUS_OK;
}

// ---- What is held back ----

/// Moves the first submission of a queue on; false when it has to wait.
static bool advance(bp_queue_t &queue) {
  Submission &first = queue.waiting.front();
  first.failure = obstacle(queue.device, first.waits);
  if (first.failure.status == BP_STATUS_OK) {
    if (!isReady(queue.device, first.waits))
      return false;
    first.failure = queue.start(first);
    first.started = first.failure.status == BP_STATUS_OK;
  }
  queue.running.splice(queue.running.end(), queue.waiting,
                       queue.waiting.begin());
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

// ---- Submitting ----

bp_status_t refuseUnknown(const bp_device_t &device, Commands commands,
                          bp_error_t *error) {
  std::optional<uint32_t> unknown = unknownCommand(commands);
  return unknown ? lacks(device.driver, error,
                         "has no command of type " + std::to_string(*unknown))
                 : BP_STATUS_OK;
}

/// Whatever needs memory is made while nothing is locked.
static std::list<Submission> prepare(bp_queue_t &queue, const Terms &terms) {
  RecordingPool::List fresh;
  fresh.push_back(queue.device.makeRecording());
  std::list<Submission> one(1);
  Submission &made = one.front();
  made.waits.assign(terms.waits.begin(), terms.waits.end());
  made.signals.assign(terms.signals.begin(), terms.signals.end());
  made.completion = terms.completion;
  made.times = terms.times;
  bp_command_buffer_t *replayed = terms.replayed;
  Lock lock(queue.device.mutex);
  made.home = replayed ? &replayed->recordings : &queue.recordings;
  made.recording = replayed ? made.home->take(fresh, replayed->bound())
                            : made.home->take(fresh);
  return one;
}

bp_status_t submit(bp_queue_t &queue, Commands commands, const Terms &terms,
                   bp_error_t *error) {
  bp_device_t &device = queue.device;
  if (bp_status_t status = refuseUnknown(device, commands, error))
    return status;
  char lost[maxMessage];
  if (device.isLost(lost))
    return fail(device.driver, error, BP_STATUS_UNAVAILABLE, lost);
  std::list<Submission> one = prepare(queue, terms);
  Submission &submission = one.front();
  bp_status_t status = queue.record(submission, commands, terms, error);
  if (status != BP_STATUS_OK)
    queue.settle();
  Lock lock(device.mutex);
  if (status != BP_STATUS_OK) {
    submission.home->putBack(submission.recording);
    return status;
  }
  std::list<Submission> &to =
      submission.started ? queue.running : queue.waiting;
  to.splice(to.end(), one);
  queue.work.notify_one();
  advance(device, lock);
  return BP_STATUS_OK;
}

// ---- The end ----

/// How a submission went.
static Outcome judge(const Submission &submission) {
  Recording &recording = **submission.recording;
  Outcome outcome = recording.wait();
  if (outcome.status != BP_STATUS_OK)
    return outcome;
  if (submission.times)
    recording.readTimes(submission.times);
  return recording.firstError();
}

/// The failure of what the submission waited for on the device, if any: that is
/// done, but the other queue's thread may still have to say so.
static Outcome judgeWaits(bp_device_t &device, const Submission &submission,
                          Lock &lock) {
  for (const bp_timepoint_t &at : submission.waits) {
    device.changed.wait(lock, [&] { return settled(at); });
    if (at.semaphore->failure.status != BP_STATUS_OK)
      return at.semaphore->failure;
  }
  return {};
}

static void signal(const Submission &submission, const Outcome &outcome) {
  for (const bp_timepoint_t &at : submission.signals) {
    bp_semaphore_t &semaphore = *at.semaphore;
    if (outcome.status == BP_STATUS_OK)
      semaphore.value = std::max(semaphore.value, at.value);
    else if (semaphore.failure.status == BP_STATUS_OK)
      semaphore.failure = outcome;
  }
}

/// The outcome of the first of the running submissions.
static Outcome awaitFirst(bp_queue_t &queue, Lock &lock) {
  Submission &submission = queue.running.front();
  lock.unlock();
  if (!submission.started) {
    queue.settle();
    lock.lock();
    return submission.failure;
  }
  Outcome outcome = judge(submission);
  lock.lock();
  Outcome before = judgeWaits(queue.device, submission, lock);
  return before.status ? before : outcome;
}

void finishFirst(bp_queue_t &queue, Lock &lock) {
  Outcome outcome = awaitFirst(queue, lock);
  std::list<Submission> ended;
  ended.splice(ended.end(), queue.running, queue.running.begin());
  Submission &submission = ended.front();
  submission.home->putBack(submission.recording);
  signal(submission, outcome);
  queue.device.changed.notify_all();
  advance(queue.device, lock);
  lock.unlock();
  if (submission.completion.done)
    submission.completion.done(submission.completion.context, outcome.status,
                               {outcome.message, std::strlen(outcome.message)});
  ended.clear();
  lock.lock();
}

} // namespace backplane::gpu
