// SPDX-License-Identifier: Apache-2.0
//
// Work.h: memory and queues of a fixture. Each buffer knows what it should
// hold, so that a check says what it does and the model says what must come
// out.
#ifndef BACKPLANE_CONFORMANCE_PLUGIN_WORK_H
#define BACKPLANE_CONFORMANCE_PLUGIN_WORK_H

#include "Fixture.h"

#include <condition_variable>
#include <deque>
#include <variant>

namespace backplane::checks {

using Bytes = std::vector<uint8_t>;

/// Bytes that differ from place to place and from seed to seed.
Bytes noise(uint64_t size, uint64_t seed);

/// Memory of the device, freed with this object.
class Buffer {
public:
  Buffer(Fixture &fixture, uint64_t size, uint32_t space = BP_SPACE_DEVICE,
         uint64_t alignment = 64);
  /// Over memory of the caller, by "backplane.memory2".
  Buffer(Fixture &fixture, uint8_t *memory, uint64_t size, bool readOnly);
  ~Buffer();
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;

  bp_buffer_t *handle() const { return handle_; }
  uint64_t size() const { return size_; }
  bool exists() const { return exists_; }
  /// Host pointer, or null when the driver has none.
  uint8_t *map();

  void write(uint64_t offset, std::span<const uint8_t> data);
  Bytes read(uint64_t offset, uint64_t size);
  /// Writes noise everywhere.
  void fill(uint64_t seed);
  /// Complains unless all bytes are as in `model`.
  void expect(const std::string &what);

  Bytes model; ///< what it holds once all work is done

private:
  Fixture &fixture_;
  uint64_t size_;
  bp_buffer_t *handle_ = nullptr;
  bool exists_ = false;
};

/// A part of a buffer.
struct Range {
  Buffer *buffer = nullptr;
  uint64_t offset = 0, length = 0;
};

/// A dispatch; the model of its buffers does not know what it does.
struct Dispatch {
  bp_executable_t *executable = nullptr;
  uint32_t entry = 0, op = 0;
  uint32_t grid[3] = {1, 1, 1};
  uint64_t workspaceBytes = 0;
  std::vector<Range> bindings;
  std::vector<uint32_t> constants;
  std::vector<int64_t> parameters;
  uint64_t sharedBytes = 0;
  uint32_t cluster[3] = {1, 1, 1};
};

/// A list of commands over buffers.
class Commands {
public:
  Commands &dispatch(Dispatch dispatch);
  Commands &fill(Buffer &target, uint64_t offset, uint64_t length,
                 uint32_t pattern, uint32_t width);
  Commands &copy(Buffer &source, uint64_t from, Buffer &target, uint64_t to,
                 uint64_t length);
  Commands &barrier();
  /// Those of another list, after these.
  Commands &append(const Commands &other);

  /// Does to the models what the commands do to the buffers.
  void apply() const;

  /// The C form. `slots`: bindings name slots, to be run with `table`.
  struct Built {
    std::deque<bp_command_fill_t> fills;
    std::deque<bp_command_copy_t> copies;
    std::deque<bp_command_barrier_t> barriers;
    std::deque<bp_command_dispatch_t> dispatches;
    std::deque<std::vector<bp_binding_t>> bindings;
    std::deque<std::vector<uint32_t>> constants;
    std::deque<std::vector<int64_t>> parameters;
    std::vector<const bp_header_t *> list;
    std::vector<bp_binding_t> table;
    /// Makes rubbish of it: a driver must not look at it any more.
    void poison();
  };
  Built build(bool slots = false, uint64_t alignment = 1) const;

private:
  struct Fill {
    Range target;
    uint32_t pattern, width;
  };
  struct Copy {
    Range source, target;
  };
  struct Barrier {};
  class Binder;
  static void addDispatch(const Dispatch &dispatch, const Binder &bind,
                          Built &built);
  std::vector<std::variant<Fill, Copy, Barrier, Dispatch>> commands_;
};

/// Receives one completion. When it is destroyed nobody is going to complete
/// it.
class Done {
public:
  Done() = default;
  ~Done();
  Done(const Done &) = delete;
  Done &operator=(const Done &) = delete;

