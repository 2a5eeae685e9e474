// SPDX-License-Identifier: Apache-2.0
//
// Queue.h: running programs on the host's thread pool, and semaphores, for
// which submissions wait.
#ifndef BACKPLANE_HOST_QUEUE_H
#define BACKPLANE_HOST_QUEUE_H

#include "PreparedCommands.h"

#include <deque>

namespace backplane::host {

struct CommandBuffer {
  PreparedCommands program;
};

struct Semaphore {
  Semaphore(Device &device, uint64_t initial)
      : device(device), current(initial) {}

  Result<uint64_t> value();
  Status signal(uint64_t value);
  Status wait(uint64_t value, uint64_t timeoutNs);

  Device &device;
  // Guarded by Timelines:
  uint64_t current;
  Status failure;
};

class Queue {
public:
  explicit Queue(Device &device) : device_(device) {}
  /// Fails the submissions that have not started, and waits for the others.
  ~Queue();
  Queue(const Queue &) = delete;
  Queue &operator=(const Queue &) = delete;

  Status execute(Commands commands, const Completion &completion);
  Status executeTimed(Commands commands, std::span<bp_timestamp_t> times,
                      const Completion &completion);
  Status execute(const CommandBuffer &commands,
                 std::span<const bp_binding_t> table,
                 const Completion &completion);
  Status submit(std::span<const bp_timepoint_t> waits,
                std::span<const bp_timepoint_t> signals, Commands commands);

  /// Runs the front submission; false when it has to wait. Timelines is locked.
  bool step(std::unique_lock<std::mutex> &lock);

private:
  /// A program that waits for timepoints.
  struct Submission {
    std::vector<bp_timepoint_t> waits, signals;
    PreparedCommands program;
  };

  /// Runs a program on the queue's scratch memory. Slot i is table[i]. With
  /// `times`, one for each step, the steps run one after the other and those
  /// that ran have theirs.
  Status play(const PreparedCommands &program, const bp_binding_t *table,
              bp_timestamp_t *times = nullptr);
  bool growWorkspace(uint64_t bytes);
  /// Waits until earlier submissions have run, running them on this thread
  /// where possible.
  void drain();
  bool isReady() const;
  void leave();

  Device &device_;
  PreparedCommands scratch_;        ///< of execute
  std::vector<uint8_t *> pointers_; ///< of the running program
  std::vector<int64_t> parameters_; ///< of the running program
  std::vector<uint32_t> errors_;    ///< an error word for each step
  void *workspace_ = nullptr;       ///< a slice for each worker
  uint64_t workspaceBytes_ = 0;     ///< of one slice
  // Guarded by Timelines:
  std::deque<Submission> waiting_;
  bool running_ = false; ///< a submission is
};

} // namespace backplane::host

#endif // BACKPLANE_HOST_QUEUE_H
