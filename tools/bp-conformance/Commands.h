// SPDX-License-Identifier: Apache-2.0
//
// Commands.h: what `bp conformance` does, one function per command. Each gives
// the exit code: passed, notPassed, or cannot after it has said why.
#ifndef BACKPLANE_TOOLS_BP_CONFORMANCE_COMMANDS_H
#define BACKPLANE_TOOLS_BP_CONFORMANCE_COMMANDS_H

#include "conformance/models/RealModels.h"
#include "conformance/publish/Verify.h"
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
  std::string launcher;         ///< put in front of the commands of the workers
  std::string workerFolder;     ///< of their programs; empty: beside this one
  std::string waivers;          ///< a file
  std::string models;           ///< folder of real models; empty: none
  std::string sign;             ///< file of a secret key
  std::string repro;            ///< id of one case
  std::optional<uint64_t> seed; ///< none: the official one of a run, else 0
  std::string challenge;        ///< see officialSeed
  std::vector<std::string> variables; ///< of the environment, for workers too
  unsigned timeoutSeconds = 60;
  uint64_t memoryMiB = 0; ///< of one worker; 0: three quarters of the machine
  bool list = false, listProfiles = false, keepGoing = false;
};

/// Runs the chosen cases, or lists them, or repeats one.
int runCommand(RunOptions &options);
/// One case with everything that is known of it; part of runCommand.
int reproCommand(const RunOptions &options, const Plan &plan);

/// The registered kernels that a compile worker has.
std::vector<JudgedKernel> kernelsOf(const worker::Hello &compiles);
/// Makes units of them, each judged by its own text.
Status addKernelUnits(const std::vector<JudgedKernel> &kernels,
                      SuiteOptions &suite);

/// Packs the chosen cases, compiled for a target, into a file.
int bundleCommand(RunOptions &options, const std::string &target,
                  const std::string &path);
/// Judges the results of such a file.
int judgeCommand(const std::string &bundle, const std::string &results);

struct VerifyOptions {
  std::string path; ///< a folder, or an archive of one
  bool unsealed = false;
  KeyRules keys;
  std::optional<std::string> challenge;
  std::string rerun; ///< "5%": the part to run again; empty: none
  RunOptions run;    ///< how to run it
};
/// Computes the verdict of a submission again, or refuses it.
int verifyCommand(VerifyOptions &options);

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
/// Writes the list of the cases of a depth, to standard output without a path;
/// of the depth "all" those of smoke and standard into the folder of this minor
/// version below `path`. A list that is there only grows, unless it is made
/// anew.
int mustpassCommand(const std::string &depth, const std::string &path,
                    bool anew);

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
/// Runs a part of a submission again on a device of this machine, with data of
/// another seed, and compares. Gives whether all of it holds; prints what not.
Result<bool> rerun(const StoredRun &submitted, RunOptions &options,
                   const std::string &part);
/// Sets the commands and rules of jobs.
Status setUpJob(RunOptions &options);
/// Starts both workers to learn what they are, writes it into `facts`, and
/// makes all later workers of `options` have the same files.
Status identify(RunOptions &options, RunFacts &facts);
/// Whether a budget of multiply-adds is none: the depth takes no more.
bool isAtLeastDepth(uint64_t budget, Depth depth);
/// Whether the plug-in's files still are what `identify` found.
Status checkUnchanged(const RunOptions &options);
/// Leaves only variables of the environment that are usual or named, so that no
/// other can decide what workers compute; gives those that say something.
TextPairs cleanEnvironment(const std::vector<std::string> &named);
/// Reads the files of the real models that a plan has.
Status loadModels(const FoundModels &found, Plan &plan);
/// Looks for the files of --models and plans their units.
Result<FoundModels> takeModels(RunOptions &options);
/// Names and values that describe this machine.
TextPairs environmentOf(const RunOptions &options);
/// "2026-11-21T16:00:00Z".
std::string now();
/// Counts by layer, bad cases, verdict and table of badges on standard output.
void printVerdict(const RunVerdict &verdict,
                  const std::vector<Record> &records);

} // namespace backplane::conformance

#endif // BACKPLANE_TOOLS_BP_CONFORMANCE_COMMANDS_H
