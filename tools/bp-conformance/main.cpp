// SPDX-License-Identifier: Apache-2.0
//
// bp-conformance: what `bp conformance` starts. Runs the conformance suite
// against a device, and makes, checks and compares what is published of runs.
#include "Commands.h"
#include "conformance/report/Profiles.h"
#include "sdk/support/CommandLine.h"

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
    "  bp conformance --device worker:board/npu --out out  another machine\n\n"
    "OUT gets records.jsonl (one line per case), summary.json, junit.xml and "
    "report.html. The verdict is a badge: Core, Full or Strict, with -R when "
    "relaxed numerics are declared. A filtered or sharded run earns none.\n"
    "Exit code: 0 passed, 1 not passed, 2 the tool could not do its work.";

std::string profileNames() {
  std::string names(wholeProfile);
  for (const Profile &profile : profiles())
    names += ", " + std::string(profile.name);
  return names;
}

/// Of --env: the value is that of this process.
std::string onlyName(const std::string &name) {
  return name.find('=') == std::string::npos
             ? ""
             : "names a variable; set '" + name + "' in front of the command";
}

void addChoice(CLI::App &app, RunOptions &options) {
  const char *group = "Which cases";
  app.add_option("--depth", options.depth,
                 "smoke (Core), standard (Full, Strict) or full")
      ->check(CLI::IsMember({"smoke", "standard", "full"}))
      ->capture_default_str()
      ->group(group);
  app.add_option("--profile", options.suite.profile,
                 "the cases and the badge of a part of the op set: " +
                     profileNames() + "; see --profiles")
      ->check([](const std::string &name) {
        return name == wholeProfile || findProfile(name)
                   ? ""
                   : "there are " + profileNames();
      })
      ->capture_default_str()
      ->group(group);
  app.add_option("--filter", options.suite.filters,
                 "only cases whose id matches this glob; may be repeated")
      ->group(group);
  app.add_option("--exclude", options.suite.excludes,
                 "no case whose id matches this glob; may be repeated")
      ->group(group);
  app.add_option("--budget", options.suite.selection.budget,
                 "multiply-adds that one case may take, at least 1000; "
                 "default: what the device declares, else as many as the depth "
                 "has")
      ->check(CLI::Range(uint64_t(1000), uint64_t(1) << 53))
      ->group(group);
  app.add_option("--shard", options.shard,
                 "I/N: the I-th of N equal parts; see merge")
      ->capture_default_str()
      ->group(group);
  app.add_option("--seed", options.seed,
                 "mixed into the seed of every random case; a badge needs the "
                 "one that a run takes without it, which depends on the "
                 "plug-in's files")
      ->check(command::seed())
      ->group(group);
  app.add_option("--repro", options.repro,
                 "run the one case with this id, say all about it, and save "
                 "its tensors as .npy to --out")
      ->group(group);
  app.add_flag("--profiles", options.listProfiles,
               "print the ops and dtypes of all profiles and stop")
      ->group(group);
  app.add_flag("--list", options.list, "print the ids of the cases and stop")
      ->group(group);
}

