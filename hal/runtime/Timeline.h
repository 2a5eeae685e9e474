// SPDX-License-Identifier: Apache-2.0
//
// Timeline.h: a number that only grows and says when data of values are ready.
// Those of the HAL (hal/core/Semaphore.h) belong to a device; these belong to
// the application.
#ifndef BACKPLANE_RUNTIME_TIMELINE_H
#define BACKPLANE_RUNTIME_TIMELINE_H

#include "backplane/cpp/Result.h"

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace backplane::rt {

/// Thread-safe.
class Timeline {
public:
  /// `owner` is the session whose call signals it; null: the application does.
  explicit Timeline(const void *owner = nullptr) : owner_(owner) {}
  Timeline(const Timeline &) = delete;
  Timeline &operator=(const Timeline &) = delete;

  const void *owner() const { return owner_; }
  uint64_t value() const;
  /// The first failure, if any.
  Status failure() const;
  /// A value that is not higher than the current one is refused.
  Status signal(uint64_t value);
  void fail(Status status);
  /// BP_STATUS_DEADLINE_EXCEEDED after `timeoutNs`.
  Status wait(uint64_t value, uint64_t timeoutNs = UINT64_MAX) const;

private:
  const void *owner_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  uint64_t value_ = 0;
  Status failure_;
};

} // namespace backplane::rt

#endif // BACKPLANE_RUNTIME_TIMELINE_H
