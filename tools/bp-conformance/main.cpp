// SPDX-License-Identifier: Apache-2.0
//
// bp-conformance: what `bp conformance` starts. Runs the conformance suite
// against a device, and makes, checks and compares what is published of runs.
#include "Commands.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <thread>

using namespace backplane;
using namespace backplane::conformance;

namespace {

constexpr const char *about =
    "bp conformance: proves that a device computes right numbers, case by "
    "case, against an oracle with derived limits.\n\n"
    "  bp conformance --device ref --out out              smoke: minutes\n"
    "  bp conformance --device host --depth standard --out out --resume\n"
    "  bp conformance --list --filter 'L3/softmax/*'      ids, nothing runs\n"
    "  bp conformance --device host --repro ID --out x    one case, explained\n"
    "  bp conformance --device npu --launcher 'ssh box' --out out\n\n"
    "OUT gets records.jsonl (one line per case), summary.json, junit.xml and "
    "report.html. The verdict is a badge: Core, Full or Strict, with -R when "
    "relaxed numerics are declared. A filtered or sharded run earns none.\n"
    "Exit code: 0 passed, 1 not passed, 2 the tool could not do its work.";

void addChoice(CLI::App &app, RunOptions &options) {
  const char *group = "Which cases";
  app.add_option("--depth", options.depth,
                 "smoke (Core), standard (Full, Strict) or full")
      ->check(CLI::IsMember({"smoke", "standard", "full"}))
      ->capture_default_str()
      ->group(group);
  app.add_option("--filter", options.suite.filters,
                 "only cases whose id matches this glob; may be repeated")
      ->group(group);
  app.add_option("--exclude", options.suite.excludes,
                 "no case whose id matches this glob; may be repeated")
      ->group(group);
  app.add_option("--shard", options.shard,
                 "I/N: the I-th of N equal parts; see merge")
      ->capture_default_str()
      ->group(group);
  app.add_option("--seed", options.suite.selection.seed,
                 "mixed into the seed of every random case; badges need 0")
      ->capture_default_str()
      ->group(group);
  app.add_option("--repro", options.repro,
                 "run the one case with this id, say all about it, and save "
                 "its tensors as .npy to --out")
      ->group(group);
  app.add_flag("--list", options.list, "print the ids of the cases and stop")
      ->group(group);
}

void addRun(CLI::App &app, RunOptions &options) {
  const char *group = "How to run";
  app.add_option("--device", options.device, "device URI; see bp devices")
      ->capture_default_str()
      ->group(group);
  app.add_flag("--strict", options.suite.job.strict,
               "hold functions to the strict limits and run each case twice: "
               "what the Strict badge needs")
      ->group(group);
  app.add_option("--jobs", options.suite.jobs,
                 "cases that run side by side; default: one per core")
      ->check(CLI::Range(1u, 1024u))
      ->group(group);
  app.add_option("--timeout", options.timeoutSeconds,
                 "seconds that one case or compilation may take")
      ->check(CLI::Range(1u, 86400u))
      ->capture_default_str()
      ->group(group);
  app.add_option("--memory-limit", options.memoryMiB,
                 "MiB that one worker may take; default: three quarters of "
                 "the machine")
      ->group(group);
  app.add_option("--launcher", options.launcher,
                 "words put in front of the commands of both workers: 'ssh "
                 "box', 'qemu-aarch64 -L /usr/aarch64-linux-gnu'")
      ->group(group);
  app.add_option("--worker-folder", options.workerFolder,
                 "where bp-worker and bp-compile-worker are, as the launcher "
                 "sees it; default: beside this program")
      ->group(group);
}

void addOutput(CLI::App &app, RunOptions &options) {
  const char *group = "What comes out";
  app.add_option("--out", options.out, "folder for records and reports")
      ->group(group);
  app.add_flag("--resume", options.suite.resume,
               "go on with the run in --out that was interrupted")
      ->group(group);
  app.add_option("--waivers", options.waivers,
                 "file of known failures; see docs/reference")
      ->check(CLI::ExistingFile)
      ->group(group);
  app.add_option("--sign", options.sign,
                 "secret key to seal --out with; see keygen")
      ->check(CLI::ExistingFile)
      ->group(group);
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app(about);
  app.name("bp conformance");
  RunOptions options;
  options.suite.jobs = std::max(1u, std::thread::hardware_concurrency());
  addChoice(app, options);
  addRun(app, options);
  addOutput(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) ? cannot : passed;
  }
  return runCommand(options);
}
