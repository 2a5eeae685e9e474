// SPDX-License-Identifier: Apache-2.0
#include "Timing.h"

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

bp_timestamp_t Timing::read(size_t i, uint64_t now) const {
  constexpr double nsPerMs = 1e6;
  auto onHost = [&](size_t mark) -> uint64_t {
    float ago = 0;
    return device_.cuda.cuEventElapsedTime(&ago, events_[mark],
                                           events_[marks_ - 1])
               ? 0
               : now - uint64_t(std::max(double(ago), 0.0) * nsPerMs);
  };
  return {onHost(2 * i), onHost(2 * i + 1)};
}

} // namespace backplane::cuda
