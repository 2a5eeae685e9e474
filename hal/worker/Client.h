// SPDX-License-Identifier: Apache-2.0
//
// Client.h: a worker that several threads ask at once. Requests are sent as
// they come and answered in that order; each is waited for by its number. When
// the worker ends, gives no sign of life for too long or sends nonsense, all
// that is asked and will be asked fails with the reason; start another one.
#ifndef BACKPLANE_WORKER_CLIENT_H
#define BACKPLANE_WORKER_CLIENT_H

#include "Process.h"
#include "Workers.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>

namespace backplane::worker {

/// Thread-safe.
class Client {
public:
  using Milliseconds = Process::Milliseconds;

  /// Starts a named worker with these arguments.
  static Result<std::shared_ptr<Client>>
  start(const NamedWorker &worker, const std::vector<std::string> &arguments);
  ~Client();
  Client(const Client &) = delete;
  Client &operator=(const Client &) = delete;

  const Hello &hello() const { return process_->hello(); }
  pid_t pid() const { return process_->pid(); }
  /// Whether it is of no more use.
  bool lost() const;

  /// Sends a request and gives its number.
  Result<uint64_t> send(FrameType type, Payload payload);
  /// The answer to a request, once; an ERROR frame is a failure.
  Result<Frame> wait(uint64_t request);
  /// Whether wait would return at once.
  bool answered(uint64_t request) const;
  /// send and wait; fails on an answer of another type.
  Result<Payload> ask(FrameType type, Payload payload, FrameType answer);
  /// Lets the answer to a request be dropped when it comes.
  void forget(uint64_t request);

  /// Sends an artifact unless the worker has it, in memory or on its disk.
  Status give(const std::string &hash, std::span<const uint8_t> bytes);

private:
  Client(std::string name, Milliseconds timeout,
         std::unique_ptr<Process> process);
  void read();
  Status take(Frame frame);
  void lose(const Status &status);
  Channel::Clock::time_point deadline(uint64_t bytes) const;

  std::string name_; ///< for people
  Milliseconds timeout_;
  std::unique_ptr<Process> process_;
  std::mutex sending_; ///< one message at a time
  uint64_t last_ = 0;  ///< number of the latest request
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<uint64_t, Channel::Clock::time_point> asked_; ///< not answered yet
  std::set<uint64_t> forgotten_;
  std::map<uint64_t, Frame> answers_;
  Status lost_;
  std::thread reader_; ///< last: uses all the others
};

} // namespace backplane::worker

#endif // BACKPLANE_WORKER_CLIENT_H
