// SPDX-License-Identifier: Apache-2.0
#include "Serve.h"

int main(int argc, char **argv) {
  backplane::worker::WorkerOptions options;
  if (auto code = backplane::worker::parseWorkerOptions(argc, argv, options))
    return *code;
  if (options.list)
    return backplane::worker::serveList(options);
  return options.checks ? backplane::worker::serveChecks(options)
                        : backplane::worker::serveRuns(options);
}
