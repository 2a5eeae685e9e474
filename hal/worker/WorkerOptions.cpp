// SPDX-License-Identifier: Apache-2.0
//
// WorkerOptions.cpp: the options of a worker and the context that they ask for.
#include "Loop.h"
#include "hal/core/LoaderOptions.h"
#include "sdk/support/CommandLine.h"
#include "sdk/support/TextViews.h"

#include <cstdio>

namespace backplane::worker {

static void logLine(void *, uint32_t level, bp_string_t message) {
  if (level >= BP_LOG_WARNING)
    std::fprintf(stderr, "worker: %s\n",
                 readableMessage(view(message)).c_str());
}

const bp_context_options_t &takenEnvironment() {
  static const bp_context_options_t taken = takeEnvironment();
  return taken;
}

Result<Context> openWorkerContext(const WorkerOptions &options,
                                  const std::vector<std::string> &plugins) {
  bp_context_options_t context = takenEnvironment();
  context.cache_dir = toC(options.contextCache);
  if (options.threads)
    context.threads = options.threads;
  context.log.log = logLine;
  std::vector<bp_string_t> only = asC(plugins);
  context.select = only.data();
  context.select_count = only.size();
  return createContext(context);
}

std::optional<int> parseWorkerOptions(int argc, char **argv,
                                      WorkerOptions &options) {
  CLI::App app("A worker: answers frames on standard input until it is closed. "
               "Tools start it, through any launcher. Where none can, "
               "bp-worker run BUNDLE runs a bundle.");
  app.add_option("--device", options.device, "device URI")
      ->capture_default_str();
  app.add_option("--threads", options.threads,
                 "workers of the pool; 0: one per core")
      ->check(command::whole(0, 1024));
  app.add_option("--memory-limit", options.memoryLimit,
                 "bytes of private memory that it may take; 0: no limit")
      ->check(command::seed());
  app.add_flag("--checks", options.checks,
               "run checks of the plug-in in place of artifacts");
  app.add_option("--target", options.target,
                 "of a compile worker: the target, whatever the device is");
  app.add_flag("--jobs", options.jobs,
               "of a compile worker: compile models into files");
  app.add_option("--record", options.record,
                 "write artifacts and runs to this file, run nothing");
  app.add_option("--replay", options.replay,
                 "BUNDLE RESULTS: answer with what the results say")
      ->expected(2);
  app.add_flag("--list", options.list, "greet with the devices and stop");
  app.add_option("--cache", options.cacheDir,
                 "folder that keeps artifacts of a MiB and more, so that they "
                 "are sent once; auto: in the user's cache folder");
  app.set_version_flag("--version", std::string(view(bp_version())));
  return command::parse(app, argc, argv);
}

} // namespace backplane::worker
