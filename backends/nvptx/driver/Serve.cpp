// SPDX-License-Identifier: Apache-2.0
#include "Serve.h"

#include <csignal>
#include <cstdio>
#include <cstring>
#include <span>
#include <string_view>

namespace backplane::cuda {
namespace {

using Lock = std::unique_lock<std::mutex>;

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
  CUresult result = submission.recording->wait();
  if (result) {
    Outcome outcome{statusOf(result)};
    constexpr std::string_view what = "the CUDA device failed: ";
    std::span<char> text = outcome.message;
    text = text.subspan(what.copy(text.data(), what.size()));
    device.cuda.describe(result, text);
    if (isSticky(result))
      device.lose(text.data());
    return outcome;
  }
  Recording::KernelError error = submission.recording->firstError();
  return error.word ? kernelError(error) : Outcome();
}

/// Ends the first of the running submissions.
void finishFirst(bp_queue_t &queue, Lock &lock) {
  Submission submission = queue.running.front();
  lock.unlock();
  Outcome outcome = judge(*queue.device, submission);
  if (submission.times && outcome.status == BP_STATUS_OK)
    submission.recording->readTimes(submission.times);
  lock.lock();
  queue.idle.push_back(submission.recording);
  queue.running.pop_front();
  lock.unlock();
  submission.completion.done(submission.completion.context, outcome.status,
                             {outcome.message, std::strlen(outcome.message)});
  lock.lock();
}

void *serve(void *self) {
  bp_queue_t &queue = *static_cast<bp_queue_t *>(self);
  Current current(*queue.device);
  Lock lock(queue.mutex);
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
