// SPDX-License-Identifier: Apache-2.0
#include "hal/core/Queue.h"
#include "hal/core/CommandList.h"
#include "hal/core/Device.h"
#include "hal/core/Error.h"
#include "hal/core/Tables.h"

#include <array>

namespace backplane {

// ---- CommandBuffer ----

CommandBuffer::CommandBuffer(std::shared_ptr<Device> device,
                             std::unique_ptr<CommandList> list)
    : device_(std::move(device)), list_(std::move(list)) {}

CommandBuffer::~CommandBuffer() {
  if (handle_)
    callPluginVoid(device_->tables().commandBuffer.command_buffer_destroy,
                   device_->handle(), handle_);
}

size_t CommandBuffer::slotCount() const { return list_->slots.size(); }

uint64_t CommandBuffer::slotExtent(size_t slot) const {
  return slot < list_->slots.size() ? list_->slots[slot].extent : 0;
}

// ---- Pending ----

Pending::~Pending() { (void)wait(); }

void Pending::begin(Host *host, std::shared_ptr<const void> work) {
  (void)wait();
  host_ = host;
  work_ = std::move(work);
  code_ = BP_STATUS_OK;
  message_.clear();
  state_.store(Running, std::memory_order_relaxed);
}

void Pending::cancel() { state_.store(Idle, std::memory_order_relaxed); }

void Pending::complete(void *self, bp_status_t status, bp_string_t message) {
  constexpr uint64_t mostBytes = 4096;
  Pending &pending = *static_cast<Pending *>(self);
  pending.code_ = status;
  if (status != BP_STATUS_OK && message.size <= mostBytes)
    pending.message_ = view(message);
  pending.state_.store(Done, std::memory_order_release);
  pending.state_.notify_all();
}

bool Pending::done() const {
  return state_.load(std::memory_order_acquire) != Running;
}

Status Pending::wait() {
  while (!done())
    if (!host_->pool().help())
      state_.wait(Running, std::memory_order_acquire);
  work_.reset();
  if (code_ == BP_STATUS_OK)
    return {};
  return pluginFailure("device", code_, message_);
}

// ---- Queue ----

/// Commands that wait for timepoints.
struct Queue::Submission {
  std::vector<Timepoint> waits;
  std::vector<Timepoint> signals;
  std::unique_ptr<CommandList> list;

  /// Hands the outcome to the signals.
  void finish(const Status &status) const {
    for (const Timepoint &signal : signals) {
      Status signalled =
          status.ok() ? signal.semaphore->signal(signal.value) : status;
      if (!signalled.ok())
        signal.semaphore->fail(signalled);
    }
  }
};

Queue::Queue(std::shared_ptr<Device> device, bp_queue_t *handle)
    : device_(std::move(device)), handle_(handle) {}

Queue::~Queue() {
  const Status cancelled(BP_STATUS_CANCELLED, "the queue was destroyed");
  for (const std::shared_ptr<Submission> &submission : waiting_)
    submission->finish(cancelled);
  callPluginVoid(device_->tables().queue.queue_destroy, device_->handle(),
                 handle_);
}

Status Queue::execute(const bp_header_t *const *commands, uint64_t count,
                      const bp_completion_t &completion) {
  std::lock_guard lock(execute_);
  return callPlugin("queue_execute", device_->tables().queue.queue_execute,
                    handle_, commands, count, &completion);
}

/// Waits until submissions with timepoints, which came earlier, have started.
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
  auto list = CommandList::build(*device_, commands, false);
  if (!list)
    return list.status().within("device " + device_->uri());
  waitForTurn();
  std::shared_ptr<CommandList> work = std::move(*list);
  pending.begin(&device_->host(), work);
  bp_completion_t completion = {&Pending::complete, &pending};
  Status status =
      execute(work->commands.data(), work->commands.size(), completion);
  if (!status.ok())
    pending.cancel();
  return status;
}