void addRun(CLI::App &app, RunOptions &options) {
  const char *group = "How to run";
  app.add_option("--device", options.device,
                 "device URI; see bp devices. acme+host: the host runs what "
                 "acme refuses; "
                 "its part is marked and earns no badge")
      ->capture_default_str()
      ->group(group);
  app.add_flag("--strict", options.suite.job.strict,
               "hold functions to the strict limits and run each case twice: "
               "what the Strict badge needs")
      ->group(group);
  app.add_flag("--disguise", options.suite.job.disguise,
               "compile and run all graphs in processes that nobody can tell "
               "from another application, in any order")
      ->group(group);
  app.add_flag("--keep-going", options.keepGoing,
               "run on after five time-outs, or crashes of one cause, which "
               "otherwise end the run")
      ->group(group);
  app.add_option("--jobs", options.suite.jobs,
                 "cases that run side by side; default: one per core")
      ->check(command::whole(1, 1024))
      ->group(group);
  app.add_option("--timeout", options.timeoutSeconds,
                 "seconds of a processor that one case or compilation may take")
      ->check(command::whole(1, 86400))
      ->capture_default_str()
      ->group(group);
  app.add_option("--memory-limit", options.memoryMiB,
                 "MiB that one worker may take; default: three quarters of "
                 "the machine")
      ->check(command::whole(1, 1 << 30))
      ->group(group);
  app.add_option("--models", options.models,
                 "folder with files of real models, which then take part; see "
                 "docs/reference/real-models.md")
      ->envname("BACKPLANE_MODELS")
      ->group(group);
  app.add_option("--env", options.variables,
                 "variable of the environment that workers get besides the "
                 "usual ones; may be repeated, and is reported")
      ->check(onlyName)
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
  app.add_option("--challenge", options.challenge,
                 "text of a verifier that goes into the seed of the data")
      ->check([](const std::string &text) {
        return text.size() <= 200 ? "" : "longer than 200 bytes";
      })
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

/// The options of all commands besides running.
struct Options {
  RunOptions run;
  VerifyOptions verify;
  SealOptions seal;
  std::string target, key, out, before, after, depth = "smoke";
  std::vector<std::string> folders;
  bool anew = false;
};

void addSeal(CLI::App &app, Options &options) {
  CLI::App *verify = app.add_subcommand(
      "verify", "compute the verdict of a submission again from its raw "
                "records; refuse what is changed, missing or doubled");
  verify->add_option("path", options.verify.path, "a folder or .tar.zst")
      ->required();
  VerifyOptions &how = options.verify;
  verify->add_option("--key", how.keys.publicKey,
                     "public key that must have signed it");
  verify->add_option("--known-keys", how.keys.knownKeys,
                     "file with lines NAME KEY, one of which must have signed "
                     "it; default: ~/.config/backplane/known_keys");
  verify->add_flag("--any-key", how.keys.any, "take a key that nobody knows");
  verify->add_flag("--unsealed", how.unsealed,
                   "take a folder without a signature");
  verify->add_option("--challenge", how.challenge,
                     "text that the run must have taken");
  verify->add_option("--rerun", how.rerun,
                     "run this part, like 5%, again with data of another seed "
                     "on --device, and compare");
  verify->add_option("--seed", how.run.seed,
                     "of the data and the choice of --rerun; default: random");
  addRun(*verify, how.run);
  CLI::App *seal = app.add_subcommand(
      "seal", "hash all files of a run's folder and sign the list");
  seal->add_option("folder", options.seal.folder, "--out of the run")
      ->required();
  seal->add_option("--key", options.seal.key, "secret key; see keygen")
      ->required();
  seal->add_option("--archive", options.seal.archive,
                   "also pack the folder into this .tar.zst");
  app.add_subcommand("keygen", "make a key pair: PATH and PATH.pub")
      ->add_option("path", options.key, "file of the secret key")
      ->required();
}

void addRuns(CLI::App &app, Options &options) {
  CLI::App *merge =
      app.add_subcommand("merge", "make one run of the folders of all shards");
  merge->add_option("folders", options.folders, "--out of each shard")
      ->required();
  merge->add_option("--out", options.out, "folder to write")->required();
  CLI::App *diff = app.add_subcommand(
      "diff", "what changed between two runs; exit code 1 when the second one "
              "is worse");
  diff->add_option("before", options.before, "--out of a run")->required();
  diff->add_option("after", options.after, "--out of another")->required();
  CLI::App *mustpass = app.add_subcommand(
      "mustpass", "write the list of the cases of a depth; refuses to drop one "
                  "that the file has");
  mustpass->add_option("depth", options.depth, "which list")
      ->check(CLI::IsMember({"smoke", "standard", "full", "all"}))
      ->required();
  mustpass->add_option("--out", options.out,
                       "file to write or to extend; of all: folder of lists");
  mustpass->add_flag("--anew", options.anew,
                     "drop what the suite no longer has: a new minor version");
}

void addBundles(CLI::App &app, Options &options) {
  CLI::App *bundle = app.add_subcommand(
      "bundle", "pack cases for a machine without a connection: bp bundle "
                "cases");
  bundle->add_option("--target", options.target, "target to compile for")
      ->required();
  bundle->add_option("-o,--output", options.out, "the .bpb to write")
      ->required();
  addChoice(*bundle, options.run);
  bundle
      ->add_option("--device", options.run.device,
                   "device URI on the machine that runs it")
      ->capture_default_str();
  CLI::App *judge = app.add_subcommand(
      "judge", "judge the results of such a file: bp bundle judge");
  judge->add_option("bundle", options.before, "the .bpb that was run")
      ->required();
  judge->add_option("results", options.after, "what bp-worker run wrote")
      ->required();
}

int call(const CLI::App &app, Options &options) {
  if (app.got_subcommand("bundle"))
    return bundleCommand(options.run, options.target, options.out);
  if (app.got_subcommand("judge"))
    return judgeCommand(options.before, options.after);
  if (app.got_subcommand("verify"))
    return verifyCommand(options.verify);
  if (app.got_subcommand("seal"))
    return sealCommand(options.seal);
  if (app.got_subcommand("keygen"))
    return keygenCommand(options.key);
  if (app.got_subcommand("merge"))
    return mergeCommand(options.folders, options.out);
  if (app.got_subcommand("diff"))
    return diffCommand(options.before, options.after);
  if (app.got_subcommand("mustpass"))
    return mustpassCommand(options.depth, options.out, options.anew);
  return runCommand(options.run);
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app(about);
  app.name("bp conformance");
  Options options;
  options.run.suite.jobs = std::max(1u, std::thread::hardware_concurrency());
  options.verify.run.suite.jobs = options.run.suite.jobs;
  app.require_subcommand(0, 1);
  addChoice(app, options.run);
  addRun(app, options.run);
  addOutput(app, options.run);
  addSeal(app, options);
  addRuns(app, options);
  addBundles(app, options);
  command::holdStandardStreams();
  if (auto code = command::parse(app, argc, argv, [] {}, cannot))
    return *code;
  return command::work(
      "bp conformance", [&] { return call(app, options); }, cannot);
}
