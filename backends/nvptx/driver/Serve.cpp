// SPDX-License-Identifier: Apache-2.0
#include "Serve.h"

#include <csignal>

namespace backplane::cuda {
namespace {

using Lock = std::unique_lock<std::mutex>;

Outcome kernelError(const Recording::KernelError &error) {
  uint32_t code = error.word >> 24, op = error.word & 0xFFFFFF;
  std::string what = "error " + std::to_string(code);
  if (code == BP_KERNEL_ERROR_INDEX)
    what = "an index is out of range";
  else if (code == BP_KERNEL_ERROR_DIVISION)
    what = "an integer is divided by zero";
  return {BP_STATUS_OUT_OF_RANGE,
          "op " + std::to_string(op ? op : error.op) + ": " + what};
}

/// How a submission went.
Outcome judge(bp_device_t &device, const Submission &submission) {
  CUresult result = submission.recording->wait();
  if (result) {
    std::string why = device.cuda.describe(result);
    if (isSticky(result))
      device.lose(why);
    return {statusOf(result), "the CUDA device failed: " + why};
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
                             {outcome.message.data(), outcome.message.size()});
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
