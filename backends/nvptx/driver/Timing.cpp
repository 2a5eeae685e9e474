// SPDX-License-Identifier: Apache-2.0
#include "Timing.h"

#include <ctime>

namespace backplane::cuda {

Timing::~Timing() {
  for (CUevent event : events_)
    device_.cuda.cuEventDestroy(event);
}

CUresult Timing::mark(CUstream stream) {
  if (marks_ == events_.size()) {
    CUevent event = nullptr;
    if (CUresult result =
            device_.cuda.cuEventCreate(&event, CU_EVENT_BLOCKING_SYNC))
      return result;
    events_.push_back(event);
  }
  return device_.cuda.cuEventRecord(events_[marks_++], stream);
}

static uint64_t hostNow() {
  constexpr uint64_t second = 1000000000u;
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return uint64_t(now.tv_sec) * second + uint64_t(now.tv_nsec);
}

std::vector<bp_timestamp_t> Timing::read() const {
  constexpr double nsPerMs = 1e6;
  std::vector<bp_timestamp_t> times(marks_ / 2);
  if (times.empty())
    return times;
  uint64_t now = hostNow();
  auto onHost = [&](size_t mark) -> uint64_t {
    float ago = 0;
    return device_.cuda.cuEventElapsedTime(&ago, events_[mark],
                                           events_[marks_ - 1])
               ? 0
               : now - uint64_t(std::max(double(ago), 0.0) * nsPerMs);
  };
  for (size_t i = 0; i < times.size(); ++i)
    times[i] = {onHost(2 * i), onHost(2 * i + 1)};
  return times;
}

} // namespace backplane::cuda
