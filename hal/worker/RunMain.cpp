// SPDX-License-Identifier: Apache-2.0
#include "Serve.h"

#include <string_view>

int main(int argc, char **argv) {
  if (argc > 1 && std::string_view(argv[1]) == "run")
    return backplane::worker::runBundle(argc - 1, argv + 1);
  backplane::worker::WorkerOptions options;
  if (auto code = backplane::worker::parseWorkerOptions(argc, argv, options))
    return *code;
  if (!options.record.empty())
    return backplane::worker::serveRecording(options.record);
  if (!options.replay.empty())
    return backplane::worker::serveReplay(options.replay[0], options.replay[1]);
  if (options.list)
    return backplane::worker::serveList(options);
  return options.checks ? backplane::worker::serveChecks(options)
                        : backplane::worker::serveRuns(options);
}