  bp_completion_t completion();
  /// The work was started: the completion will come.
  void expect(Trial &trial);
  /// Waits for it and returns what it says; abandons the check when it does not
  /// come.
  Status wait(const Fixture &fixture);
  bool arrived() const;
  unsigned count() const; ///< more than one is a fault

private:
  void await(Trial &trial, std::unique_lock<std::mutex> &lock);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Trial *trial_ = nullptr; ///< once it is expected
  unsigned count_ = 0;
  Status status_;
};

/// A timeline of the driver. A fixture without that table makes the trial
/// NotSupported.
class Timeline {
public:
  Timeline(Fixture &fixture, uint64_t initial);
  ~Timeline();
  Timeline(const Timeline &) = delete;
  Timeline &operator=(const Timeline &) = delete;

  bp_semaphore_t *handle() const { return handle_; }
  Status query(uint64_t &value) const;
  Status signal(uint64_t value) const;
  Status wait(uint64_t value, uint64_t timeoutNs) const;
  /// Waits long; complains when the value is not reached.
  void expectReached(uint64_t value) const;
  void expectValue(uint64_t value) const;

private:
  Fixture &fixture_;
  bp_semaphore_t *handle_ = nullptr;
  bool exists_ = false;
};

/// The ways in which commands reach a driver.
enum class How { Execute, Record, Slots, Submit };
inline constexpr How allWays[] = {How::Execute, How::Record, How::Slots,
                                  How::Submit};
const char *name(How how);

class Queue {
public:
  explicit Queue(Fixture &fixture, uint32_t queueClass = BP_QUEUE_COMPUTE);
  ~Queue();
  Queue(const Queue &) = delete;
  Queue &operator=(const Queue &) = delete;

  bp_queue_t *handle() const { return handle_; }
  /// Runs commands, waits, and brings the models up to date. A way that the
  /// driver does not have makes the trial NotSupported.
  void run(const Commands &commands, How how = How::Execute);
  /// Runs commands and returns what they came to; nothing is complained about
  /// but a missing completion.
  Status outcome(const Commands &commands, How how = How::Execute);
  /// The same of one command, which may be one that Commands does not know.
  Status outcome(const bp_header_t *command);
  /// queue_execute, not waited for; the models are brought up to date unless
  /// the caller has seen to it.
  void start(const Commands &commands, Done &done, bool apply = true);
  void submit(std::span<const bp_timepoint_t> waits,
              std::span<const bp_timepoint_t> signals,
              const Commands &commands);

private:
  void runRecorded(const Commands &commands, bool slots);
  void runSubmitted(const Commands &commands);
  Status submittedOutcome(const Commands &commands);
  /// queue_execute alone.
  Status send(std::span<const bp_header_t *const> commands, Done &done);

  Fixture &fixture_;
  bp_queue_t *handle_ = nullptr;
  bool exists_ = false;
};

/// A command buffer of the driver.
class Recorded {
public:
  Recorded(Fixture &fixture, const Commands &commands, bool slots);
  ~Recorded();
  Recorded(const Recorded &) = delete;
  Recorded &operator=(const Recorded &) = delete;

  /// Runs it with the table that it was recorded for, or with another.
  void start(Queue &queue, Done &done) { start(queue, table_, done); }
  void start(Queue &queue, std::span<const bp_binding_t> table, Done &done);
  void run(Queue &queue);

private:
  Fixture &fixture_;
  std::vector<bp_binding_t> table_;
  bp_command_buffer_t *handle_ = nullptr;
  bool exists_ = false;
};

} // namespace backplane::checks

#endif // BACKPLANE_CONFORMANCE_PLUGIN_WORK_H
