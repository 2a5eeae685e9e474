// SPDX-License-Identifier: Apache-2.0
#include "hal/core/Queue.h"
#include "hal/core/CommandList.h"
#include "hal/core/Device.h"
#include "hal/core/Error.h"
#include "hal/core/Tables.h"
#include "hal/core/Trace.h"

#include <array>

namespace backplane {

// ---- CommandBuffer ----

CommandBuffer::CommandBuffer(std::shared_ptr<Device> device,
                             std::unique_ptr<CommandList> list)
    : device_(std::move(device)), list_(std::move(list)) {}

CommandBuffer::~CommandBuffer() {
  if (handle_)
    callPluginVoid("command_buffer_destroy",
                   device_->tables().commandBuffer.command_buffer_destroy,
                   device_->handle(), handle_);
}

size_t CommandBuffer::slotCount() const { return list_->slots.size(); }

uint64_t CommandBuffer::slotExtent(size_t slot) const {
  return slot < list_->slots.size() ? list_->slots[slot].extent : 0;
}

// ---- Pending ----

Pending::~Pending() { (void)wait(); }

void Pending::begin(Device &device, std::shared_ptr<const void> work) {
  (void)wait();
  device_ = &device;
  work_ = std::move(work);
  code_ = BP_STATUS_OK;
  message_.clear();
  state_.store(Running, std::memory_order_relaxed);
}

void Pending::cancel() { state_.store(Idle, std::memory_order_relaxed); }

void Pending::complete(void *self, bp_status_t status, bp_string_t message) {
  constexpr uint64_t maxBytes = 4096;
  Pending &pending = *static_cast<Pending *>(self);
  pending.code_ = status;
  if (status != BP_STATUS_OK && message.size <= maxBytes)
    pending.message_ = view(message);
  std::function<void(const Status &)> callback = std::move(pending.whenDone_);
  Status outcome = callback && status != BP_STATUS_OK
                       ? pluginFailure("device", status, pending.message_)
                       : Status();
  if (callback)
    callback(outcome);
  // Whoever waits may destroy the object as soon as it is done.
  pending.state_.store(Done, std::memory_order_release);
  pending.state_.notify_all();
}

bool Pending::done() const {
  return state_.load(std::memory_order_acquire) != Running;
}

Status Pending::wait() {
  while (!done())
    if (!device_->host().pool().help())
      state_.wait(Running, std::memory_order_acquire);
  work_.reset();
  if (code_ == BP_STATUS_OK)
    return {};
  return device_->noted(pluginFailure("device", code_, message_));
}

// ---- Queue ----

/// Work that waits for timepoints or for a thread: a list of commands or a
/// replay of the driver's own command buffer.
struct Queue::Submission {
  std::vector<Timepoint> waits;
  std::vector<Timepoint> signals;
  Pending *pending = nullptr;
  std::shared_ptr<Device> device; ///< of the queue
  std::shared_ptr<const CommandList> list;
  const CommandBuffer *recorded = nullptr;
  std::vector<SlotBinding> table;

