// SPDX-License-Identifier: Apache-2.0
#include "hal/core/Trial.h"
#include "sdk/support/AtomicFile.h"
#include "sdk/support/FileTrust.h"
#include "sdk/support/Hash.h"
#include "sdk/support/TextViews.h"

#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace backplane {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds timeout{20};
constexpr uint64_t maxOutcomeBytes = 4096;

std::string workerProgram() {
  std::filesystem::path plugins = systemPluginDir();
  return plugins.parent_path().parent_path().parent_path() / "bin/bp-worker";
}

/// What the outcome depends on; empty when some of it cannot be read.
std::string keyOf(const Manifest &manifest, const std::string &program) {
  struct stat worker = {};
  if (stat(program.c_str(), &worker) != 0)
    return "";
  std::string text = std::to_string(worker.st_size) + "-" +
                     std::to_string(worker.st_mtim.tv_sec) + "-" +
                     std::to_string(worker.st_mtim.tv_nsec);
  for (const std::string &file :
       {manifest.path, manifest.driver, manifest.compiler, manifest.kernels,
        manifest.passes.path}) {
    if (file.empty())
      continue;
    Result<std::string> hash = xxhOfFile(file);
    if (!hash)
      return "";
    text += "-" + *hash;
  }
  return text;
}

/// A process on trial, with the pipe that it writes to.
struct OnTrial {
  pid_t pid = -1;
  int fd = -1;
};

int spawnTrial(const std::vector<std::string> &command, OnTrial &trial) {
  std::array<int, 2> ends = {};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    return errno;
  std::vector<char *> arguments;
  for (const std::string &argument : command)
    arguments.push_back(const_cast<char *>(argument.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  int error = posix_spawn(&trial.pid, arguments[0], &actions, &attributes,
                          arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(ends[1]);
  if (error)
    close(ends[0]);
  else
    trial.fd = ends[0];
  return error;
}

/// Reads the names of functions until "done" or the end; false when that takes
/// too long. `last` is the one that was called last.
bool follow(int fd, std::string &last) {
  const Clock::time_point end = Clock::now() + timeout;
  std::string text;
  for (;;) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - Clock::now());
    pollfd ready = {fd, POLLIN, 0};
    int found = left.count() > 0 ? poll(&ready, 1, int(left.count())) : 0;
    if (found < 0 && errno == EINTR)
      continue;
    if (found <= 0)
      return false;
    std::array<char, 4096> bytes;
    ssize_t count = read(fd, bytes.data(), bytes.size());
    if (count <= 0)
      return true;
    text.append(bytes.data(), size_t(count));
    size_t finish = text.rfind('\n');
    if (finish == std::string::npos)
      continue;
    size_t start = finish ? text.rfind('\n', finish - 1) + 1 : 0;
    last = text.substr(start, finish - start);
    text.erase(0, finish);
    if (last == trialDone)
      return true;
  }
}

/// Why the plug-in did not pass; empty when it did.
std::string outcomeOf(const OnTrial &trial) {
  std::string last = "start";
  bool inTime = follow(trial.fd, last);
  close(trial.fd);
  kill(-trial.pid, SIGKILL);
  int status = 0;
  while (waitpid(trial.pid, &status, 0) < 0)
    if (errno != EINTR)
      return "";
  if (!inTime)
    return last + ": the plug-in did not come back within " +
           std::to_string(timeout.count()) + " s";
  if (last == trialDone)
    return "";
  return last + ": the plug-in ended its process with " + howItEnded(status);
}

std::string storedOutcome(const std::string &path, const FileTrust &trust,
                          bool &known) {
  Result<TrustedFile> file = trust.open(path, "outcome of a trial");
  auto bytes = file ? file->read(maxOutcomeBytes)
                    : Result<std::vector<uint8_t>>(file.status());
  known = bytes.ok();
  return known ? std::string(bytes->begin(), bytes->end()) : std::string();
}

} // namespace

std::string howItEnded(int status) {
  if (WIFSIGNALED(status))
    return "signal " + std::to_string(WTERMSIG(status)) + " (" +
           strsignal(WTERMSIG(status)) + ")";
  return "exit code " + std::to_string(WEXITSTATUS(status));
}

Status tryPlugin(const Manifest &manifest, const LoaderOptions &options) {
  const std::string program = workerProgram();
  if (options.cacheDir.empty() ||
      std::filesystem::path(manifest.path).parent_path() == systemPluginDir())
    return {};
  const std::string key = keyOf(manifest, program);
  if (key.empty())
    return {};
  const std::string folder = options.cacheDir + "/trials";
  const std::string path = folder + "/" + hashBytes(asBytes(key));
  bool known = false;
  std::string outcome = storedOutcome(path, options.trust, known);
  if (!known) {
    std::vector<std::string> command = {program, "trial", manifest.path};
    for (const std::string &trusted : options.trust.folders())
      command.push_back(trusted);
    OnTrial trial;
    if (spawnTrial(command, trial) != 0)
      return {};
    outcome = outcomeOf(trial);
    if (makePrivateFolders(folder).ok())
      (void)writeFileAtomically(path, asBytes(outcome));
  }
  if (outcome.empty())
    return {};
  return Status(BP_STATUS_FAILED_PRECONDITION,
                outcome +
                    " when it was tried; it is not loaded until it has "
                    "changed, or until " +
                    path + " is removed");
}

} // namespace backplane
