// SPDX-License-Identifier: Apache-2.0
//
// Commands.h: what `bp conformance` does, one function per command. Each gives
// the exit code: passed, notPassed, or cannot after it has said why.
#ifndef BACKPLANE_TOOLS_BP_CONFORMANCE_COMMANDS_H
#define BACKPLANE_TOOLS_BP_CONFORMANCE_COMMANDS_H

#include "conformance/report/Verdict.h"
#include "conformance/runner/Suite.h"

namespace backplane::conformance {

constexpr int passed = 0;
constexpr int notPassed = 1; ///< also: a submission is refused, a run is worse
constexpr int cannot = 2;    ///< the tool could not do what was asked

struct RunOptions {
  std::string device = "host";
  std::string depth = "smoke";
  SuiteOptions suite;
  std::string shard = "1/1";
  std::string out;
  std::string launcher;     ///< put in front of the commands of the workers
  std::string workerFolder; ///< of their programs; empty: beside this one
  std::string waivers;      ///< a file
  std::string models;       ///< folder of real models; empty: none
  std::string sign;         ///< file of a secret key
  std::string repro;        ///< id of one case
  unsigned timeoutSeconds = 60;
  uint64_t memoryMiB = 0; ///< of one worker; 0: three quarters of the machine
  bool list = false;
};

/// Runs the chosen cases, or lists them, or repeats one.
int runCommand(RunOptions &options);
/// One case with everything that is known of it; part of runCommand.
int reproCommand(const RunOptions &options, const Plan &plan);

/// Packs the chosen cases, compiled for a target, into a file.
int bundleCommand(RunOptions &options, const std::string &target,
                  const std::string &path);
/// Judges the results of such a file.
int judgeCommand(const std::string &bundle, const std::string &results);

struct VerifyOptions {
  std::string path; ///< a folder, or an archive of one
  std::string key;  ///< public key that must have signed; empty: any
  bool unsealed = false;
};
/// Computes the verdict of a submission again, or refuses it.
int verifyCommand(const VerifyOptions &options);

struct SealOptions {
  std::string folder, key;
  std::string archive; ///< .tar.zst to write; empty: none
};
int sealCommand(const SealOptions &options);
int keygenCommand(const std::string &path);
/// Makes one run of the shards in some folders.
int mergeCommand(const std::vector<std::string> &folders,
                 const std::string &out);
/// What changed from one run to another.
int diffCommand(const std::string &before, const std::string &after);
/// Writes the list of the cases of a depth, to standard output without a path.
int mustpassCommand(const std::string &depth, const std::string &path);

/// Says what went wrong; gives `cannot`.
int fail(const Status &status);
/// Fills what planSuite looks at from the options that are text.
Status readChoice(RunOptions &options);
/// The cases of a run that is known by its facts.
Result<Plan> planOf(const RunFacts &facts);
/// Version of the product that this suite is a part of.
std::string productVersion();
/// Commit of the source of this suite.
std::string suiteCommit();
/// Names and values that describe this machine.
TextPairs environmentOf(const RunOptions &options);
/// "2026-11-21T16:00:00Z".
std::string now();
/// Counts by layer, bad cases, verdict and table of badges on standard output.
void printVerdict(const RunVerdict &verdict,
                  const std::vector<Record> &records);

} // namespace backplane::conformance

#endif // BACKPLANE_TOOLS_BP_CONFORMANCE_COMMANDS_H
