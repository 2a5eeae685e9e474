// SPDX-License-Identifier: Apache-2.0
//
// Commands.h: the commands of `bp`. Each takes parsed options and gives the
// exit code; failures are printed as one line on standard error.
#ifndef BACKPLANE_TOOLS_BP_COMMANDS_H
#define BACKPLANE_TOOLS_BP_COMMANDS_H

#include "backplane/cpp/Backplane.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace backplane {

struct DevicesOptions {
  bool why = false;
  bool json = false;
  bool workers = false; ///< also those of all named workers
  std::string worker;   ///< those of this worker only; empty: of this machine
};
int runDevices(const DevicesOptions &options);

struct KernelsOptions {
  bool text = false; ///< also what the kernels say of themselves
  bool json = false;
};
int runKernels(const KernelsOptions &options);

struct PassesOptions {
  std::string name;  ///< only this pass; empty: all
  std::string stage; ///< only those for this stage; empty: all
  bool json = false;
};
/// Lists the passes that pipelines of plug-ins may name.
int runPasses(const PassesOptions &options);

/// Of a compilation, 0: none.
struct CompileLimits {
  uint64_t memory = 0; ///< bytes
  double seconds = 0;
};

struct NewPluginOptions {
  std::string name;
  std::string lang; ///< empty: the first that there is for the kind
  std::string kind = "cpu";
  std::string out; ///< the folder to make; empty: ./NAME
};
int runNewPlugin(const NewPluginOptions &options);

struct CompileCommandOptions {
  CompileLimits limits;
  std::string model;
  std::string output;
  std::vector<std::string> targets;
  std::string driver;   ///< used when no target is named; empty: host
  bool fallback = true; ///< the host runs what a target lacks
  bool embedGraph = false;
  std::string kernel; ///< SET.NAME, or "-"; empty: all there are
  std::string dumpDir;
  std::string dispatchDir;
  std::map<std::string, std::pair<int64_t, int64_t>> dims; ///< MIN and MAX
};
int runCompile(const CompileCommandOptions &options);

/// What `run`, `bench`, `inspect` and `explain` share: a model or artifact and
/// the device it is for.
struct ModelOptions {
  std::string path; ///< .onnx or .bpx
  std::string device = "host";
  bool fallback = true; ///< the host runs what the device lacks
  unsigned threads = 0; ///< 0: one per core
  bool why = false;     ///< print the reasons of the selection
  bool jit = false;     ///< compile the stored graph when no variant runs
  CompileLimits limits;
  std::string variant; ///< target of the only one to take; empty: the best
  /// Values of symbolic dims that no given input binds.
  std::map<std::string, int64_t> dims;
};

struct RunOptions {
  ModelOptions model;
  std::vector<std::string> inputs; ///< NAME=FILE.npy
  std::optional<uint64_t> randomSeed;
  std::string outputDir;
  std::vector<std::string> expected; ///< NAME=FILE.npy
  double rtol = 1e-4;
  double atol = -1;     ///< below 0: 1e-5 of the largest expected magnitude
  std::string trace;    ///< file for the timeline; empty: none
  unsigned repeat = 1;  ///< calls of the session
  double timeout = 600; ///< seconds of a call; 0: any number
};
int runRun(const RunOptions &options);

struct BenchOptions {
  ModelOptions model;
  bool emulated = false; ///< emulated devices too
  bool json = false;
  bool perDispatch = false; ///< also what each dispatch takes
  bool counters = false;    ///< what an emulated device executes instead
  double seconds = 1.0;
};
int runBench(const BenchOptions &options);
int runCounters(const BenchOptions &options);

/// `bp bundle`, from its name on, for models.
int bundleMain(int argc, char **argv);
/// Whether a file is a bundle that bp-conformance judges.
bool isBundleOfCases(const std::string &path);

/// NAME=SIZE pairs; throws CLI's error for a bad one.
std::map<std::string, int64_t> parseDims(const std::vector<std::string> &dims);

int runInspect(const ModelOptions &options);
int runExplain(const ModelOptions &options);

} // namespace backplane

#endif // BACKPLANE_TOOLS_BP_COMMANDS_H
