// SPDX-License-Identifier: Apache-2.0
//
// TracedQueue.cpp: how a queue hands commands to a driver while a trace is on.
// A driver with the table "backplane.timestamps" says itself when each command
// ran. Any other gets one command at a time and the host looks at its clock, so
// that commands which would overlap run one after the other.
#include "hal/core/CommandList.h"
#include "hal/core/Device.h"
#include "hal/core/Error.h"
#include "hal/core/Queue.h"
#include "hal/core/Tables.h"
#include "hal/core/Trace.h"

namespace backplane {
namespace {

/// Bytes that a dispatch may touch: all of its bindings.
uint64_t bytesOf(const bp_command_dispatch_t &dispatch) {
  uint64_t bytes = 0;
  for (uint64_t i = 0; i < dispatch.binding_count; ++i)
    bytes += dispatch.bindings[i].length;
  return bytes;
}

std::string gridText(const bp_command_dispatch_t &dispatch) {
  return std::to_string(dispatch.grid[0]) + " x " +
         std::to_string(dispatch.grid[1]) + " x " +
         std::to_string(dispatch.grid[2]);
}

/// Writes the span of one command; barriers have none.
class SpanWriter {
public:
  SpanWriter(Trace &trace, Trace::Track track, const CommandNotes *notes,
             std::string_view clock)
      : trace_(trace), track_(track), notes_(notes), clock_(clock) {}

  void write(const bp_header_t *command, uint64_t begin, uint64_t end) {
    TraceArguments arguments;
    const void *raw = command;
    if (command->type == bp_command_dispatch_t_TYPE)
      return writeDispatch(*static_cast<const bp_command_dispatch_t *>(raw),
                           begin, end);
    if (command->type == bp_command_copy_t_TYPE)
      arguments.add("bytes",
                    static_cast<const bp_command_copy_t *>(raw)->source.length);
    else if (command->type == bp_command_fill_t_TYPE)
      arguments.add("bytes",
                    static_cast<const bp_command_fill_t *>(raw)->target.length);
    else
      return;
    bool copy = command->type == bp_command_copy_t_TYPE;
    arguments.add("clock", clock_);
    trace_.span(track_, copy ? "copy" : "fill", "copy", begin, end, arguments);
  }

private:
  void writeDispatch(const bp_command_dispatch_t &dispatch, uint64_t begin,
                     uint64_t end) {
    const CommandNote *note =
        notes_ && dispatch.op && dispatch.op <= notes_->size()
            ? &(*notes_)[dispatch.op - 1]
            : nullptr;
    TraceArguments arguments;
    arguments.add("op", uint64_t(dispatch.op));
    if (note && !note->kernel.empty())
      arguments.add("kernel", note->kernel);
    if (note && !note->ops.empty())
      arguments.add("ops", note->ops);
    arguments.add("grid", gridText(dispatch));
    arguments.add("bytes", bytesOf(dispatch));
    if (note && note->flops)
      arguments.add("flops", *note->flops);
    arguments.add("clock", clock_);
    trace_.span(track_, note ? note->name : "op " + std::to_string(dispatch.op),
                "dispatch", begin, end, arguments);
  }

  Trace &trace_;
  Trace::Track track_;
  const CommandNotes *notes_;
  std::string_view clock_;
};

/// Waits for one command.
struct One {
  std::atomic<uint32_t> done{0};
  bp_status_t code = BP_STATUS_OK;
  std::string message;

  static void complete(void *self, bp_status_t code, bp_string_t message) {
    constexpr uint64_t maxBytes = 4096;
    One &one = *static_cast<One *>(self);
    one.code = code;
    if (code != BP_STATUS_OK && message.size <= maxBytes)
      one.message = view(message);
    one.done.store(1, std::memory_order_release);
    one.done.notify_all();
  }
};

/// What a driver that tells the times works on.
struct Timed {
  SpanWriter writer;
  std::shared_ptr<const CommandList> list;
  std::vector<bp_timestamp_t> times;
  bp_completion_t completion;

  static void complete(void *self, bp_status_t code, bp_string_t message) {
    std::unique_ptr<Timed> timed(static_cast<Timed *>(self));
    for (size_t i = 0; i < timed->times.size(); ++i)
      if (timed->times[i].begin_ns)
        timed->writer.write(timed->list->commands[i], timed->times[i].begin_ns,
                            timed->times[i].end_ns);
    timed->completion.done(timed->completion.context, code, message);
  }
};

} // namespace

Status Queue::executeTimed(Trace &trace,
                           std::shared_ptr<const CommandList> list,
                           const bp_completion_t &completion) {
  const auto &commands = list->commands;
  SpanWriter writer(trace, trace.track(device_->uri(), name_),
                    list->notes.get(), "device");
  // Belongs to `complete`, unless the driver refuses the call.
  Timed *timed =
      std::make_unique<Timed>(
          Timed{writer, std::move(list),
                std::vector<bp_timestamp_t>(commands.size()), completion})
          .release();
  bp_completion_t done = {&Timed::complete, timed};
  Status status = device_->noted(callPlugin(
      "queue_execute_timed", device_->tables().timestamps.queue_execute_timed,
      handle_, commands.data(), uint64_t(commands.size()), timed->times.data(),
      static_cast<const bp_completion_t *>(&done)));
  if (!status.ok())
    std::unique_ptr<Timed>{timed}.reset();
  return status;
}

Status Queue::executeTraced(Trace &trace,
                            std::shared_ptr<const CommandList> list,
                            const bp_completion_t &completion) {
  std::lock_guard lock(execute_);
  if (device_->tables().hasTimestamps)
    return executeTimed(trace, std::move(list), completion);
  SpanWriter writer(trace, trace.track(device_->uri(), name_),
                    list->notes.get(), "host, one at a time");
  bool started = false;
  for (const bp_header_t *const &command : list->commands) {
    // A call starts when all earlier ones are done, as after a barrier.
    if (command->type == bp_command_barrier_t_TYPE)
      continue;
    One one;
    bp_completion_t done = {&One::complete, &one};
    uint64_t begin = Trace::now();
    Status status = device_->noted(callPlugin(
        "queue_execute", device_->tables().queue.queue_execute, handle_,
        &command, uint64_t(1), static_cast<const bp_completion_t *>(&done)));
    if (!status.ok() && !started)
      return status;
    if (status.ok())
      one.done.wait(0, std::memory_order_acquire);
    else
      One::complete(&one, status.code(), toC(status.message()));
    started = true;
    writer.write(command, begin, Trace::now());
    if (one.code != BP_STATUS_OK) {
      completion.done(completion.context, one.code, toC(one.message));
      return {};
    }
  }
  completion.done(completion.context, BP_STATUS_OK, toC(std::string_view()));
  return {};
}

} // namespace backplane
