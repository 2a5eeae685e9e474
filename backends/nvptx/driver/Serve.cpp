// SPDX-License-Identifier: Apache-2.0
#include "Serve.h"
#include "Submit.h"

#include <csignal>
#include <cstdio>
#include <cstring>

namespace backplane::cuda {
namespace {

Outcome kernelError(const Recording::KernelError &error) {
  uint32_t code = error.word >> 24, op = error.word & 0xFFFFFF;
  const char *what = code == BP_KERNEL_ERROR_INDEX ? "an index is out of range"
                     : code == BP_KERNEL_ERROR_DIVISION
                         ? "an integer is divided by zero"
                         : "the kernel reports an unknown error";
  Outcome outcome{BP_STATUS_OUT_OF_RANGE};
  std::snprintf(outcome.message, sizeof outcome.message, "op %u: %s",
                op ? op : error.op, what);
  return outcome;
}

/// How a submission went. Nothing here needs memory: there may be none, and a
/// thread of the driver has nobody who catches what `new` throws.
Outcome judge(bp_device_t &device, const Submission &submission) {
  if (CUresult result = submission.recording->wait())
    return outcomeOf(device, result);
  Recording::KernelError error = submission.recording->firstError();
  return error.word ? kernelError(error) : Outcome();
}

/// The failure of what the submission waited for on the device, if any: that is
/// done, but the other queue's thread may still have to say so.
Outcome judgeWaits(bp_device_t &device, const Submission &submission,
                   Lock &lock) {
  for (const bp_timepoint_t &at : submission.waits) {
    device.changed.wait(lock, [&] { return settled(at); });
    if (at.semaphore->failure.status != BP_STATUS_OK)
      return at.semaphore->failure;
  }
  return {};
}

void signal(const Submission &submission, const Outcome &outcome) {
  for (const bp_timepoint_t &at : submission.signals) {
    bp_semaphore_t &semaphore = *at.semaphore;
    if (outcome.status == BP_STATUS_OK)
      semaphore.value = std::max(semaphore.value, at.value);
    else if (semaphore.failure.status == BP_STATUS_OK)
      semaphore.failure = outcome;
  }
}

/// The outcome of the first of the running submissions.
Outcome awaitFirst(bp_queue_t &queue, Lock &lock) {
  bp_device_t &device = *queue.device;
  Submission &submission = queue.running.front();
  if (!submission.started) {
    // A part of it may be in the stream.
    lock.unlock();
    device.cuda.cuStreamSynchronize(queue.stream);
    lock.lock();
    return submission.failure;
  }
  lock.unlock();
  Outcome outcome = judge(device, submission);
  if (submission.timed && outcome.status == BP_STATUS_OK)
    submission.recording->readTimes(submission.times);
  lock.lock();
  Outcome before = judgeWaits(device, submission, lock);
  return before.status ? before : outcome;
}

/// Ends the first of the running submissions.
void finishFirst(bp_queue_t &queue, Lock &lock) {
  Outcome outcome = awaitFirst(queue, lock);
  std::list<Submission> ended;
  ended.splice(ended.end(), queue.running, queue.running.begin());
  Submission &submission = ended.front();
  submission.home->putBack(submission.recording);
  signal(submission, outcome);
  queue.device->changed.notify_all();
  advance(*queue.device, lock);
  lock.unlock();
  if (submission.completion.done)
    submission.completion.done(submission.completion.context, outcome.status,
                               {outcome.message, std::strlen(outcome.message)});
  ended.clear();
  lock.lock();
}

void *serve(void *self) {
  bp_queue_t &queue = *static_cast<bp_queue_t *>(self);
  Current current(*queue.device);
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

} // namespace backplane::cuda
