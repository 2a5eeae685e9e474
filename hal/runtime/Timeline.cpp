// SPDX-License-Identifier: Apache-2.0
#include "Timeline.h"

#include <algorithm>
#include <chrono>

namespace backplane::rt {

uint64_t Timeline::value() const {
  std::lock_guard lock(mutex_);
  return value_;
}

Status Timeline::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

Status Timeline::signal(uint64_t value) {
  std::lock_guard lock(mutex_);
  if (value <= value_)
    return invalidArgument("timeline signal: value " + std::to_string(value) +
                           " is not above the current one, " +
                           std::to_string(value_));
  value_ = value;
  changed_.notify_all();
  return {};
}

void Timeline::fail(Status status) {
  std::lock_guard lock(mutex_);
  if (failure_.ok())
    failure_ = std::move(status);
  changed_.notify_all();
}

Status Timeline::wait(uint64_t value, uint64_t timeoutNs) const {
  constexpr uint64_t longest = uint64_t(365) * 24 * 3600 * 1000000000u;
  auto end = std::chrono::steady_clock::now() +
             std::chrono::nanoseconds(std::min(timeoutNs, longest));
  std::unique_lock lock(mutex_);
  bool inTime = changed_.wait_until(
      lock, end, [&] { return value_ >= value || !failure_.ok(); });
  if (!inTime)
    return Status(BP_STATUS_DEADLINE_EXCEEDED,
                  "timeline wait: value " + std::to_string(value) +
                      " was not reached in time, it is " +
                      std::to_string(value_));
  return failure_;
}

} // namespace backplane::rt
