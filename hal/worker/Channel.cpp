// SPDX-License-Identifier: Apache-2.0
#include "Channel.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
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

/// Keeps SIGPIPE from this thread; what came in the meantime is dropped.
class NoSigpipe {
public:
  NoSigpipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    before_ = sigismember(&pending, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &old_);
  }
  ~NoSigpipe() {
    timespec none = {};
    if (!before_)
      while (sigtimedwait(&pipe_, nullptr, &none) < 0 && errno == EINTR)
        continue;
    pthread_sigmask(SIG_SETMASK, &old_, nullptr);
  }
  NoSigpipe(const NoSigpipe &) = delete;
  NoSigpipe &operator=(const NoSigpipe &) = delete;

private:
  sigset_t pipe_, old_;
  bool before_ = false; ///< one was pending already
};

} // namespace

Status Channel::write(std::span<const uint8_t> rest,
                      Clock::time_point deadline) {
  while (!rest.empty()) {
    if (Status s = waitFor(write_, POLLOUT, deadline); !s.ok())
      return s;
    ssize_t written = ::write(write_, rest.data(), rest.size());
    if (written < 0 && (errno == EINTR || errno == EAGAIN))
      continue;
    if (written <= 0)
      return gone();
    rest = rest.subspan(size_t(written));
  }
  return {};
}

Status Channel::send(const Frame &message, Clock::time_point deadline) {
  NoSigpipe guard;
  return eachFrame(message, [&](const FrameHeader &header,
                                std::span<const uint8_t> payload) {
    Status status = write(header, deadline);
    return status.ok() ? write(payload, deadline) : status;
  });
}

/// The next whole message of what has come in, or none yet.
Result<std::optional<Frame>> Channel::next() {
  while (true) {
    Result<std::optional<Frame>> frame = parser_.next();
    if (!frame || !*frame)
      return frame;
    Result<std::optional<Frame>> message = assembler_.add(std::move(**frame));
    if (!message || *message)
      return message;
  }
}

std::string Channel::takeGarbage() {
  constexpr size_t most = 4096;
  const auto until = Clock::now() + std::chrono::milliseconds(200);
  std::string text(parser_.rest().begin(), parser_.rest().end());
  char chunk[512];
  while (text.size() < most && waitFor(read_, POLLIN, until).ok()) {
    ssize_t got = read(read_, chunk, sizeof(chunk));
    if (got <= 0 && errno != EINTR)
      break;
    text.append(chunk, size_t(std::max<ssize_t>(got, 0)));
  }
  return text.substr(0, std::min(most, text.find(std::string_view(magicText))));
}

Result<std::optional<Frame>> Channel::receive(Clock::time_point deadline) {
  std::vector<uint8_t> chunk(1 << 16);
  while (true) {
    Result<std::optional<Frame>> message = next();
    if (!message || *message)
      return message;
    if (Status s = waitFor(read_, POLLIN, deadline); !s.ok())
      return s;
    ssize_t got = read(read_, chunk.data(), chunk.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
      continue;
    if (got < 0)
      return gone();
    if (got == 0 && (parser_.partial() || assembler_.partial()))
      return Status(BP_STATUS_UNAVAILABLE,
                    "the connection ended in the middle of a frame");
    if (got == 0)
      return std::optional<Frame>();
    heard_ = Clock::now().time_since_epoch().count();
    parser_.push({chunk.data(), size_t(got)});
  }
}

} // namespace backplane::worker
