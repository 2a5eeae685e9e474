// SPDX-License-Identifier: Apache-2.0
#include "hal/core/Semaphore.h"
#include "hal/core/Device.h"
#include "hal/core/Error.h"
#include "hal/core/Tables.h"

#include <chrono>

namespace backplane {

Semaphore::~Semaphore() {
  if (handle_)
    callPluginVoid("semaphore_destroy",
                   device_->tables().semaphore.semaphore_destroy,
                   device_->handle(), handle_);
}

Result<uint64_t> Semaphore::query() const {
  if (handle_) {
    uint64_t value = 0;
    Status status = callPlugin("semaphore_query",
                               device_->tables().semaphore.semaphore_query,
                               device_->handle(), handle_, &value);
    if (!status.ok())
      return status;
    return value;
  }
  std::lock_guard lock(mutex_);
  if (!failure_.ok())
    return failure_;
  return value_;
}

Status Semaphore::signal(uint64_t value) {
  if (handle_)
    return callPlugin("semaphore_signal",
                      device_->tables().semaphore.semaphore_signal,
                      device_->handle(), handle_, value);
  std::unique_lock lock(mutex_);
  if (!failure_.ok())
    return failure_;
  if (value <= value_)
    return invalidArgument("semaphore signal: value " + std::to_string(value) +
                           " is not above the current one, " +
                           std::to_string(value_));
  value_ = value;
  wake(lock);
  return {};
}

void Semaphore::fail(const Status &status) {
  std::unique_lock lock(mutex_);
  if (failure_.ok())
    failure_ = status;
  wake(lock);
}

/// Tells everybody who waits, then gives up the lock.
void Semaphore::wake(std::unique_lock<std::mutex> &lock) {
  std::vector<std::function<void()>> watchers = std::move(watchers_);
  watchers_.clear();
  changed_.notify_all();
  lock.unlock();
  for (const std::function<void()> &watcher : watchers)
    watcher();
}

bool Semaphore::reached(uint64_t value, Status &failure) const {
  std::lock_guard lock(mutex_);
  failure = failure_;
  return !failure_.ok() || value_ >= value;
}

/// Has `callback` called at the next change; false, and it is dropped, when the
/// value is reached already or never will be.
bool Semaphore::watch(uint64_t value, std::function<void()> callback) {
  std::lock_guard lock(mutex_);
  if (!failure_.ok() || value_ >= value)
    return false;
  watchers_.push_back(std::move(callback));
  return true;
}

Status Semaphore::waitNative(uint64_t value, uint64_t timeoutNs) {
  return callPlugin("semaphore_wait",
                    device_->tables().semaphore.semaphore_wait,
                    device_->handle(), handle_, value, timeoutNs);
}

Status Semaphore::wait(uint64_t value, uint64_t timeoutNs) {
  using Clock = std::chrono::steady_clock;
  if (handle_)
    return waitNative(value, timeoutNs);
  constexpr uint64_t longest = uint64_t(365) * 24 * 3600 * 1000000000u;
  Clock::time_point end =
      Clock::now() + std::chrono::nanoseconds(std::min(timeoutNs, longest));
  Status failure;
  while (!reached(value, failure)) {
    if (Clock::now() >= end)
      return Status(BP_STATUS_DEADLINE_EXCEEDED,
                    "semaphore wait: value " + std::to_string(value) +
                        " was not reached in time");
    if (device_->host().pool().help())
      continue;
    std::unique_lock lock(mutex_);
    if (failure_.ok() && value_ < value)
      changed_.wait_until(lock, end);
  }
  return failure;
}

} // namespace backplane
