// SPDX-License-Identifier: Apache-2.0
//
// Submit.h: giving work to the stream of a queue, or holding it back.
#ifndef BACKPLANE_CUDA_SUBMIT_H
#define BACKPLANE_CUDA_SUBMIT_H

#include "Queue.h"

namespace backplane::cuda {

/// A command buffer that runs.
struct Replay {
  RecordingPool *recordings = nullptr; ///< null: it is none
  std::span<const CUdeviceptr> bound;  ///< the buffers in its slots
};

/// When a submission starts, and who is told of its end.
struct Terms {
  std::span<const bp_timepoint_t> waits, signals;
  bp_completion_t completion = {};
  bp_timestamp_t *times = nullptr;
  Replay replay = {};
};

/// Gives commands to a queue.
bp_status_t submit(bp_queue_t &queue, Commands commands, const Terms &terms,
                   bp_error_t *error);
/// Starts whatever need not be held back any more. Needs no memory.
void advance(bp_device_t &device, const Lock &lock);
/// Whether a timepoint is reached or failed, as the host was told.
bool settled(const bp_timepoint_t &at);
/// A failed call as an outcome; the device is lost if nothing runs on it any
/// more. Needs no memory.
Outcome outcomeOf(bp_device_t &device, CUresult result);

} // namespace backplane::cuda

#endif // BACKPLANE_CUDA_SUBMIT_H
