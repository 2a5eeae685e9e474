// SPDX-License-Identifier: Apache-2.0
//
// Loop.cpp: frames on standard streams: a greeting, then answers to requests.
#include "Loop.h"
#include "Channel.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <new>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

namespace backplane::worker {
namespace {

/// Descriptors for frames; 0 and 1 become harmless.
struct Wires {
  int in = -1, out = -1;
};

Wires takeStandardStreams() {
  Wires wires{fcntl(0, F_DUPFD_CLOEXEC, 3), fcntl(1, F_DUPFD_CLOEXEC, 3)};
  int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(null, 0);
  dup2(2, 1);
  close(null);
  return wires;
}

/// To no more than the process may take anyway.
Status limitMemory(uint64_t bytes) {
  rlimit limit = {};
  getrlimit(RLIMIT_DATA, &limit);
  limit.rlim_cur = limit.rlim_max = std::min<rlim_t>(bytes, limit.rlim_max);
  if (bytes && setrlimit(RLIMIT_DATA, &limit) != 0)
    return Status(BP_STATUS_RESOURCE_EXHAUSTED,
                  "cannot limit the memory of the worker");
  return {};
}

Frame errorFrame(const Status &status, uint64_t request) {
  return {FrameType::Error, request,
          encode(ErrorMessage{status.code(), status.message()})};
}

/// The standard library throws when memory is short; that becomes a failure.
Status withinMemory(const std::function<Status()> &body) {
  try {
    return body();
  } catch (const std::bad_alloc &) {
    return Status(BP_STATUS_RESOURCE_EXHAUSTED, "the worker is out of memory");
  }
}

Channel *serving; ///< while answerAll runs

/// Answers until the tool closes; gives the exit code.
int answerAll(Channel &channel, const Handler &handler) {
  serving = &channel;
  while (true) {
    std::optional<Frame> request;
    Status received = withinMemory([&]() -> Status {
      Result<std::optional<Frame>> frame = channel.receive();
      if (frame)
        request = std::move(*frame);
      return frame.status();
    });
    if (!received.ok()) {
      (void)channel.send(errorFrame(received, 0));
      return 1;
    }
    if (!request)
      return 0;
    Frame answer{FrameType::Error, request->request, {}};
    Status status = withinMemory([&] { return handler(*request, answer); });
    if (!status.ok())
      answer = errorFrame(status, request->request);
    if (!channel.send(answer).ok())
      return 1;
  }
}

} // namespace

void answerAndLeave(const Frame &answer) {
  (void)serving->send(answer);
  _exit(0);
}

int serve(const WorkerOptions &options,
          const std::function<Result<Handler>(Hello &greeting)> &open) {
  Wires wires = takeStandardStreams();
  // A worker that hangs must not outlive a tool that was killed.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::signal(SIGPIPE, SIG_IGN);
  Channel channel(wires.in, wires.out);
  Hello greeting;
  Status status = limitMemory(options.memoryLimit);
  Result<Handler> handler =
      status.ok() ? open(greeting) : Result<Handler>(status);
  if (!handler) {
    (void)channel.send(errorFrame(handler.status(), 0));
    return 1;
  }
  if (!channel.send({FrameType::Hello, 0, encode(greeting)}).ok())
    return 1;
  return answerAll(channel, *handler);
}

namespace {

/// An application whose tool has gone ends, even while it works.
void endWithTool(int fd) {
  std::thread([fd] {
    pollfd connection = {fd, 0, 0};
    while (poll(&connection, 1, -1) < 0 && errno == EINTR)
      ;
    _exit(1);
  }).detach();
}

Result<BeginMessage> receiveBegin(Channel &channel) {
  auto frame = channel.receive();
  if (!frame)
    return frame.status();
  BeginMessage begin;
  if (!*frame || (*frame)->type != FrameType::Begin)
    return dataLoss("an application must be told first what to open");
  if (Status s = decode((*frame)->payload, begin); !s.ok())
    return s;
  return begin;
}

} // namespace

int serveBegun(const std::function<Result<Handler>(const BeginMessage &begin,
                                                   Hello &greeting)> &open) {
  Wires wires = takeStandardStreams();
  std::signal(SIGPIPE, SIG_IGN);
  Channel channel(wires.in, wires.out);
  auto begin = receiveBegin(channel);
  if (!begin)
    return 1;
  Hello greeting;
  Status status = limitMemory(begin->memoryLimit);
  Result<Handler> handler =
      status.ok() ? open(*begin, greeting) : Result<Handler>(status);
  if (!handler) {
    (void)channel.send(errorFrame(handler.status(), 0));
    return 1;
  }
  endWithTool(wires.in);
  if (!channel.send({FrameType::Hello, 0, encode(greeting)}).ok())
    return 1;
  return answerAll(channel, *handler);
}

} // namespace backplane::worker
