// SPDX-License-Identifier: Apache-2.0
//
// Queue.h: queues, their submissions and the thread that waits for them.
//
// A queue is a stream of CUDA, in which commands run one after another. A
// semaphore is a number on the host: its value and its failure are those that
// the host was told. A submission that waits for what a stream was given starts
// behind that stream's event. It is held back on the host while nobody has
// promised to signal yet, so that streams cannot block each other, and while
// that work may fail, as nothing that waits for it may run then. What is held
// back is a graph already, so that starting it needs no memory.
#ifndef BACKPLANE_CUDA_QUEUE_H
#define BACKPLANE_CUDA_QUEUE_H

#include "Recording.h"

#include <pthread.h>

namespace backplane::cuda {

using Lock = std::unique_lock<std::mutex>;

/// The outcome of a submission.
struct Outcome {
  bp_status_t status = BP_STATUS_OK;
  char message[maxMessage] = "";
};

struct Submission {
  RecordingPool *home; ///< where the recording goes when it is done
  RecordingPool::Place recording;
  std::vector<bp_timepoint_t> waits;
  std::vector<bp_timepoint_t> signals;
  bp_completion_t completion = {}; ///< `done` null: nobody is told
  bp_timestamp_t *times = nullptr; ///< to be filled in, or null
  bool mayFail = false;            ///< has kernels, which report errors
  bool timed = false;              ///< has marks of time
  bool started = false;            ///< is in the stream
  Outcome failure;                 ///< why it was not started
};

} // namespace backplane::cuda

struct bp_queue_t {
  bp_device_t *device;
  CUstream stream = nullptr;
  CUstream capture = nullptr; ///< makes graphs, runs nothing
  pthread_t thread;
  // Guarded by the device:
  backplane::cuda::RecordingPool recordings;
  std::list<backplane::cuda::Submission> waiting; ///< held back
  std::list<backplane::cuda::Submission> running;
  std::condition_variable work; ///< something runs, or the queue ends
  bool ending = false;
};

struct bp_semaphore_t {
  uint64_t value;
  backplane::cuda::Outcome failure;
};

#endif // BACKPLANE_CUDA_QUEUE_H
