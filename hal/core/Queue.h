// SPDX-License-Identifier: Apache-2.0
//
// Queue.h: where work is handed to a device, at once or recorded first.
// Everything is validated here, before the driver sees it; recorded commands
// are validated once, so that running them again costs next to nothing.
#ifndef BACKPLANE_CORE_QUEUE_H
#define BACKPLANE_CORE_QUEUE_H

#include "backplane/cpp/Result.h"
#include "hal/core/Command.h"
#include "hal/core/Semaphore.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace backplane {

class Device;
struct CommandList;

/// Commands in the form that a driver takes, validated, with what they use
/// kept alive. Made by Device::record. Immutable, may run on several queues of
/// its device at once unless the work itself forbids it.
class CommandBuffer {
public:
  ~CommandBuffer();
  CommandBuffer(const CommandBuffer &) = delete;
  CommandBuffer &operator=(const CommandBuffer &) = delete;

  /// Number of slots that a table must have: the highest one used, plus one.
  size_t slotCount() const;
  /// Bytes that the commands reach from the start of a slot.
  uint64_t slotExtent(size_t slot) const;

private:
  friend class Device;
  friend class Queue;
  CommandBuffer(std::shared_ptr<Device> device,
                std::unique_ptr<CommandList> list);
  std::shared_ptr<Device> device_;
  std::unique_ptr<CommandList> list_;
  bp_command_buffer_t *handle_ = nullptr; ///< null: the host keeps commands
};

/// Work that was started. The caller owns it and keeps it where it is until
/// the work is done; the destructor waits.
class Pending {
public:
  Pending() = default;
  ~Pending();
  Pending(const Pending &) = delete;
  Pending &operator=(const Pending &) = delete;

  /// Whether the work is done or has failed. True when none was started.
  bool done() const;
  /// Waits for the work, running posted work of the host meanwhile, and gives
  /// its outcome.
  Status wait();
  /// Called once with the outcome when the work is done or has failed, before
  /// done() and wait() say so, on the thread that finds out, and quick; to be
  /// set before the work is started.
  void whenDone(std::function<void(const Status &)> callback) {
    whenDone_ = std::move(callback);
  }

private:
  friend class Queue;
  static void complete(void *self, bp_status_t status, bp_string_t message);
  bp_completion_t completion() { return {&Pending::complete, this}; }
  void begin(Device &device, std::shared_ptr<const void> work);
  void cancel();

  enum State : uint32_t { Idle, Running, Done };
  std::atomic<uint32_t> state_{Idle};
  Device *device_ = nullptr;
  std::shared_ptr<const void> work_; ///< what the running commands use
  bp_status_t code_ = BP_STATUS_OK;
  std::string message_;
  std::function<void(const Status &)> whenDone_;
};

/// Made by Device::createQueue. Thread-safe; work runs in order of the calls.
/// What has not started when the queue is destroyed is cancelled.
class Queue : public std::enable_shared_from_this<Queue> {
public:
  ~Queue();
  Queue(const Queue &) = delete;
  Queue &operator=(const Queue &) = delete;

  /// Validates and runs commands, and waits for them.
  Status run(std::span<const Command> commands);
  /// Runs recorded commands with these slots, and waits for them.
  Status run(const CommandBuffer &commands,
             std::span<const SlotBinding> table = {});

  /// The same without waiting: `pending` tells when the work is done. Where the
  /// driver works on its caller's thread, a thread of the host calls it, or
  /// whoever waits. With `callerWaits` the caller is going to wait at once, so
  /// that such a driver may work on this thread, which is cheaper. On a failure
  /// nothing was started.
  Status start(std::span<const Command> commands, Pending &pending);
  Status start(const CommandBuffer &commands,
               std::span<const SlotBinding> table, Pending &pending,
               bool callerWaits = false);

  /// Runs commands once all `waits` are reached and then raises all `signals`;
  /// a failure of a wait or of the work travels into the signals. Returns
  /// without waiting.
  Status submit(std::span<const Timepoint> waits,
                std::span<const Timepoint> signals,
                std::span<const Command> commands);

  const Device &device() const { return *device_; }
  bp_queue_t *handle() const { return handle_; }

private:
  friend class Device;
  struct Submission;
  Queue(std::shared_ptr<Device> device, bp_queue_t *handle);
  Status prepare(std::span<const Command> commands,
                 std::shared_ptr<const CommandList> &list) const;
  Status prepare(const CommandBuffer &commands,
                 std::span<const SlotBinding> table,
                 std::shared_ptr<const CommandList> &list) const;
  Status execute(const std::shared_ptr<const CommandList> &list,
                 const bp_completion_t &completion);
  Status executeTraced(class Trace &trace,
                       std::shared_ptr<const CommandList> list,
                       const bp_completion_t &completion);
  Status executeTimed(class Trace &trace,
                      std::shared_ptr<const CommandList> list,
                      const bp_completion_t &completion);
  Status replay(const CommandBuffer &commands,
                std::span<const SlotBinding> table,
                const bp_completion_t &completion);
  bool synchronous() const;
  void enqueue(std::shared_ptr<Submission> submission);
  Status submitNative(std::shared_ptr<Submission> submission);
  void waitForTurn();
  void pump();
  bool ready(const std::shared_ptr<Submission> &submission, Status &failure);
  void launch(const std::shared_ptr<Submission> &submission);
  void wakeLater();

  std::shared_ptr<Device> device_;
  bp_queue_t *handle_;
  std::string name_;   ///< "queue 3", for traces
  std::mutex execute_; ///< serialises calls of the driver
  /// What the driver may still be working on; guarded by execute_.
  std::vector<std::shared_ptr<Submission>> native_;
  std::mutex mutex_; ///< guards the members below
  std::condition_variable drained_;
  std::deque<std::shared_ptr<Submission>> waiting_;
  bool pumping_ = false;
};

} // namespace backplane

#endif // BACKPLANE_CORE_QUEUE_H
