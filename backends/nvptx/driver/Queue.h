// SPDX-License-Identifier: Apache-2.0
//
// Queue.h: a queue is a stream of CUDA, in which commands run one after
// another. A submission that waits for another stream starts behind that one's
// event. What is held back is a graph already, so that starting it needs no
// memory.
#ifndef BACKPLANE_CUDA_QUEUE_H
#define BACKPLANE_CUDA_QUEUE_H

#include "Recording.h"

namespace backplane::cuda {

struct Queue final : bp_queue_t {
  explicit Queue(Device &device) : bp_queue_t(device) {}
  ~Queue() override;
  CUresult makeStreams();

  bp_status_t record(gpu::Submission &submission, Commands commands,
                     const gpu::Terms &terms, bp_error_t *error) override;
  gpu::Outcome start(const gpu::Submission &submission) override;
  void settle() override;
  void serve() override;

  CUstream stream = nullptr;
  CUstream capture = nullptr; ///< makes graphs, runs nothing

private:
  CUresult startAtOnce(gpu::Submission &submission);
  CUresult fill(Recording &recording, Commands commands,
                const gpu::Terms &terms, bool now, bp_error_t *error);
  CUresult await(std::span<const bp_timepoint_t> waits);
};

} // namespace backplane::cuda

#endif // BACKPLANE_CUDA_QUEUE_H
