// SPDX-License-Identifier: Apache-2.0
//
// Queue.h: running programs on the host's thread pool.
#ifndef BACKPLANE_HOST_QUEUE_H
#define BACKPLANE_HOST_QUEUE_H

#include "PreparedCommands.h"

#include <deque>

namespace backplane::host {

/// A program that waits for timepoints.
struct Submission {
  std::vector<bp_timepoint_t> waits;
  std::vector<bp_timepoint_t> signals;
  PreparedCommands program;
};

/// The outcome of running a program.
struct Outcome {
  bp_status_t status = BP_STATUS_OK;
  std::string message;
};

} // namespace backplane::host

struct bp_command_buffer_t {
  backplane::host::PreparedCommands program;
};

struct bp_queue_t {
  bp_device_t *device;
  backplane::host::PreparedCommands scratch; ///< of queue_execute
  std::vector<uint8_t *> pointers;           ///< of the running program
  std::vector<int64_t> parameters;           ///< of the running program
  std::vector<uint32_t> errors;              ///< an error word for each step
  void *workspace = nullptr;                 ///< a slice for each worker
  uint64_t workspaceBytes = 0;               ///< of one slice
  std::deque<backplane::host::Submission> waiting; ///< guarded by Timelines
  bool running = false; ///< a submission is; guarded by Timelines
};

namespace backplane::host {

/// Makes a program of commands; refuses unknown ones.
bp_status_t translate(const Driver &driver, PreparedCommands &program,
                      const bp_header_t *const *commands, uint64_t count,
                      bp_error_t *error);

/// Runs a program on the queue's scratch memory. Slot i is table[i]. With
/// `times`, one for each step, the steps run one after the other and those that
/// ran have theirs.
Outcome run(bp_queue_t &queue, const PreparedCommands &program,
            const bp_binding_t *table, bp_timestamp_t *times = nullptr);

/// Waits until earlier submissions with timepoints have run, running them on
/// this thread where possible.
void drain(bp_queue_t &queue);

/// Fails the submissions that have not started, and waits for the others.
void cancel(bp_queue_t &queue);

} // namespace backplane::host

#endif // BACKPLANE_HOST_QUEUE_H
