// SPDX-License-Identifier: Apache-2.0
//
// Timing.h: when each command of a recording ran, by events of the stream
// brought to the host's monotonic clock.
#ifndef BACKPLANE_CUDA_TIMING_H
#define BACKPLANE_CUDA_TIMING_H

#include "Device.h"

namespace backplane::cuda {

/// The events of one recording.
class Timing {
public:
  explicit Timing(const Device &device) : device_(device) {}
  ~Timing();
  Timing(const Timing &) = delete;
  Timing &operator=(const Timing &) = delete;

  /// Forgets earlier marks.
  void rewind() { marks_ = 0; }
  /// Records when the stream is here: before and after each command that is
  /// timed, in turn.
  CUresult mark(CUstream stream);
  /// Pairs of marks.
  size_t count() const { return marks_ / 2; }
  /// What pair `i` says after a run whose last mark was at `now`; zeros where
  /// it is not known.
  bp_timestamp_t read(size_t i, uint64_t now) const;

private:
  const Device &device_;
  std::vector<CUevent> events_;
  size_t marks_ = 0;
};

} // namespace backplane::cuda

#endif // BACKPLANE_CUDA_TIMING_H
