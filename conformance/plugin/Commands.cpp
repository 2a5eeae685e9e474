// SPDX-License-Identifier: Apache-2.0
//
// Commands.cpp: lists of commands, their model, and the ways of running them.
#include "Work.h"

#include <algorithm>
#include <span>

namespace backplane::checks {

const char *name(How how) {
  constexpr const char *names[] = {"execute", "record", "slots", "submit"};
  return names[int(how)];
}

// ---- Lists ----

Commands &Commands::fill(Buffer &target, uint64_t offset, uint64_t length,
                         uint32_t pattern, uint32_t width) {
  commands_.push_back(Fill{{&target, offset, length}, pattern, width});
  return *this;
}

Commands &Commands::copy(Buffer &source, uint64_t from, Buffer &target,
                         uint64_t to, uint64_t length) {
  commands_.push_back(Copy{{&source, from, length}, {&target, to, length}});
  return *this;
}

Commands &Commands::dispatch(Dispatch dispatch) {
  commands_.push_back(std::move(dispatch));
  return *this;
}

Commands &Commands::append(const Commands &other) {
  commands_.insert(commands_.end(), other.commands_.begin(),
                   other.commands_.end());
  return *this;
}

Commands &Commands::barrier() {
  commands_.push_back(Barrier{});
  return *this;
}

/// Whether the buffer could be made.
static bool there(const Buffer &buffer) {
  return buffer.model.size() == buffer.size();
}

void Commands::apply() const {
  for (const auto &command : commands_) {
    if (const auto *fill = std::get_if<Fill>(&command);
        fill && there(*fill->target.buffer))
      for (uint64_t i = 0; i < fill->target.length; ++i)
        fill->target.buffer->model[fill->target.offset + i] =
            uint8_t(fill->pattern >> (8 * (i % fill->width)));
    if (const auto *copy = std::get_if<Copy>(&command);
        copy && there(*copy->source.buffer) && there(*copy->target.buffer))
      std::copy_n(
          copy->source.buffer->model.begin() + int64_t(copy->source.offset),
          copy->source.length,
          copy->target.buffer->model.begin() + int64_t(copy->target.offset));
  }
}

/// Turns ranges into bindings. With slots, the table starts each buffer at the
/// last allowed place in front of the first range that is used.
class Commands::Binder {
public:
  Binder(const Commands &commands, bool slots, uint64_t alignment,
         std::vector<bp_binding_t> &table)
      : slots_(slots), table_(table) {
    for (const auto &command : commands.commands_) {
      if (const auto *fill = std::get_if<Fill>(&command))
        note(fill->target);
      if (const auto *copy = std::get_if<Copy>(&command))
        note(copy->source), note(copy->target);
      if (const auto *dispatch = std::get_if<Dispatch>(&command))
        for (const Range &range : dispatch->bindings)
          note(range);
    }
    for (size_t i = 0; slots && i < buffers_.size(); ++i) {
      uint64_t base = first_[i] / alignment * alignment;
      table_.push_back(
          {buffers_[i]->handle(), base, buffers_[i]->size() - base, 0, 0});
    }
  }

  bp_binding_t operator()(const Range &range) const {
    if (!slots_)
      return {range.buffer->handle(), range.offset, range.length, 0, 0};
    size_t slot = indexOf(range.buffer);
    return {nullptr, range.offset - table_[slot].offset, range.length,
            uint32_t(slot), 0};
  }

private:
  size_t indexOf(const Buffer *buffer) const {
    return size_t(std::find(buffers_.begin(), buffers_.end(), buffer) -
                  buffers_.begin());
  }
  void note(const Range &range) {
    size_t index = indexOf(range.buffer);
    if (index == buffers_.size()) {
      buffers_.push_back(range.buffer);
      first_.push_back(range.offset);
    }
    first_[index] = std::min(first_[index], range.offset);
  }