  /// Hands the outcome to whoever waits for it.
  void finish(bp_status_t code, std::string_view message) const {
    if (code == BP_STATUS_UNAVAILABLE)
      (void)device->noted(pluginFailure("device", code, message));
    for (const Timepoint &signal : signals) {
      Status status = code == BP_STATUS_OK
                          ? signal.semaphore->signal(signal.value)
                          : pluginFailure("device", code, message);
      if (!status.ok())
        signal.semaphore->fail(status);
    }
    if (pending)
      Pending::complete(pending, code, backplane::toC(message));
  }
};

Queue::Queue(std::shared_ptr<Device> device, bp_queue_t *handle)
    : device_(std::move(device)), handle_(handle) {
  static std::atomic<uint32_t> count{0};
  name_ = "queue " + std::to_string(++count);
}

Queue::~Queue() {
  for (const std::shared_ptr<Submission> &submission : waiting_)
    submission->finish(BP_STATUS_CANCELLED, "the queue was destroyed");
  callPluginVoid("queue_destroy", device_->tables().queue.queue_destroy,
                 device_->handle(), handle_);
}

bool Queue::synchronous() const {
  return device_->info().c().flags & BP_DEVICE_SYNCHRONOUS;
}

/// Validates commands and puts them into C form.
Status Queue::prepare(std::span<const Command> commands,
                      std::shared_ptr<const CommandList> &list) const {
  if (Status status = device_->lost(); !status.ok())
    return status;
  auto built = CommandList::build(*device_, commands, false);
  if (!built)
    return built.status().within("device " + device_->uri());
  list = std::move(*built);
  return {};
}

/// Checks the table; `list` is set when the host has to keep the commands.
Status Queue::prepare(const CommandBuffer &commands,
                      std::span<const SlotBinding> table,
                      std::shared_ptr<const CommandList> &list) const {
  if (Status status = device_->lost(); !status.ok())
    return status;
  if (commands.device_ != device_)
    return invalidArgument("commands recorded for device " +
                           commands.device_->uri() + " on a queue of " +
                           device_->uri());
  if (Status status = commands.list_->checkTable(*device_, table); !status.ok())
    return status.within("device " + device_->uri());
  if (!commands.handle_)
    list = commands.list_->resolved(table);
  return {};
}

Status Queue::execute(const std::shared_ptr<const CommandList> &list,
                      const bp_completion_t &completion) {
  if (Trace *trace = device_->host().trace())
    return executeTraced(*trace, list, completion);
  std::lock_guard lock(execute_);
  return device_->noted(callPlugin(
      "queue_execute", device_->tables().queue.queue_execute, handle_,
      list->commands.data(), uint64_t(list->commands.size()), &completion));
}

/// Has the driver run its own command buffer with these slots.
Status Queue::replay(const CommandBuffer &commands,
                     std::span<const SlotBinding> table,
                     const bp_completion_t &completion) {
  if (Trace *trace = device_->host().trace())
    return executeTraced(*trace, commands.list_->resolved(table), completion);
  constexpr size_t fewSlots = 16;
  std::array<bp_binding_t, fewSlots> few;
  std::vector<bp_binding_t> many(table.size() > fewSlots ? table.size() : 0);
  bp_binding_t *bindings = many.empty() ? few.data() : many.data();
  for (size_t i = 0; i < table.size(); ++i)
    bindings[i] = table[i].buffer ? toC(table[i]) : bp_binding_t{};
  std::lock_guard lock(execute_);
  return device_->noted(callPlugin(
      "command_buffer_execute",
      device_->tables().commandBuffer.command_buffer_execute, handle_,
      commands.handle_, static_cast<const bp_binding_t *>(bindings),
      uint64_t(table.size()), &completion));
}

/// Waits until submissions that came earlier have started.
void Queue::waitForTurn() {
  std::unique_lock lock(mutex_);
  while (!waiting_.empty()) {
    lock.unlock();
    bool helped = device_->host().pool().help();
    lock.lock();
    if (!helped && !waiting_.empty())
      drained_.wait(lock);
  }
}

Status Queue::start(std::span<const Command> commands, Pending &pending) {
  std::shared_ptr<const CommandList> list;
  if (Status status = prepare(commands, list); !status.ok())
    return status;
  pending.begin(*device_, list);
  if (synchronous()) {
    auto submission = std::make_shared<Submission>();
    submission->pending = &pending;
    submission->list = std::move(list);
    enqueue(std::move(submission));
    return {};
  }
  waitForTurn();
  Status status = execute(list, pending.completion());
  if (!status.ok())
    pending.cancel();
  return status;
}

Status Queue::start(const CommandBuffer &commands,
                    std::span<const SlotBinding> table, Pending &pending,
                    bool callerWaits) {
  std::shared_ptr<const CommandList> list;
  if (Status status = prepare(commands, table, list); !status.ok())
    return status;
  pending.begin(*device_, list);
  if (synchronous() && !callerWaits) {
    auto submission = std::make_shared<Submission>();
    submission->pending = &pending;
    submission->list = std::move(list);
    submission->recorded = &commands;
    submission->table.assign(table.begin(), table.end());
    enqueue(std::move(submission));
    return {};
  }
  waitForTurn();
  Status status = list ? execute(list, pending.completion())
                       : replay(commands, table, pending.completion());
  if (!status.ok())
    pending.cancel();
  return status;
}

Status Queue::run(std::span<const Command> commands) {
  std::shared_ptr<const CommandList> list;
  if (Status status = prepare(commands, list); !status.ok())
    return status;
  waitForTurn();
  Pending pending;
  pending.begin(*device_, list);
  Status status = execute(list, pending.completion());
  if (!status.ok()) {
    pending.cancel();
    return status;
  }
  return pending.wait();
}

Status Queue::run(const CommandBuffer &commands,
                  std::span<const SlotBinding> table) {
  Pending pending;
  if (Status status = start(commands, table, pending, true); !status.ok())
    return status;
  return pending.wait();
}

// ---- Submissions with timepoints ----

static Status checkTimepoints(const Device &device,
                              std::span<const Timepoint> points) {
  for (const Timepoint &point : points) {
    if (!point.semaphore)
      return invalidArgument("a timepoint without a semaphore");
    if (point.semaphore->handle() && &point.semaphore->device() != &device)
      return invalidArgument("a semaphore of device " +
                             point.semaphore->device().uri() +
                             " on a queue of " + device.uri());
  }
  return {};
}

static std::vector<bp_timepoint_t> toC(std::span<const Timepoint> points) {
  std::vector<bp_timepoint_t> c;
  for (const Timepoint &point : points)
    c.push_back({point.semaphore->handle(), point.value});
  return c;
}

/// Hands a submission to the driver's own timelines and keeps alive what it
/// uses until its first signal is reached.
Status Queue::submitNative(std::shared_ptr<Submission> submission) {
  const std::vector<bp_timepoint_t> waits = toC(submission->waits);
  const std::vector<bp_timepoint_t> signals = toC(submission->signals);
  const CommandList &list = *submission->list;
  waitForTurn();
  std::lock_guard lock(execute_);
  std::erase_if(native_, [](const std::shared_ptr<Submission> &earlier) {
    if (earlier->signals.empty())
      return false;
    Result<uint64_t> value = earlier->signals[0].semaphore->query();
    return !value || *value >= earlier->signals[0].value;
  });
  Status status = device_->noted(
      callPlugin("queue_submit", device_->tables().semaphore.queue_submit,
                 handle_, waits.data(), uint64_t(waits.size()), signals.data(),
                 uint64_t(signals.size()), list.commands.data(),
                 uint64_t(list.commands.size())));
  if (status.ok())
    native_.push_back(std::move(submission));
  return status;
}

Status Queue::submit(std::span<const Timepoint> waits,
                     std::span<const Timepoint> signals,
                     std::span<const Command> commands) {
  for (std::span<const Timepoint> points : {waits, signals})
    if (Status status = checkTimepoints(*device_, points); !status.ok())
      return status;
  auto submission = std::make_shared<Submission>();
  if (Status status = prepare(commands, submission->list); !status.ok())
    return status;
  submission->waits.assign(waits.begin(), waits.end());
  submission->signals.assign(signals.begin(), signals.end());
  if (device_->tables().hasSemaphore)
    return submitNative(std::move(submission));
  enqueue(std::move(submission));
  return {};
}

void Queue::enqueue(std::shared_ptr<Submission> submission) {
  submission->device = device_;
  {
    std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(submission));
  }
  wakeLater();
}

