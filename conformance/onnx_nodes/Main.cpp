// SPDX-License-Identifier: Apache-2.0
//
// bp-nodes: runs ONNX node tests, one line of standard input each:
//
//   FOLDER <tab> ID <tab> OP
//
// and answers each with the line of its record (docs/reference/
// conformance-files.md). A crash in this process, which imports the models, is
// charged by the caller to the test that has no answer.
#include "NodeTest.h"
#include "Report.h"
#include "sdk/support/CommandLine.h"
#include "sdk/support/ProgramFolder.h"

#include <cstdio>
#include <iostream>
#include <sstream>

using namespace backplane;
using namespace backplane::conformance;

namespace {

struct Options {
  std::string device, report;
  double stored = 0;
  unsigned timeout = 60;
  unsigned memoryMiB = 4096;
};

std::vector<std::string> commandOf(const char *program,
                                   const Options &options) {
  return {programFolder() / program, "--device", options.device,
          "--memory-limit", std::to_string(uint64_t(options.memoryMiB) << 20)};
}

JobOptions jobOf(const Options &options) {
  JobOptions job;
  job.worker = commandOf("bp-worker", options);
  job.compiler = commandOf("bp-compile-worker", options);
  job.timeout = std::chrono::seconds(options.timeout);
  return job;
}

bool readTest(NodeTest &test) {
  std::string line;
  if (!std::getline(std::cin, line))
    return false;
  std::istringstream parts(line);
  std::getline(parts, test.folder, '\t');
  std::getline(parts, test.id, '\t');
  std::getline(parts, test.op, '\t');
  return true;
}

int fail(const Status &status) {
  std::fprintf(stderr, "bp-nodes: %s\n",
               readableMessage(status.message()).c_str());
  return 1;
}

int runAll(const Options &options) {
  std::optional<NodeRunner> runner;
  if (!options.device.empty())
    runner.emplace(jobOf(options), options.stored);
  for (NodeTest test; readTest(test);) {
    Result<Record> record = runner ? runner->run(test) : checkStored(test);
    if (!record)
      return fail(record.status());
    std::printf("%s\n", toJson(*record).c_str());
    std::fflush(stdout);
  }
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  command::holdStandardStreams();
  CLI::App app("ONNX node tests against the oracle. Reads lines of FOLDER, ID "
               "and OP with tabs between them from standard input "
               "and writes a record for each.");
  Options options;
  app.add_option("--device", options.device,
                 "device URI; without one the stored outputs are checked");
  app.add_option("--stored", options.stored,
                 "hold the device to the stored outputs, within so many units "
                 "in the last place, and not to the oracle")
      ->check(CLI::PositiveNumber);
  app.add_option("--timeout", options.timeout,
                 "seconds that one test or compilation may take")
      ->check(CLI::Range(1u, 86400u));
  app.add_option("--memory-limit", options.memoryMiB,
                 "MiB that one worker may take");
  app.add_option("--report", options.report,
                 "only write report.html and junit.xml from the records.jsonl "
                 "in this folder");
  if (auto code = command::parse(app, argc, argv))
    return *code;
  if (options.report.empty())
    return command::work("bp-nodes", [&] { return runAll(options); });
  Status status = writeNodeReport(options.report, options.device);
  return status.ok() ? 0 : fail(status);
}
