// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/nvptx/Assemble.h"
#include "sdk/emit/nvptx/Ptxas.h"
#include "sdk/support/TemporaryFolder.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <poll.h>
#include <regex>
#include <spawn.h>
#include <sstream>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace backplane {
namespace {

using Clock = std::chrono::steady_clock;

Status exhausted(const std::string &what) {
  return Status(BP_STATUS_RESOURCE_EXHAUSTED, what);
}

/// A started program, with the end of the pipe that it writes to. It is killed
/// unless it was waited for.
class Child {
public:
  ~Child() {
    if (pid_ > 0)
      kill();
    if (fd_ >= 0)
      close(fd_);
  }
  Status start(std::vector<std::string> command, const PtxasLimits &limits);
  /// Reads up to the end of the output, or until `until`.
  Status drain(std::string &output, Clock::time_point until) const;
  /// Its wait status.
  int wait() {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status;
  }

private:
  void kill() {
    ::kill(pid_, SIGKILL);
    wait();
  }

  pid_t pid_ = -1;
  int fd_ = -1;
};

Status Child::start(std::vector<std::string> command,
                    const PtxasLimits &limits) {
  std::array<int, 2> ends = {};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    return exhausted(std::string("no pipe for ptxas: ") + strerror(errno));
  fd_ = ends[0];
  std::vector<char *> arguments;
  for (std::string &argument : command)
    arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  int error = posix_spawn(&pid_, arguments[0], &actions, nullptr,
                          arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error) {
    pid_ = -1;
    return exhausted("cannot start " + command[0] + ": " + strerror(error));
  }
  // The limit of CPU time ends it also when nobody is left who waits.
  const rlimit memory = {limits.memoryBytes, limits.memoryBytes};
  const rlimit time = {rlim_t(limits.time.count()),
                       rlim_t(limits.time.count())};
  prlimit(pid_, RLIMIT_AS, &memory, nullptr);
  prlimit(pid_, RLIMIT_CPU, &time, nullptr);
  return {};
}

Status Child::drain(std::string &output, Clock::time_point until) const {
  constexpr size_t most = size_t(16) << 20;
  std::array<char, 4096> part = {};
  for (;;) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - Clock::now());
    pollfd waiting = {fd_, POLLIN, 0};
    int ready = left.count() <= 0 ? 0 : poll(&waiting, 1, int(left.count()));
    if (ready == 0)
      return exhausted("ptxas has not ended in time");
    ssize_t count = ready < 0 ? -1 : read(fd_, part.data(), part.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return {};
    if (output.size() < most)
      output.append(part.data(), size_t(count));
  }
}

/// What a program writes; a failure has its first lines.
Result<std::string> outputOf(std::vector<std::string> command,
                             const PtxasLimits &limits) {
  Child child;
  std::string output;
  auto until = Clock::now() + limits.time;
  if (Status s = child.start(std::move(command), limits); !s.ok())
    return s;
  if (Status s = child.drain(output, until); !s.ok())
    return s;
  int status = child.wait();
  if (WIFSIGNALED(status))
    return exhausted("ptxas was ended by signal " +
                     std::to_string(WTERMSIG(status)) + "; it may take " +
                     std::to_string(limits.memoryBytes >> 20) + " MiB");
  if (WEXITSTATUS(status)) {
    constexpr size_t shown = 500;
    return internalError("ptxas refuses the PTX: " + output.substr(0, shown));
  }
  return output;
}

/// "ptxas V13.5.37" of what --version prints.
std::string versionOf(const std::string &text) {
  std::smatch found;
  return "ptxas " + (std::regex_search(text, found, std::regex("V[0-9.]+"))
                         ? found.str()
                         : "of an unknown version");
}

/// One line for each entry, of what -v prints.
std::vector<std::string> figuresOf(const std::string &text) {
  const std::regex entry("Compiling entry function '([^']+)'"),
      spills("([0-9]+) bytes spill stores, ([0-9]+) bytes spill loads"),
      used("Used ([0-9]+) registers"), shared("([0-9]+) bytes smem");
  std::vector<std::string> notes;
  std::string name, spilled;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::smatch found;
    if (std::regex_search(line, found, entry))
      name = found[1];
    else if (std::regex_search(line, found, spills))
      spilled = found[1].str() + " bytes of spill stores, " + found[2].str() +
                " of spill loads";
    else if (std::regex_search(line, found, used)) {
      std::string registers = found[1];
      bool any = std::regex_search(line, found, shared);
      notes.push_back(name + ": " + registers + " registers, " + spilled +
                      ", " + (any ? found[1].str() : "0") +
                      " bytes of shared memory");
    }
  }
  return notes;
}

Result<std::vector<uint8_t>> readBytes(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file || bytes.empty())
    return internalError("ptxas has written no cubin");
  return bytes;
}

} // namespace

Result<Cubin> assemble(std::string_view ptx, const std::string &cpu,
                       const PtxasLimits &limits) {
  Result<std::string> program = findPtxas(FileTrust());
  if (!program)
    return program.status();
  TemporaryFolder folder;
  std::string source = folder.path() + "/kernels.ptx";
  std::string image = folder.path() + "/kernels.cubin";
  if (folder.path().empty() ||
      !(std::ofstream(source, std::ios::binary) << ptx).flush())
    return exhausted("files for ptxas cannot be written to the temporary "
                     "folder; set TMPDIR to one that has room");
  auto version = outputOf({*program, "--version"}, limits);
  if (!version)
    return version.status();
  auto said = outputOf({*program, "-v", "--gpu-name", cpu, source, "-o", image},
                       limits);
  if (!said)
    return said.status();
  auto bytes = readBytes(image);
  if (!bytes)
    return bytes.status();
  Cubin cubin{std::move(*bytes), figuresOf(*said)};
  cubin.notes.insert(cubin.notes.begin(), versionOf(*version));
  return cubin;
}

} // namespace backplane
