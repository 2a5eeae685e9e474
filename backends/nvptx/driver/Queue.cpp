// SPDX-License-Identifier: Apache-2.0
#include "Queue.h"

#include <new>

namespace backplane::cuda {

Queue::~Queue() {
  const Cuda &cuda = of(device).cuda;
  recordings.idle.clear();
  Current current(of(device));
  for (CUstream made : {capture, stream})
    if (made)
      cuda.cuStreamDestroy(made);
}

CUresult Queue::makeStreams() {
  const Cuda &cuda = of(device).cuda;
  Current current(of(device));
  CUresult result = cuda.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  return result ? result
                : cuda.cuStreamCreate(&capture, CU_STREAM_NON_BLOCKING);
}

/// Has the stream wait.
CUresult Queue::await(std::span<const bp_timepoint_t> waits) {
  CUresult result = CUDA_SUCCESS;
  for (const bp_timepoint_t &at : waits)
    if (const gpu::Recording *other = gpu::awaited(*this, at); other && !result)
      result = of(device).cuda.cuStreamWaitEvent(
          stream, static_cast<const Recording *>(other)->done(), 0);
  return result;
}

gpu::Outcome Queue::start(const gpu::Submission &submission) {
  Current current(of(device));
  CUresult result = await(submission.waits);
  if (!result)
    result = static_cast<Recording &>(**submission.recording).launch(stream);
  return result ? of(device).outcomeOf(result) : gpu::Outcome();
}

/// Whether the commands go to the stream at once, which then waits.
CUresult Queue::startAtOnce(gpu::Submission &submission) {
  gpu::Lock lock(device.mutex);
  submission.started = gpu::canStart(*this, submission.waits, lock);
  return submission.started ? await(submission.waits) : CUDA_SUCCESS;
}

/// Puts the commands into the stream or into a graph.
CUresult Queue::fill(Recording &recording, Commands commands,
                     const gpu::Terms &terms, bool now, bp_error_t *error) {
  if (!terms.replayed)
    return now ? recording.play(stream, commands, terms.times, error)
               : recording.capture(capture, commands, {}, error);
  std::span<const uint64_t> bound = terms.replayed->bound();
  CUresult result = CUDA_SUCCESS;
  if (recording.holds(bound))
    recording.rewind();
  else
    result = recording.capture(capture, commands, bound, error);
  return now && !result ? recording.launch(stream) : result;
}

bp_status_t Queue::record(gpu::Submission &submission, Commands commands,
                          const gpu::Terms &terms, bp_error_t *error) {
  auto &recording = static_cast<Recording &>(**submission.recording);
  Current current(of(device));
  CUresult result = startAtOnce(submission);
  if (!result)
    result = fill(recording, commands, terms, submission.started, error);
  if (recording.refusal())
    return recording.refusal();
  return result ? of(device).fail(error, result, "cannot run commands")
                : BP_STATUS_OK;
}

/// What was put into the stream before a failure is done when the recording
/// can be used again.
void Queue::settle() {
  Current current(of(device));
  of(device).cuda.cuStreamSynchronize(stream);
}

void Queue::serve() {
  Current current(of(device));
  bp_queue_t::serve();
}

bp_status_t Device::makeQueue(std::unique_ptr<bp_queue_t> &out,
                              bp_error_t *error) {
  std::unique_ptr<Queue> queue(new (std::nothrow) Queue(*this));
  if (!queue)
    return outOfMemory(driver, error);
  if (CUresult result = queue->makeStreams())
    return fail(error, result, "cannot create a queue");
  out = std::move(queue);
  return BP_STATUS_OK;
}

std::unique_ptr<gpu::Recording> Device::makeRecording() {
  return std::make_unique<Recording>(*this);
}

} // namespace backplane::cuda
