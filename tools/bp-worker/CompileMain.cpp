// SPDX-License-Identifier: Apache-2.0
#include "hal/worker/Serve.h"
#include "sdk/support/CommandLine.h"

int main(int argc, char **argv) {
  backplane::command::holdStandardStreams();
  backplane::worker::WorkerOptions options;
  if (auto code = backplane::worker::parseWorkerOptions(argc, argv, options))
    return *code;
  return options.jobs ? backplane::worker::serveJobs(options)
                      : backplane::worker::serveCompiles(options);
}
