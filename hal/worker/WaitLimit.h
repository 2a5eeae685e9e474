// SPDX-License-Identifier: Apache-2.0
//
// WaitLimit.h: how long a worker may take to answer, on a machine that may be
// busy with something else.
#ifndef BACKPLANE_WORKER_WAITLIMIT_H
#define BACKPLANE_WORKER_WAITLIMIT_H

#include <algorithm>
#include <chrono>
#include <optional>
#include <sys/types.h>

namespace backplane::worker {

/// A worker may take `limit`. Where it computes all the time and got less of a
/// processor than that, it gets the rest, ten times the limit at most. One that
/// waits gets nothing more.
class WaitLimit {
public:
  using Milliseconds = std::chrono::milliseconds;
  explicit WaitLimit(Milliseconds limit) : limit_(limit) {}

  /// How long to wait on, after `waited` without an answer: 0 for no more.
  /// `used` is what the worker had of processors since the request.
  Milliseconds more(Milliseconds waited, Milliseconds used) {
    constexpr int maxLimits = 10, minPercent = 1;
    const Milliseconds progress = used - used_;
    total_ += waited;
    used_ = used;
    if (progress * 100 < waited * minPercent || used >= limit_)
      return Milliseconds(0);
    return std::clamp(limit_ * maxLimits - total_, Milliseconds(0),
                      limit_ - used);
  }

private:
  Milliseconds limit_, total_{0}, used_{0};
};

/// What a process has had of processors, all its threads together; none where
/// it cannot be told.
std::optional<std::chrono::milliseconds> processorTime(pid_t process);

} // namespace backplane::worker

#endif // BACKPLANE_WORKER_WAITLIMIT_H
