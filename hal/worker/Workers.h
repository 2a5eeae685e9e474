// SPDX-License-Identifier: Apache-2.0
//
// Workers.h: workers that have a name. A file of the user says how each is
// started; "local" (this machine) and "arm64", "arm64-neon", "arm64-sve512"
// (AArch64 under qemu) are predefined. docs/howto/run-on-another-machine.md
// describes the file.
#ifndef BACKPLANE_WORKER_WORKERS_H
#define BACKPLANE_WORKER_WORKERS_H

#include "backplane/cpp/Result.h"
#include "sdk/support/FileTrust.h"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace backplane::worker {

/// "worker:NAME/DEVICE", where DEVICE is a URI on the worker's side. Further
/// devices of the same worker stand behind a plus, written in full:
/// "worker:NAME/vulkan+worker:NAME/host".
struct RemoteUri {
  std::string worker;
  std::string device;
  std::vector<std::string> further; ///< URIs on the worker's side

  /// Whether the text means a device behind a worker.
  static bool matches(std::string_view text) {
    return text.starts_with("worker:");
  }
  static Result<RemoteUri> parse(std::string_view text);
  /// The driver of the device.
  std::string driver() const { return device.substr(0, device.find(':')); }
  /// All devices as the worker takes them: "vulkan+host".
  std::string devices() const;
};

/// Program and arguments in front of a worker's command, like `ssh box`.
struct Launcher {
  std::vector<std::string> words;
  /// It joins its arguments with spaces and gives them to a shell, as ssh does:
  /// each is quoted for that shell.
  bool throughShell = false;

  /// Splits text into words as a shell does, with ' and " around words that
  /// have spaces. A program called ssh goes through a shell.
  static Result<Launcher> parse(std::string_view text);
  /// Launcher, program and arguments as one command.
  std::vector<std::string>
  command(const std::vector<std::string> &programAndArguments) const;
};

struct NamedWorker {
  std::string name;
  Launcher launcher;                  ///< no words: none
  std::string program;                ///< bp-worker, as the launcher sees it
  std::vector<std::string> arguments; ///< of bp-worker, before others
  /// How long it may give no sign of life while it is asked something.
  std::chrono::seconds timeout{300};
  std::string origin; ///< file that it stands in, or "predefined"

  /// The command that starts it with these arguments. A worker behind a
  /// launcher has plug-ins of its own side: it does not see which ones this
  /// process was told to use.
  std::vector<std::string>
  command(const std::vector<std::string> &arguments) const;
};

/// The predefined workers and those of `file`, which win, by name. A file that
/// is not there holds none. Fails on a file that is not as documented, or not
/// to be trusted: it says which programs are started.
Result<std::vector<NamedWorker>> readWorkers(const std::string &file,
                                             const FileTrust &trust = {});

/// One of them. A failure names those that there are; for "arm64" without its
/// build it says how to make it.
Result<NamedWorker> findWorker(const std::string &name, const std::string &file,
                               const FileTrust &trust = {});

/// How a tool starts both workers for a device: further arguments that need no
/// quoting may follow.
struct WorkerCommands {
  std::vector<std::string> run;     ///< bp-worker
  std::vector<std::string> compile; ///< bp-compile-worker, always here
};
/// For a device URI, behind a named worker or not; the programs of this machine
/// are in `folder`.
Result<WorkerCommands> commandsFor(const std::string &device,
                                   const std::string &folder);

/// The word as a POSIX shell takes it.
std::string quoteForShell(const std::string &word);

} // namespace backplane::worker

#endif // BACKPLANE_WORKER_WORKERS_H
