// SPDX-License-Identifier: Apache-2.0
//
// Queue.h: queues, their submissions and the thread that waits for them. A
// queue is a stream of CUDA, in which commands run one after another.
#ifndef BACKPLANE_CUDA_QUEUE_H
#define BACKPLANE_CUDA_QUEUE_H

#include "Recording.h"

#include <condition_variable>
#include <deque>
#include <pthread.h>

namespace backplane::cuda {

/// The outcome of a submission.
struct Outcome {
  bp_status_t status = BP_STATUS_OK;
  char message[maxMessage] = "";
};

struct Submission {
  Recording *recording = nullptr;
  bp_completion_t completion = {};
  bp_timestamp_t *times = nullptr; ///< to be filled in, or null
};

} // namespace backplane::cuda

struct bp_queue_t {
  bp_device_t *device;
  CUstream stream = nullptr;
  pthread_t thread;
  std::mutex mutex; ///< guards what follows
  std::vector<std::unique_ptr<backplane::cuda::Recording>> recordings;
  std::vector<backplane::cuda::Recording *> idle; ///< of them
  std::deque<backplane::cuda::Submission> running;
  std::condition_variable work; ///< something runs, or the queue ends
  bool ending = false;
};

#endif // BACKPLANE_CUDA_QUEUE_H
