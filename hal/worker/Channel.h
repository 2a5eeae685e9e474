// SPDX-License-Identifier: Apache-2.0
//
// Channel.h: frames over a pair of file descriptors.
#ifndef BACKPLANE_WORKER_CHANNEL_H
#define BACKPLANE_WORKER_CHANNEL_H

#include "Frame.h"

#include <chrono>

namespace backplane::worker {

/// One end of a connection; owns neither descriptor. Not thread-safe.
class Channel {
public:
  using Clock = std::chrono::steady_clock;
  /// No deadline.
  static constexpr Clock::time_point never = Clock::time_point::max();

  Channel(int readFd, int writeFd) : read_(readFd), write_(writeFd) {}

  /// Fails with BP_STATUS_DEADLINE_EXCEEDED, or with BP_STATUS_UNAVAILABLE when
  /// the other end is gone. A deadline needs a descriptor that does not block.
  Status send(const Frame &frame, Clock::time_point deadline = never);
  /// The same failures, and BP_STATUS_DATA_LOSS for damaged frames. None: the
  /// other end closed between two frames.
  Result<std::optional<Frame>> receive(Clock::time_point deadline = never);

private:
  int read_, write_;
  FrameParser parser_;
};

} // namespace backplane::worker

#endif // BACKPLANE_WORKER_CHANNEL_H
