// SPDX-License-Identifier: Apache-2.0
#include "StepRun.h"

namespace backplane::rt {
namespace {

/// Some bytes of a buffer.
struct Bytes {
  Buffer *buffer;
  uint64_t offset, length;
};

Bytes bytesOf(const Binding &binding, const std::vector<SlotBinding> &table) {
  if (binding.buffer)
    return {binding.buffer.get(), binding.offset, binding.length};
  const SlotBinding &entry = table[binding.slot];
  return {entry.buffer, entry.offset + binding.offset, binding.length};
}

} // namespace

StepRun::StepRun(const std::vector<DeviceState> &sides, const Part &part,
                 const Tables &tables)
    : sides_(sides), part_(part), tables_(tables), behind_(part.size()),
      followers_(part.size()), pending_(new Pending[part.size()]),
      left_(part.size()) {
  for (uint32_t i = 0; i < part.size(); ++i) {
    missing_.push_back(part[i].after.size());
    for (uint32_t earlier : part[i].after) {
      bool sameQueue = part[i].commands && part[earlier].commands &&
                       part[i].device == part[earlier].device;
      (sameQueue ? behind_ : followers_)[earlier].push_back(i);
    }
  }
}

std::shared_ptr<StepRun> StepRun::start(const std::vector<DeviceState> &sides,
                                        const Part &part,
                                        const Tables &tables) {
  std::shared_ptr<StepRun> run(new StepRun(sides, part, tables));
  for (uint32_t i = 0; i < part.size(); ++i)
    if (part[i].after.empty())
      run->post([run, i] { run->launch(i); });
  return run;
}

void StepRun::post(std::function<void()> job) {
  sides_[0].device->host().pool().post(std::move(job));
  std::lock_guard lock(mutex_);
  ++posted_;
  changed_.notify_all();
}

/// Reads through the memory that the host can see, if either end has such.
Status StepRun::transfer(const PlanStep &step) const {
  Bytes from = bytesOf(step.source, tables_[step.from]);
  Bytes to = bytesOf(step.target, tables_[step.device]);
  size_t size = size_t(from.length);
  TraceScope scope(sides_[step.device].device->host().trace(), "transfer",
                   "transfer");
  scope.add("bytes", uint64_t(size));
  scope.add("from", std::string_view(sides_[step.from].device->uri()));
  scope.add("to", std::string_view(sides_[step.device].device->uri()));
  if (const uint8_t *mapped = from.buffer->map())
    return to.buffer->write(to.offset, {mapped + from.offset, size});
  if (uint8_t *mapped = to.buffer->map())
    return from.buffer->read(from.offset, {mapped + to.offset, size});
  std::vector<uint8_t> staging(size);
  if (Status s = from.buffer->read(from.offset, staging); !s.ok())
    return s;
  return to.buffer->write(to.offset, staging);
}

Status StepRun::startCommands(uint32_t step) {
  Pending &pending = pending_[step];
  pending.whenDone([self = shared_from_this(), step](const Status &outcome) {
    self->note(outcome);
    self->post(
        [self, step] { self->finished(step, self->pending_[step].wait()); });
  });
  const DeviceState &side = sides_[part_[step].device];
  Status status = side.queue->start(*part_[step].commands,
                                    tables_[part_[step].device], pending, true);
  if (status.ok())
    release(behind_[step]);
  else
    pending.whenDone(nullptr);
  return status;
}

/// Keeps the first failure.
void StepRun::note(const Status &status) {
  std::lock_guard lock(mutex_);
  if (failure_.ok())
    failure_ = status;
}

void StepRun::launch(uint32_t step) {
  bool failed;
  {
    std::lock_guard lock(mutex_);
    failed = !failure_.ok();
    ++launching_;
  }
  if (failed)
    finished(step, Status());
  else
    launchNow(step);
  std::lock_guard lock(mutex_);
  --launching_;
  changed_.notify_all();
}

void StepRun::launchNow(uint32_t step) {
  if (!part_[step].commands)
    return finished(step, transfer(part_[step]).within("transfer"));
  if (Status status = startCommands(step); !status.ok())
    finished(step, status);
}

/// Launches those that waited for nothing else any more.
void StepRun::release(std::vector<uint32_t> &waiting) {
  std::vector<uint32_t> ready;
  {
    std::lock_guard lock(mutex_);
    for (uint32_t step : std::exchange(waiting, {}))
      if (--missing_[step] == 0)
        ready.push_back(step);
  }
  for (uint32_t next : ready)
    post([self = shared_from_this(), next] { self->launch(next); });
}

void StepRun::finished(uint32_t step, const Status &status) {
  note(status);
  release(behind_[step]);
  release(followers_[step]);
  std::lock_guard lock(mutex_);
  --left_;
  changed_.notify_all();
}

bool StepRun::done() const {
  std::lock_guard lock(mutex_);
  return isDone();
}

Status StepRun::wait() {
  std::unique_lock lock(mutex_);
  while (!isDone()) {
    uint64_t seen = posted_;
    lock.unlock();
    bool helped = sides_[0].device->host().pool().help();
    lock.lock();
    if (!helped)
      changed_.wait(lock, [&] { return isDone() || posted_ != seen; });
  }
  return failure_;
}

Status runPart(const std::vector<DeviceState> &sides, const Part &part,
               const Tables &tables) {
  if (part.empty())
    return {};
  if (part.size() == 1 && part[0].commands)
    return sides[part[0].device].queue->run(*part[0].commands,
                                            tables[part[0].device]);
  return StepRun::start(sides, part, tables)->wait();
}

} // namespace backplane::rt
