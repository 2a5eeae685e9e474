// SPDX-License-Identifier: Apache-2.0
//
// Process.h: a tool's side of a worker: starts it, talks to it, ends it.
#ifndef BACKPLANE_WORKER_PROCESS_H
#define BACKPLANE_WORKER_PROCESS_H

#include "Channel.h"
#include "Messages.h"

#include <functional>
#include <memory>
#include <sys/types.h>

namespace backplane::worker {

/// One running worker in a process group of its own, killed when this object
/// goes. Not thread-safe.
class Process {
public:
  using Milliseconds = std::chrono::milliseconds;

  /// Starts `command` (program, then arguments; searched in PATH when it has no
  /// slash) and waits for its HELLO. A failure says how the process ended. What
  /// a quiet one prints is dropped.
  static Result<std::unique_ptr<Process>>
  start(const std::vector<std::string> &command, Milliseconds timeout,
        bool quiet = false);
  /// The same for an application, which leaves this process's care at once and
  /// is told first what to open. How it ended, nobody knows.
  static Result<std::unique_ptr<Process>>
  startApplication(const std::vector<std::string> &command,
                   const BeginMessage &begin, Milliseconds timeout);
  /// The same with a copy of this process that ends with what `body` gives;
  /// its standard input and output are the connection. This process must have
  /// one thread and no open device.
  static Result<std::unique_ptr<Process>> fork(const std::function<int()> &body,
                                               Milliseconds timeout);
  ~Process();
  Process(const Process &) = delete;
  Process &operator=(const Process &) = delete;

  const Hello &hello() const { return hello_; }
  pid_t pid() const { return pid_; }

  /// Sends a request; answers come in order. Fails as Channel does; the worker
  /// is then of no more use.
  Status send(FrameType type, std::vector<uint8_t> payload,
              Milliseconds timeout);
  /// The answer to the oldest request without one. `timeout` is that of a
  /// worker which has a processor (WaitLimit). A worker that ended gives
  /// BP_STATUS_ABORTED and how: "signal 11 (Segmentation fault)".
  Result<Frame> receive(Milliseconds timeout);

  /// For who pairs requests and answers itself, in place of send and receive.
  Channel &channel() { return channel_; }
  /// How the process ended, when a failure of the channel says that it has
  /// gone; else that failure.
  Status ended(const Status &failure);
  /// Ends it, without waiting; what waits for it then fails.
  void terminate() const;

private:
  static Result<std::unique_ptr<Process>>
  spawned(const std::vector<std::string> &command, bool quiet);
  static Result<std::unique_ptr<Process>>
  greet(std::unique_ptr<Process> process, const std::string &name,
        Milliseconds timeout);
  Result<std::optional<Frame>> receiveMessage(Milliseconds timeout);
  Status withBanner(const Status &failure);
  Process(pid_t pid, int readFd, int writeFd)
      : pid_(pid), read_(readFd), write_(writeFd), channel_(readFd, writeFd) {}

  pid_t pid_;
  int read_, write_;
  Channel channel_;
  Hello hello_;
  bool isApplication_ = false; // its process is a child of pid_
  Status end_; // how it ended; no failure while pid_ is a process
  uint64_t sent_ = 0, received_ = 0;
};

/// The failure that an ERROR frame carries.
Status errorOf(const Frame &frame);

} // namespace backplane::worker

#endif // BACKPLANE_WORKER_PROCESS_H