/// Has the driver run its own command buffer with these slots.
Status Queue::replay(const CommandBuffer &commands,
                     std::span<const SlotBinding> table,
                     const bp_completion_t &completion) {
  constexpr size_t fewSlots = 16;
  std::array<bp_binding_t, fewSlots> few;
  std::vector<bp_binding_t> many(table.size() > fewSlots ? table.size() : 0);
  bp_binding_t *bindings = many.empty() ? few.data() : many.data();
  for (size_t i = 0; i < table.size(); ++i)
    bindings[i] = table[i].buffer ? toC(table[i]) : bp_binding_t{};
  std::lock_guard lock(execute_);
  return callPlugin("command_buffer_execute",
                    device_->tables().commandBuffer.command_buffer_execute,
                    handle_, commands.handle_,
                    static_cast<const bp_binding_t *>(bindings),
                    uint64_t(table.size()), &completion);
}

Status Queue::start(const CommandBuffer &commands,
                    std::span<const SlotBinding> table, Pending &pending) {
  if (commands.device_ != device_)
    return invalidArgument("commands recorded for device " +
                           commands.device_->uri() + " on a queue of " +
                           device_->uri());
  if (Status status = commands.list_->checkTable(*device_, table); !status.ok())
    return status.within("device " + device_->uri());
  waitForTurn();
  bp_completion_t completion = {&Pending::complete, &pending};
  Status status;
  if (commands.handle_) {
    pending.begin(&device_->host(), nullptr);
    status = replay(commands, table, completion);
  } else {
    std::shared_ptr<CommandList> work = commands.list_->resolved(table);
    pending.begin(&device_->host(), work);
    status = execute(work->commands.data(), work->commands.size(), completion);
  }
  if (!status.ok())
    pending.cancel();
  return status;
}

Status Queue::run(std::span<const Command> commands) {
  Pending pending;
  if (Status status = start(commands, pending); !status.ok())
    return status;
  return pending.wait();
}

Status Queue::run(const CommandBuffer &commands,
                  std::span<const SlotBinding> table) {
  Pending pending;
  if (Status status = start(commands, table, pending); !status.ok())
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

Status Queue::submitNative(std::span<const Timepoint> waits,
                           std::span<const Timepoint> signals,
                           const CommandList &list) {
  const std::vector<bp_timepoint_t> before = toC(waits), after = toC(signals);
  std::lock_guard lock(execute_);
  return callPlugin("queue_submit", device_->tables().semaphore.queue_submit,
                    handle_, before.data(), uint64_t(before.size()),
                    after.data(), uint64_t(after.size()), list.commands.data(),
                    uint64_t(list.commands.size()));
}

Status Queue::submit(std::span<const Timepoint> waits,
                     std::span<const Timepoint> signals,
                     std::span<const Command> commands) {
  for (std::span<const Timepoint> points : {waits, signals})
    if (Status status = checkTimepoints(*device_, points); !status.ok())
      return status;
  auto list = CommandList::build(*device_, commands, false);
  if (!list)
    return list.status().within("device " + device_->uri());
  if (device_->tables().hasSemaphore)
    return submitNative(waits, signals, **list);
  auto submission = std::make_shared<Submission>();
  submission->waits.assign(waits.begin(), waits.end());
  submission->signals.assign(signals.begin(), signals.end());
  submission->list = std::move(*list);
  {
    std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(submission));
  }
  wakeLater();
  return {};
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
      first->finish(failure.within("a wait failed"));
    lock.lock();
    waiting_.pop_front();
  }
  pumping_ = false;
  drained_.notify_all();
}

void Queue::launch(std::shared_ptr<Submission> submission) {
  auto *kept = new std::shared_ptr<Submission>(submission);
  bp_completion_t completion = {};
  completion.context = kept;
  completion.done = [](void *context, bp_status_t status, bp_string_t message) {
    std::unique_ptr<std::shared_ptr<Submission>> done(
        static_cast<std::shared_ptr<Submission> *>(context));
    (*done)->finish(status == BP_STATUS_OK
                        ? Status()
                        : pluginFailure("device", status, view(message)));
  };
  Status status = execute(submission->list->commands.data(),
                          submission->list->commands.size(), completion);
  if (status.ok())
    return;
  delete kept;
  submission->finish(status);
}

} // namespace backplane
