// SPDX-License-Identifier: Apache-2.0
//
// Queue.h: queues, their submissions and the thread that waits for them.
//
// A semaphore is a number on the host: its value and its failure are those that
// the host was told. A submission that waits for what another queue was given
// waits on the device. It is held back on the host while nobody has promised to
// signal yet, so that queues which share one of the device's cannot block each
// other, and while that work may fail, as nothing that waits for it may run
// then. What is held back is recorded already.
#ifndef BACKPLANE_GPU_QUEUE_H
#define BACKPLANE_GPU_QUEUE_H

#include "CommandBuffer.h"

#include <pthread.h>

namespace backplane::gpu {

using Lock = std::unique_lock<std::mutex>;

/// When a submission starts, and who is told of its end.
struct Terms {
  std::span<const bp_timepoint_t> waits, signals;
  bp_completion_t completion = {};
  bp_timestamp_t *times = nullptr;
  bp_command_buffer_t *replayed = nullptr; ///< what runs, if it is one
};

struct Submission {
  RecordingPool *home; ///< where the recording goes when it is done
  RecordingPool::Place recording;
  std::vector<bp_timepoint_t> waits;
  std::vector<bp_timepoint_t> signals;
  bp_completion_t completion = {}; ///< `done` null: nobody is told
  bp_timestamp_t *times = nullptr; ///< to be filled in, or null
  bool started = false;            ///< the device has it
  Outcome failure;                 ///< why it was not started
};

} // namespace backplane::gpu

struct bp_semaphore_t {
  uint64_t value;
  backplane::gpu::Outcome failure;
};

struct bp_queue_t {
  explicit bp_queue_t(bp_device_t &device) : device(device) {}
  virtual ~bp_queue_t() = default;
  bp_queue_t(const bp_queue_t &) = delete;
  bp_queue_t &operator=(const bp_queue_t &) = delete;

  /// Records the commands, unless the recording of a command buffer holds
  /// them. What need not wait may be started at once.
  virtual bp_status_t record(backplane::gpu::Submission &submission,
                             backplane::gpu::Commands commands,
                             const backplane::gpu::Terms &terms,
                             bp_error_t *error) = 0;
  /// Gives a recorded submission to the device, which does the waiting that is
  /// left. Called with the device locked; needs no memory of the host where
  /// the device's API needs none.
  virtual backplane::gpu::Outcome
  start(const backplane::gpu::Submission &submission) = 0;
  /// Returns when nothing is left on the device of what failed to start.
  virtual void settle() {}
  /// What the queue's thread does: it waits for submissions and tells the
  /// host. It computes nothing and never polls.
  virtual void serve();

  bp_device_t &device;
  pthread_t thread;
  // Guarded by the device:
  backplane::gpu::RecordingPool recordings;
  std::list<backplane::gpu::Submission> waiting; ///< held back
  std::list<backplane::gpu::Submission> running;
  std::condition_variable work; ///< something runs, or the queue ends
  bool ending = false;
};

namespace backplane::gpu {

/// Whether a timepoint is reached or failed, as the host was told.
bool settled(const bp_timepoint_t &at);
/// What the device runs in another queue and has to be done before a submission
/// to this one that waits for a timepoint. Null: there is nothing to wait for;
/// work of the same queue is done in order.
const Recording *awaited(const bp_queue_t &queue, const bp_timepoint_t &at);
/// Whether a new submission to the queue can start now.
bool canStart(bp_queue_t &queue, std::span<const bp_timepoint_t> waits,
              const Lock &lock);

/// Gives commands to a queue.
bp_status_t submit(bp_queue_t &queue, Commands commands, const Terms &terms,
                   bp_error_t *error);
/// Starts whatever need not be held back any more.
void advance(bp_device_t &device, const Lock &lock);
/// Waits for the first of the running submissions and tells of its end.
void finishFirst(bp_queue_t &queue, Lock &lock);
bp_status_t refuseUnknown(const bp_device_t &device, Commands commands,
                          bp_error_t *error);

extern const bp_queue_table_t queueTable;
extern const bp_semaphore_table_t semaphoreTable;
extern const bp_timestamps_table_t timestampsTable;

} // namespace backplane::gpu

#endif // BACKPLANE_GPU_QUEUE_H
