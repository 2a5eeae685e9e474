// SPDX-License-Identifier: Apache-2.0
#include "Channel.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <unistd.h>

namespace backplane::worker {
namespace {

Status gone() {
  return Status(BP_STATUS_UNAVAILABLE,
                std::string("the worker's connection failed: ") +
                    strerror(errno));
}

/// Waits until the descriptor is ready.
Status waitFor(int fd, short events, Channel::Clock::time_point deadline) {
  using std::chrono::milliseconds;
  while (true) {
    int timeout = -1;
    if (deadline != Channel::never) {
      auto left =
          std::chrono::ceil<milliseconds>(deadline - Channel::Clock::now());
      timeout = int(std::clamp<int64_t>(left.count(), 0, 1'000'000'000));
    }
    pollfd request = {fd, events, 0};
    int ready = poll(&request, 1, timeout);
    if (ready > 0)
      return {};
    if (ready == 0)
      return Status(BP_STATUS_DEADLINE_EXCEEDED, "the worker did not answer");
    if (errno != EINTR)
      return gone();
  }
}

} // namespace

Status Channel::send(const Frame &frame, Clock::time_point deadline) {
  std::vector<uint8_t> bytes = encodeFrame(frame);
  std::span<const uint8_t> rest(bytes);
  while (!rest.empty()) {
    if (Status s = waitFor(write_, POLLOUT, deadline); !s.ok())
      return s;
    ssize_t written = write(write_, rest.data(), rest.size());
    if (written < 0 && (errno == EINTR || errno == EAGAIN))
      continue;
    if (written <= 0)
      return gone();
    rest = rest.subspan(size_t(written));
  }
  return {};
}

Result<std::optional<Frame>> Channel::receive(Clock::time_point deadline) {
  std::vector<uint8_t> chunk(1 << 16);
  while (true) {
    Result<std::optional<Frame>> frame = parser_.next();
    if (!frame || *frame)
      return frame;
    if (Status s = waitFor(read_, POLLIN, deadline); !s.ok())
      return s;
    ssize_t got = read(read_, chunk.data(), chunk.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
      continue;
    if (got < 0)
      return gone();
    if (got == 0 && parser_.partial())
      return Status(BP_STATUS_UNAVAILABLE,
                    "the connection ended in the middle of a frame");
    if (got == 0)
      return std::optional<Frame>();
    parser_.push({chunk.data(), size_t(got)});
  }
}

} // namespace backplane::worker