  bool slots_;
  std::vector<bp_binding_t> &table_;
  std::vector<Buffer *> buffers_;
  std::vector<uint64_t> first_;
};

void Commands::addDispatch(const Dispatch &dispatch, const Binder &bind,
                           Built &built) {
  auto &bindings = built.bindings.emplace_back();
  for (const Range &range : dispatch.bindings)
    bindings.push_back(bind(range));
  auto &constants = built.constants.emplace_back(dispatch.constants);
  bp_command_dispatch_t c = {BP_HEADER(bp_command_dispatch_t)};
  c.executable = dispatch.executable;
  c.entry = dispatch.entry;
  c.op = dispatch.op;
  std::copy_n(dispatch.grid, 3, c.grid);
  c.constants = constants.data();
  c.constant_count = uint32_t(constants.size());
  c.bindings = bindings.data();
  c.binding_count = bindings.size();
  c.workspace_bytes = dispatch.workspaceBytes;
  auto &parameters = built.parameters.emplace_back(dispatch.parameters);
  c.parameters = parameters.data();
  c.parameter_count = uint32_t(parameters.size());
  c.shared_bytes = dispatch.sharedBytes;
  std::copy_n(dispatch.cluster, 3, c.cluster);
  built.list.push_back(&built.dispatches.emplace_back(c).header);
}

Commands::Built Commands::build(bool slots, uint64_t alignment) const {
  Built built;
  Binder bind(*this, slots, alignment, built.table);
  for (const auto &command : commands_) {
    if (const auto *fill = std::get_if<Fill>(&command)) {
      bp_command_fill_t c = {BP_HEADER(bp_command_fill_t)};
      c.target = bind(fill->target);
      c.pattern = fill->pattern;
      c.pattern_size = fill->width;
      built.list.push_back(&built.fills.emplace_back(c).header);
    } else if (const auto *copy = std::get_if<Copy>(&command)) {
      bp_command_copy_t c = {BP_HEADER(bp_command_copy_t)};
      c.source = bind(copy->source);
      c.target = bind(copy->target);
      built.list.push_back(&built.copies.emplace_back(c).header);
    } else if (const auto *dispatch = std::get_if<Dispatch>(&command)) {
      addDispatch(*dispatch, bind, built);
    } else {
      bp_command_barrier_t c = {BP_HEADER(bp_command_barrier_t)};
      built.list.push_back(&built.barriers.emplace_back(c).header);
    }
  }
  return built;
}

void Commands::Built::poison() {
  auto spoil = [](auto items) {
    std::ranges::fill(std::as_writable_bytes(items), std::byte(0xDD));
  };
  auto spoilEach = [&](auto &items) {
    for (auto &item : items)
      spoil(std::span(&item, 1));
  };
  spoilEach(fills);
  spoilEach(copies);
  spoilEach(barriers);
  spoilEach(dispatches);
  for (auto &one : bindings)
    spoil(std::span(one));
  for (auto &one : constants)
    spoil(std::span(one));
  for (auto &one : parameters)
    spoil(std::span(one));
  spoil(std::span(list));
}

// ---- Queues ----

Queue::Queue(Fixture &fixture, uint32_t queueClass) : fixture_(fixture) {
  if (fixture.good())
    exists_ = fixture.take(callPlugin("queue_create",
                                      fixture.tables().queue.queue_create,
                                      fixture.device(), queueClass, &handle_),
                           "queue_create");
}

Queue::~Queue() {
  if (exists_)
    callPluginVoid("queue_destroy", fixture_.tables().queue.queue_destroy,
                   fixture_.device(), handle_);
}

Status Queue::send(std::span<const bp_header_t *const> commands, Done &done) {
  bp_completion_t completion = done.completion();
  Status status = callPlugin(
      "queue_execute", fixture_.tables().queue.queue_execute, handle_,
      commands.data(), uint64_t(commands.size()), &completion);
  completion = {};
  if (status.ok())
    done.expect(fixture_.trial());
  return status;
}

void Queue::start(const Commands &commands, Done &done, bool apply) {
  if (!fixture_.good())
    return;
  Commands::Built built = commands.build();
  Status status = send(built.list, done);
  built.poison();
  if (!fixture_.take(status, "queue_execute"))
    fixture_.trial().expect(!done.arrived(),
                            "queue_execute failed and completed nevertheless");
  else if (apply)
    commands.apply();
}

/// Waits for a completion that `start` has asked for.
static void finish(Fixture &fixture, Done &done) {
  if (fixture.good() && fixture.take(done.wait(fixture), "completion"))
    fixture.trial().expect(done.count() == 1, "the work completed " +
                                                  std::to_string(done.count()) +
                                                  " times");
}

Status Queue::outcome(const Commands &commands, How how) {
  if (how == How::Submit)
    return submittedOutcome(commands);
  Done done;
  if (!fixture_.good())
    return {};
  if (how == How::Execute) {
    Commands::Built built = commands.build();
    Status status = send(built.list, done);
    built.poison();
    return status.ok() ? done.wait(fixture_) : status;
  }
  Recorded recorded(fixture_, commands, how == How::Slots);
  recorded.start(*this, done);
  return fixture_.good() ? done.wait(fixture_) : Status();
}

Status Queue::outcome(const bp_header_t *command) {
  Done done;
  if (!fixture_.good())
    return {};
  Status status = send({&command, 1}, done);
  if (status.ok())
    return done.wait(fixture_);
  fixture_.trial().expect(!done.arrived(),
                          "queue_execute failed and completed");
  return status;
}

/// The failure of the work arrives through the semaphore that it signals.
Status Queue::submittedOutcome(const Commands &commands) {
  Timeline end(fixture_, 0);
  bp_timepoint_t signal = {end.handle(), 1};
  submit({}, {&signal, 1}, commands);
  if (!fixture_.good())
    return {};
  Status status = end.wait(1, fixture_.timeoutNs());
  if (status.code() == BP_STATUS_DEADLINE_EXCEEDED)
    fixture_.trial().abandon(
        "a submission neither signalled nor failed in time");
  return status;
}

void Queue::run(const Commands &commands, How how) {
  if (how == How::Submit)
    return runSubmitted(commands);
  if (how != How::Execute)
    return runRecorded(commands, how == How::Slots);
  Done done;
  start(commands, done);
  finish(fixture_, done);
}

void Queue::runRecorded(const Commands &commands, bool slots) {
  Recorded recorded(fixture_, commands, slots);
  recorded.run(*this);
  commands.apply();
}

void Queue::runSubmitted(const Commands &commands) {
  Timeline end(fixture_, 0);
  bp_timepoint_t signal = {end.handle(), 1};
  submit({}, {&signal, 1}, commands);
  end.expectReached(1);
}

void Queue::submit(std::span<const bp_timepoint_t> waits,
                   std::span<const bp_timepoint_t> signals,
                   const Commands &commands) {
  if (!fixture_.good())
    return;
  Commands::Built built = commands.build();
  std::vector<bp_timepoint_t> first(waits.begin(), waits.end());
  std::vector<bp_timepoint_t> last(signals.begin(), signals.end());
  Status status = callPlugin(
      "queue_submit", fixture_.tables().semaphore.queue_submit, handle_,
      first.data(), uint64_t(first.size()), last.data(), uint64_t(last.size()),
      built.list.data(), uint64_t(built.list.size()));
  built.poison();
  std::fill(first.begin(), first.end(), bp_timepoint_t{});
  std::fill(last.begin(), last.end(), bp_timepoint_t{});
  if (fixture_.take(status, "queue_submit"))
    commands.apply();
}

// ---- Command buffers ----

Recorded::Recorded(Fixture &fixture, const Commands &commands, bool slots)
    : fixture_(fixture) {
  if (fixture.good() && !fixture.tables().hasCommandBuffer)
    fixture.trial().skip("the driver has no command buffers of its own");
  if (!fixture.good())
    return;
  Commands::Built built =
      commands.build(slots, fixture.info().binding_alignment);
  exists_ = fixture.take(
      callPlugin("command_buffer_create",
                 fixture.tables().commandBuffer.command_buffer_create,
                 fixture.device(), built.list.data(),
                 uint64_t(built.list.size()), &handle_),
      "command_buffer_create");
  table_ = built.table;
  built.poison();
}

Recorded::~Recorded() {
  if (exists_)
    callPluginVoid("command_buffer_destroy",
                   fixture_.tables().commandBuffer.command_buffer_destroy,
                   fixture_.device(), handle_);
}

void Recorded::start(Queue &queue, std::span<const bp_binding_t> table,
                     Done &done) {
  if (!fixture_.good())
    return;
  std::vector<bp_binding_t> passing(table.begin(), table.end());
  bp_completion_t completion = done.completion();
  Status status = callPlugin(
      "command_buffer_execute",
      fixture_.tables().commandBuffer.command_buffer_execute, queue.handle(),
      handle_, passing.data(), uint64_t(passing.size()), &completion);
  std::fill(passing.begin(), passing.end(), bp_binding_t{});
  completion = {};
  if (fixture_.take(status, "command_buffer_execute"))
    done.expect(fixture_.trial());
}

void Recorded::run(Queue &queue) {
  Done done;
  start(queue, done);
  finish(fixture_, done);
}

} // namespace backplane::checks
