// SPDX-License-Identifier: Apache-2.0
#include "conformance/plugin/Serve.h"
#include "sdk/support/CommandLine.h"

#include <string_view>

using namespace backplane;

static int serveOrRun(int argc, char **argv) {
  if (argc > 1 && std::string_view(argv[1]) == "run")
    return worker::runBundle(argc - 1, argv + 1, checks::serveChecks);
  if (argc > 1 && std::string_view(argv[1]) == "trial")
    return worker::serveTrial(argc - 1, argv + 1);
  worker::WorkerOptions options;
  if (auto code = worker::parseWorkerOptions(argc, argv, options))
    return *code;
  if (!options.record.empty())
    return worker::serveRecording(options.record);
  if (!options.replay.empty())
    return worker::serveReplay(options.replay[0], options.replay[1]);
  if (options.list)
    return worker::serveList(options);
  return options.checks ? checks::serveChecks(options)
                        : worker::serveRuns(options);
}

int main(int argc, char **argv) {
  command::holdStandardStreams();
  return command::work("bp-worker", [&] { return serveOrRun(argc, argv); });
}
