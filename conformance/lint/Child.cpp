// SPDX-License-Identifier: Apache-2.0
#include "Child.h"
#include "hal/core/Trial.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace backplane::lint {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view done = "done";
constexpr size_t longestText = 3000; ///< so that a record is one write

/// Becomes a process that ends with its parent and leaves no core.
void settle(int fd) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setpgid(0, 0);
  const rlimit noCore = {0, 0};
  setrlimit(RLIMIT_CORE, &noCore);
  int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (nothing >= 0 && fd != stream)
      dup2(nothing, stream);
}

/// Waits until there is something to read; false when that takes too long.
bool readable(int fd, Clock::time_point end) {
  for (;;) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - Clock::now());
    pollfd ready = {fd, POLLIN, 0};
    int found = poll(&ready, 1, int(std::max<int64_t>(left.count(), 0)));
    if (found >= 0 || errno != EINTR)
      return found > 0;
  }
}

/// Takes whole records, "word text\n", off the front of `bytes`; whether the
/// last one is that the work is done.
bool hearAll(std::string &bytes, const Hear &hear) {
  for (size_t end; (end = bytes.find('\n')) != std::string::npos;) {
    std::string line = bytes.substr(0, end);
    bytes.erase(0, end + 1);
    size_t space = std::min(line.find(' '), line.size());
    std::string word = line.substr(0, space);
    if (word == done)
      return true;
    hear(word, line.substr(std::min(space + 1, line.size())));
  }
  return false;
}

/// Whether the work came to its end; `inTime` whether it kept telling.
bool listen(int fd, const Hear &hear, std::chrono::milliseconds timeout,
            bool &inTime) {
  std::string bytes;
  for (;;) {
    inTime = readable(fd, Clock::now() + timeout);
    std::array<char, 4096> part;
    ssize_t count = inTime ? read(fd, part.data(), part.size()) : 0;
    if (count <= 0)
      return false;
    bytes.append(part.data(), size_t(count));
    if (hearAll(bytes, hear))
      return true;
  }
}

/// Ends the child and all that it started. One that is not killed at once has a
/// second to end by itself.
int endOf(pid_t child, bool atOnce) {
  constexpr int turns = 100;
  int status = 0;
  for (int i = 0; i < turns && !atOnce; ++i) {
    if (waitpid(child, &status, WNOHANG) == child) {
      kill(-child, SIGKILL);
      return status;
    }
    usleep(10000);
  }
  kill(-child, SIGKILL);
  kill(child, SIGKILL);
  while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    continue;
  return status;
}

/// What a plug-in throws ends the process, and not in the caller's frames.
[[noreturn]] void serve(const std::function<void(const Teller &)> &work,
                        const Teller &teller) noexcept {
  work(teller);
  teller.tell(done, "");
  _exit(0);
}

} // namespace

void Teller::tell(std::string_view word, std::string_view text) const {
  std::string record(word);
  record += ' ';
  record += text.substr(0, longestText);
  std::replace(record.begin(), record.end(), '\n', ' ');
  record += '\n';
  (void)!write(fd_, record.data(), record.size());
}

std::string inChild(const std::function<void(const Teller &)> &work,
                    const Hear &hear, std::chrono::milliseconds timeout) {
  std::array<int, 2> ends = {};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    return std::string("no pipe to a process: ") + std::strerror(errno);
  pid_t child = fork();
  if (child < 0)
    return std::string("no process: ") + std::strerror(errno);
  if (child == 0) {
    close(ends[0]);
    settle(ends[1]);
    serve(work, Teller(ends[1]));
  }
  close(ends[1]);
  bool inTime = true, whole = listen(ends[0], hear, timeout, inTime);
  close(ends[0]);
  int status = endOf(child, whole || !inTime);
  if (whole)
    return "";
  return inTime ? "the plug-in ended its process with " + howItEnded(status)
                : "the plug-in did not come back within " +
                      std::to_string(timeout.count()) + " ms";
}

} // namespace backplane::lint
