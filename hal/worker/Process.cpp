// SPDX-License-Identifier: Apache-2.0
#include "Process.h"
#include "WaitLimit.h"
#include "sdk/support/ReadableText.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

extern char **environ;

namespace backplane::worker {
namespace {

struct Pipe {
  int read = -1, write = -1;
  bool open() {
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0)
      return false;
    read = fds[0];
    write = fds[1];
    return true;
  }
  void close() {
    for (int fd : {read, write})
      if (fd >= 0)
        ::close(fd);
  }
};

void doNotBlock(int fd) { fcntl(fd, F_SETFL, O_NONBLOCK); }

/// 0, or the error number.
int spawn(const std::vector<std::string> &command, int in, int out, bool quiet,
          pid_t &pid) {
  std::vector<char *> arguments;
  for (const std::string &argument : command)
    arguments.push_back(const_cast<char *>(argument.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, in, 0);
  posix_spawn_file_actions_adddup2(&actions, out, 1);
  if (quiet)
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  int error = posix_spawnp(&pid, arguments[0], &actions, &attributes,
                           arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return error;
}

/// Starts a program that may have been written a moment ago: it is busy as long
/// as a child that another thread made meanwhile has not started its own.
int spawnWhenFree(const std::vector<std::string> &command, int in, int out,
                  bool quiet, pid_t &pid) {
  constexpr int tries = 500;
  int error = spawn(command, in, out, quiet, pid);
  for (int i = 0; error == ETXTBSY && i < tries; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    error = spawn(command, in, out, quiet, pid);
  }
  return error;
}

std::string describeEnd(int status) {
  if (WIFSIGNALED(status))
    return "signal " + std::to_string(WTERMSIG(status)) + " (" +
           strsignal(WTERMSIG(status)) + ")";
  constexpr int notFound = 127; // of env and of shells
  int code = WEXITSTATUS(status);
  return "exit code " + std::to_string(code) +
         (code == notFound ? ": a program or library was not found" : "");
}

} // namespace

Status errorOf(const Frame &frame) {
  ErrorMessage message;
  if (Status s = decode(frame.payload, message); !s.ok())
    return s;
  if (message.code == BP_STATUS_OK)
    return dataLoss("a worker reported an error without a code");
  return Status(message.code, message.text);
}

Result<std::unique_ptr<Process>>
Process::spawned(const std::vector<std::string> &command, bool quiet) {
  Pipe in, out;
  pid_t pid = -1;
  int error = in.open() && out.open() ? 0 : errno;
  if (!error)
    error = spawnWhenFree(command, in.read, out.write, quiet, pid);
  if (error) {
    in.close();
    out.close();
    return notFound("cannot start " + command[0] + ": " + strerror(error));
  }
  close(in.read);
  close(out.write);
  return std::unique_ptr<Process>(new Process(pid, out.read, in.write));
}

Result<std::unique_ptr<Process>>
Process::start(const std::vector<std::string> &command, Milliseconds timeout,
               bool quiet) {
  auto process = spawned(command, quiet);
  if (!process)
    return process;
  return greet(std::move(*process), command[0], timeout);
}

Result<std::unique_ptr<Process>>
Process::startApplication(const std::vector<std::string> &command,
                          const BeginMessage &begin, Milliseconds timeout) {
  auto process = spawned(command, false);
  if (!process)
    return process;
  (*process)->isApplication_ = true;
  Status sent = (*process)->send(FrameType::Begin, encode(begin), timeout);
  if (!sent.ok())
    return sent.within(command[0]);
  return greet(std::move(*process), command[0], timeout);
}

Result<std::unique_ptr<Process>> Process::fork(const std::function<int()> &body,
                                               Milliseconds timeout) {
  Pipe in, out;
  pid_t pid = in.open() && out.open() ? ::fork() : -1;
  if (pid == 0) {
    setpgid(0, 0);
    dup2(in.read, 0);
    dup2(out.write, 1);
    in.close();
    out.close();
    _exit(body());
  }
  if (pid < 0) {
    Status status =
        notFound(std::string("cannot start a worker: ") + strerror(errno));
    in.close();
    out.close();
    return status;
  }
  setpgid(pid, pid);
  close(in.read);
  close(out.write);
  std::unique_ptr<Process> process(new Process(pid, out.read, in.write));
  return greet(std::move(process), "the worker", timeout);
}

Result<std::unique_ptr<Process>>
Process::greet(std::unique_ptr<Process> process, const std::string &name,
               Milliseconds timeout) {
  doNotBlock(process->write_);
  doNotBlock(process->read_);
  process->sent_ = 1; // HELLO answers no request, but is waited for like one
  Result<Frame> hello = process->receive(timeout);
  if (!hello)
    return process->withBanner(hello.status()).within(name);
  if (hello->type == FrameType::Error)
    return errorOf(*hello).within(name);
  if (Status s = decode(hello->payload, process->hello_); !s.ok())
    return s;
  process->sent_ = process->received_ = 0;
  return process;
}

/// A launcher that prints something puts it where the greeting belongs.
Status Process::withBanner(const Status &failure) {
  std::string text = channel_.takeGarbage();
  if (text.empty())
    return failure;
  return Status(BP_STATUS_DATA_LOSS,
                "printed '" + readable(text, 300) +
                    "' where the worker's greeting belongs, so the stream is "
                    "damaged; let the launcher print nothing on standard "
                    "output (" +
                    failure.message() + ")");
}

Process::~Process() {
  close(write_);
  close(read_);
  if (pid_ < 0)
    return;
  kill(-pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void Process::terminate() const {
  if (pid_ > 0)
    kill(-pid_, SIGKILL);
}

Status Process::ended(const Status &failure) {
  if (failure.code() != BP_STATUS_UNAVAILABLE)
    return failure;
  if (pid_ < 0)
    return end_;
  if (isApplication_)
    return Status(BP_STATUS_ABORTED, "the application has ended");
  // Its descriptors close a moment before it can be waited for.
  int status = 0;
  for (int i = 0; i < 200; ++i) {
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      kill(-pid_, SIGKILL);
      pid_ = -1;
      return end_ = Status(BP_STATUS_ABORTED,
                           "the worker ended with " + describeEnd(status));
    }
    std::this_thread::sleep_for(Milliseconds(5));
  }
  return Status(BP_STATUS_ABORTED, "the worker closed its connection");
}

Status Process::send(FrameType type, std::vector<uint8_t> payload,
                     Milliseconds timeout) {
  Status status = channel_.send({type, ++sent_, std::move(payload)},
                                Channel::Clock::now() + timeout);
  return status.ok() ? status : ended(status);
}

Result<std::optional<Frame>> Process::receiveMessage(Milliseconds timeout) {
  WaitLimit limit(timeout);
  const auto start = processorTime(pid_);
  for (Milliseconds wait = timeout;;) {
    auto message = channel_.receive(Channel::Clock::now() + wait);
    if (message || message.status().code() != BP_STATUS_DEADLINE_EXCEEDED)
      return message;
    const auto now = processorTime(pid_);
    wait = start && now ? limit.more(wait, *now - *start) : Milliseconds(0);
    if (wait == Milliseconds(0))
      return message;
  }
}

Result<Frame> Process::receive(Milliseconds timeout) {
  if (received_ == sent_)
    return internalError("the worker was asked nothing");
  auto frame = receiveMessage(timeout);
  if (!frame)
    return ended(frame.status());
  if (!*frame)
    return ended(Status(BP_STATUS_UNAVAILABLE, "the worker has gone"));
  ++received_;
  bool greeting = (*frame)->request == 0;
  if (!greeting && (*frame)->request != received_)
    return dataLoss("the worker answered another request");
  return std::move(**frame);
}

} // namespace backplane::worker
