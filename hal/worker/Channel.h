// SPDX-License-Identifier: Apache-2.0
//
// Channel.h: messages over a pair of file descriptors.
#ifndef BACKPLANE_WORKER_CHANNEL_H
#define BACKPLANE_WORKER_CHANNEL_H

#include "Frame.h"

#include <atomic>
#include <chrono>

namespace backplane::worker {

/// One end of a connection; owns neither descriptor. One thread may send while
/// another one receives.
class Channel {
public:
  using Clock = std::chrono::steady_clock;
  /// No deadline.
  static constexpr Clock::time_point never = Clock::time_point::max();

  Channel(int readFd, int writeFd) : read_(readFd), write_(writeFd) {}

  /// Fails with BP_STATUS_DEADLINE_EXCEEDED, or with BP_STATUS_UNAVAILABLE when
  /// the other end is gone, which raises no SIGPIPE. A deadline needs a
  /// descriptor that does not block.
  Status send(const Frame &message, Clock::time_point deadline = never);
  /// The same failures, and BP_STATUS_DATA_LOSS for damaged frames. None: the
  /// other end closed between two messages.
  Result<std::optional<Frame>> receive(Clock::time_point deadline = never);
  /// What came in and is no message, after what is still coming in now.
  std::string takeGarbage();
  /// When a byte came in last. Thread-safe.
  Clock::time_point lastHeard() const {
    return Clock::time_point(Clock::duration(heard_.load()));
  }

private:
  Status write(std::span<const uint8_t> bytes, Clock::time_point deadline);
  Result<std::optional<Frame>> next();

  int read_, write_;
  FrameParser parser_;
  Assembler assembler_;
  std::atomic<Clock::rep> heard_{Clock::now().time_since_epoch().count()};
};

} // namespace backplane::worker

#endif // BACKPLANE_WORKER_CHANNEL_H
