// SPDX-License-Identifier: Apache-2.0
//
// SetUp.cpp: how the workers of a run are started, and within which limits.
#include "Commands.h"
#include "conformance/cases/Judge.h"
#include "hal/worker/Workers.h"
#include "sdk/support/ProgramFolder.h"

#include <filesystem>
#include <unistd.h>

namespace backplane::conformance {
namespace {

/// A sanitizer takes more private memory than any limit would leave.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif
#else
constexpr bool sanitized = false;
#endif

uint64_t memoryLimit(const RunOptions &options) {
  if (sanitized && !options.memoryMiB)
    return 0;
  uint64_t all =
      uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGESIZE));
  return options.memoryMiB ? options.memoryMiB << 20 : all / 4 * 3;
}

/// Where the programs of workers are.
std::string folderOf(const RunOptions &options) {
  return options.workerFolder.empty() ? programFolder().string()
                                      : options.workerFolder;
}

/// The commands of both workers, behind --launcher or a worker's own.
Result<worker::WorkerCommands> commandsOf(const RunOptions &options) {
  bool remote = worker::RemoteUri::matches(options.device);
  if (remote && !(options.launcher + options.workerFolder).empty())
    return invalidArgument("--launcher and --worker-folder do not go with "
                           "device '" +
                           options.device +
                           "', whose worker has a launcher of its own");
  auto commands = worker::commandsFor(options.device, folderOf(options));
  auto launcher = worker::Launcher::parse(options.launcher);
  if (!commands || !launcher)
    return commands ? launcher.status() : commands.status();
  if (!remote) {
    commands->run = launcher->command(commands->run);
    commands->compile = launcher->command(commands->compile);
  }
  return commands;
}

/// Applications are started on this machine only.
Status setUpApplication(RunOptions &options) {
  JobOptions &job = options.suite.job;
  ApplicationOptions &application = job.application;
  application.begin.device = options.device;
  application.begin.memoryLimit = memoryLimit(options);
  application.timeout = job.timeout;
  application.seed = options.suite.selection.seed;
  std::string program = folderOf(options) + "/bp-application";
  std::error_code code;
  if (!worker::RemoteUri::matches(options.device) && options.launcher.empty() &&
      std::filesystem::exists(program, code))
    application.program = program;
  if (job.disguise && application.program.empty())
    return invalidArgument("--disguise needs a device of this machine, no "
                           "launcher, and bp-application beside this program");
  return {};
}

} // namespace

Status setUpJob(RunOptions &options) {
  JobOptions &job = options.suite.job;
  auto commands = commandsOf(options);
  if (!commands)
    return commands.status();
  job.worker = std::move(commands->run);
  job.compiler = std::move(commands->compile);
  for (std::vector<std::string> *command : {&job.worker, &job.compiler}) {
    command->emplace_back("--memory-limit");
    command->push_back(std::to_string(memoryLimit(options)));
  }
  job.timeout = std::chrono::seconds(options.timeoutSeconds);
  job.keepGoing = options.keepGoing;
  job.helped = options.suite.helped = isHelped(options.device);
  job.judgement = {inputsOf, evaluate, judge, isProbe, expectsError};
  return setUpApplication(options);
}

} // namespace backplane::conformance