void Queue::wakeLater() {
  device_->host().pool().post([self = shared_from_this()] { self->pump(); });
}

/// Whether all waits are over; asks to be woken when one is not.
bool Queue::ready(const std::shared_ptr<Submission> &submission,
                  Status &failure) {
  for (const Timepoint &wait : submission->waits) {
    std::weak_ptr<Queue> weak = weak_from_this();
    if (wait.semaphore->watch(wait.value, [weak] {
          if (auto self = weak.lock())
            self->wakeLater();
        }))
      return false;
    Status status;
    (void)wait.semaphore->reached(wait.value, status);
    if (!status.ok())
      failure = status;
  }
  return true;
}

/// Starts submissions in order until one has to wait.
void Queue::pump() {
  std::unique_lock lock(mutex_);
  if (pumping_)
    return;
  pumping_ = true;
  while (!waiting_.empty()) {
    std::shared_ptr<Submission> first = waiting_.front();
    Status failure;
    if (!ready(first, failure))
      break;
    lock.unlock();
    if (failure.ok())
      launch(first);
    else
      first->finish(failure.code(), "a wait failed: " + failure.message());
    lock.lock();
    waiting_.pop_front();
  }
  pumping_ = false;
  drained_.notify_all();
}

void Queue::launch(const std::shared_ptr<Submission> &submission) {
  auto *kept = new std::shared_ptr<Submission>(submission);
  bp_completion_t completion = {};
  completion.context = kept;
  completion.done = [](void *context, bp_status_t code, bp_string_t message) {
    std::unique_ptr<std::shared_ptr<Submission>> done(
        static_cast<std::shared_ptr<Submission> *>(context));
    (*done)->finish(code, view(message));
  };
  Status status = submission->list ? execute(submission->list, completion)
                                   : replay(*submission->recorded,
                                            submission->table, completion);
  if (status.ok())
    return;
  delete kept;
  submission->finish(status.code(), status.message());
}

} // namespace backplane
