// SPDX-License-Identifier: Apache-2.0
//
// bp: the one command-line tool.
#include "Common.h"
#include "sdk/support/CommandLine.h"
#include "sdk/support/ProgramFolder.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <optional>
#include <unistd.h>

using namespace backplane;

std::map<std::string, int64_t>
backplane::parseDims(const std::vector<std::string> &dims) {
  std::map<std::string, int64_t> values;
  for (const std::string &text : dims) {
    size_t at = text.rfind('=');
    std::optional<int64_t> value;
    if (at != std::string::npos && at > 0)
      value = command::wholeNumber<int64_t>(text.substr(at + 1));
    if (!value || *value < 0)
      throw CLI::ValidationError("--dim",
                                 "'" + text + "' is not of the form NAME=SIZE");
    if (!values.emplace(text.substr(0, at), *value).second)
      throw CLI::ValidationError("--dim",
                                 "'" + text.substr(0, at) + "' is given twice");
  }
  return values;
}

namespace {

constexpr const char *about =
    "bp: compile models for any backend plug-in, run them, measure them.\n\n"
    "  bp devices --why                     what is here, and why not more\n"
    "  bp run model.onnx --random-inputs 1  compile (cached) and run\n"
    "  bp compile model.onnx -o model.bpx   an artifact that needs no "
    "compiler\n"
    "  bp run model.bpx --input x=x.npy --output-dir out\n"
    "  bp bench model.onnx --threads 1      latency, compile time, memory\n"
    "  bp explain model.onnx                why it was cut and fused this "
    "way\n"
    "  bp passes --stage tile               what a plug-in's pipeline may "
    "name\n"
    "  bp compare model.onnx --a ref --b x  find the ops in which they part\n"
    "  bp conformance --device ref --out d  prove a device's numbers\n"
    "  bp run m.onnx --device worker:box/x  on a named other machine\n"
    "  bp new-plugin acme                   a plug-in that builds and runs\n"
    "  bp lint acme.bp.json                 what is wrong with a plug-in\n\n"
    "Plug-ins are found through their *.bp.json manifests; see\n"
    "BACKPLANE_PLUGIN_FILES, BACKPLANE_ADD_PLUGIN_FILES,\n"
    "BACKPLANE_PLUGINS_SELECT, BACKPLANE_PLUGINS_DISABLE,\n"
    "BACKPLANE_CACHE_DIR, BACKPLANE_WORKERS, BACKPLANE_TRUSTED_DIRS,\n"
    "BACKPLANE_MAP_ARTIFACTS and BACKPLANE_THREADS.";

void addFallback(CLI::App &command, bool &fallback) {
  command.add_flag("--fallback,!--no-fallback", fallback,
                   "let the host run what the device lacks (default), or make "
                   "that an error");
}

void addLimits(CLI::App &command, CompileLimits &limits) {
  command
      .add_option("--max-memory", limits.memory,
                  "bytes that compiling may take, with K, M or G; it then runs "
                  "in a process of its own")
      ->transform(CLI::AsSizeValue(false))
      ->check(command::whole(1, int64_t(1) << 62));
  constexpr double longest = 1e9;
  command
      .add_option("--max-time", limits.seconds,
                  "seconds that compiling may take; it then runs in a process "
                  "of its own")
      ->check(command::real(1e-3, longest));
}

void addModelOptions(CLI::App &app, ModelOptions &options,
                     std::vector<std::string> &dims) {
  app.add_option("model", options.path, "a .onnx model or .bpx artifact")
      ->required();
  app.add_option("--device", options.device,
                 "device URI: host, ref, driver://id?key=value, "
                 "worker:NAME/URI; several in "
                 "order: worker:a/npu,host; or auto:latency, "
                 "auto:throughput, auto:power")
      ->capture_default_str();
  addFallback(app, options.fallback);
  addLimits(app, options.limits);
  app.add_flag("--jit", options.jit,
               "compile the graph in the artifact when no variant runs");
  app.add_option("--variant", options.variant,
                 "take the variant of this target or none; a model is compiled "
                 "for it");
  app.add_option("--threads", options.threads,
                 "workers of the pool; 0: one per core")
      ->check(command::whole(0, 1024));
  app.add_option("--dim", dims,
                 "NAME=SIZE: a symbolic dim of generated inputs (default "
                 "1)");
}

/// NAME=SIZE or NAME=MIN..MAX pairs; throws CLI's error for a bad one.
std::map<std::string, std::pair<int64_t, int64_t>>
parseRanges(const std::vector<std::string> &dims) {
  std::map<std::string, std::pair<int64_t, int64_t>> ranges;
  for (const std::string &text : dims) {
    size_t at = text.rfind('='), dots = text.rfind("..");
    std::optional<int64_t> low, high;
    if (at != std::string::npos && at > 0 &&
        text.find("..", at) == std::string::npos)
      low = high = command::wholeNumber<int64_t>(text.substr(at + 1));
    if (at != std::string::npos && at > 0 && dots != std::string::npos &&
        dots > at && text.find("..", at) == dots) {
      low = command::wholeNumber<int64_t>(text.substr(at + 1, dots - at - 1));
      high = command::wholeNumber<int64_t>(text.substr(dots + 2));
    }
    if (!low || !high || *low < 0 || *high < *low)
      throw CLI::ValidationError(
          "--dim", "'" + text +
                       "' is not of the form NAME=SIZE or NAME=MIN..MAX with "
                       "0 <= MIN <= MAX");
    if (!ranges.emplace(text.substr(0, at), std::pair(*low, *high)).second)
      throw CLI::ValidationError("--dim",
                                 "'" + text.substr(0, at) + "' is given twice");
  }
  return ranges;
}

void addRun(CLI::App &app, RunOptions &options,
            std::vector<std::string> &dims) {
  CLI::App *run = app.add_subcommand("run", "run a model or artifact once");
  addModelOptions(*run, options.model, dims);
  run->add_option("--input", options.inputs, "NAME=FILE.npy, once per input");
  run->add_option("--random-inputs", options.randomSeed,
                  "seed for the inputs that are not given")
      ->check(command::seed());
  run->add_option("--output-dir", options.outputDir,
                  "write each output to DIR/NAME.npy; '/' and ':' become '_', "
                  "and names that would be the same get a number");
  run->add_option("--expect", options.expected,
                  "NAME=FILE.npy: exit 1 unless the output matches");
  run->add_flag("--why", options.model.why,
                "print which variant runs where, and why no other does");
  run->add_option("--trace", options.trace,
                  "write a timeline for Perfetto or chrome://tracing");
  run->add_option("--repeat", options.repeat, "calls of the session")
      ->check(command::whole(1, 1000000));
  run->add_option("--timeout", options.timeout,
                  "seconds that a call may take before bp ends; 0: any number")
      ->check(command::real(0, 1e9))
      ->capture_default_str();
  run->add_option("--rtol", options.rtol, "relative tolerance of --expect")
      ->check(command::real(0, 1e300))
      ->capture_default_str();
  run->add_option("--atol", options.atol,
                  "absolute tolerance; default 1e-5 of the largest magnitude")
      ->check(command::real(0, 1e300));
}

/// The options of all commands; one of them is used.
struct Options {
  DevicesOptions devices;
  KernelsOptions kernels;
  NewPluginOptions newPlugin;
  PassesOptions passes;
  CompileCommandOptions compile;
  RunOptions run;
  BenchOptions bench;
  ModelOptions described;
  std::vector<std::string> dims;
  std::vector<std::string> ranges;
};

void addDevices(CLI::App &app, DevicesOptions &options) {
  CLI::App *devices =
      app.add_subcommand("devices", "list devices and refused plug-ins");
  devices->add_flag("--why", options.why,
                    "formats, features, properties, targets, manifests and "
                    "reasons");
  devices->add_flag("--json", options.json, "machine-readable");
  devices->add_option("--worker", options.worker,
                      "the devices of this worker in place of this machine's");
  devices->add_flag("--workers", options.workers,
                    "also the devices of all named workers, which are started");
}

void addKernels(CLI::App &app, KernelsOptions &options) {
  CLI::App *kernels = app.add_subcommand(
      "kernels", "list registered kernels, by the set that has them");
  kernels->add_flag("--text", options.text, "print their texts");
  kernels->add_flag("--json", options.json, "machine-readable");
}

void addPasses(CLI::App &app, PassesOptions &options) {
  CLI::App *passes = app.add_subcommand(
      "passes", "list the passes that pipelines of plug-ins may name");
  passes->add_option("name", options.name, "only this one");
  passes->add_option("--stage", options.stage, "only those for this stage");
  passes->add_flag("--json", options.json, "machine-readable");
}

void addNewPlugin(CLI::App &app, NewPluginOptions &options) {
  CLI::App *make = app.add_subcommand(
      "new-plugin", "write a plug-in that builds and runs, to start from");
  make->add_option("name", options.name,
                   "of the plug-in: letters, digits and dashes")
      ->required();
  make->add_option("--lang", options.lang,
                   "the language: c, cpp or mlir (default c, cpp for a gpu)");
  make->add_option("--kind", options.kind,
                   "what the device is: cpu, gpu or npu")
      ->capture_default_str();
  make->add_option("--out", options.out,
                   "the folder to make (default the name)");
}

void addCompile(CLI::App &app, CompileCommandOptions &options,
                std::vector<std::string> &ranges) {
  CLI::App *compile =
      app.add_subcommand("compile", "compile a model to an artifact");
  compile->add_option("model", options.model, "a .onnx model")->required();
  compile->add_option("-o,--output", options.output, "the .bpx to write")
      ->required();
  compile
      ->add_option("--target", options.targets,
                   "target names, comma separated; each gives a variant, and "
                   "several joined with a plus give one on several devices")
      ->delimiter(',');
  addFallback(*compile, options.fallback);
  addLimits(*compile, options.limits);
  compile->add_option("--for-driver", options.driver,
                      "device, list or auto: policy whose best targets are "
                      "taken when no target is named (default host)");
  compile->add_flag("--embed-graph", options.embedGraph,
                    "keep the graph in the artifact, for --jit");
  compile->add_option("--kernel", options.kernel,
                      "SET.NAME: the registered kernel that has to compute all "
                      "of the model; \"-\": none may; see bp kernels");
  compile->add_option("--dim", ranges,
                      "NAME=SIZE: what a symbolic dim is, which makes it a "
                      "number; NAME=MIN..MAX: the values that calls give it; "
                      "memory is then planned now");
  compile->add_option("--dump-stages", options.dumpDir,
                      "write the IR after each stage to this folder");
  compile->add_option("--dump-dispatches", options.dispatchDir,
                      "write what compilers of plug-ins are called with to "
                      "this folder, for bp replay");
}

void addRest(CLI::App &app, Options &options) {
  CLI::App *bench =
      app.add_subcommand("bench", "measure latency, compile time and memory");
  addModelOptions(*bench, options.bench.model, options.dims);
  bench->add_flag("--json", options.bench.json, "machine-readable");
  bench->add_flag("--emulated", options.bench.emulated,
                  "measure an emulated device too");
  bench->add_flag("--counters", options.bench.counters,
                  "what an emulated device executes in one call, in place of "
                  "times");
  bench->add_flag("--per-dispatch", options.bench.perDispatch,
                  "also the time, GFLOP/s, GB/s and share of each kernel, of a "
                  "second run that is traced");
  bench->add_option("--seconds", options.bench.seconds, "time to measure for")
      ->check(command::real(0, 86400))
      ->capture_default_str();
  CLI::App *inspect = app.add_subcommand(
      "inspect", "signature, variants, dispatches and memory");
  addModelOptions(*inspect, options.described, options.dims);
  inspect->add_flag("--why", options.described.why,
                    "which variant the device would run, and why no other");
  addModelOptions(
      *app.add_subcommand("explain", "the reason of every decision"),
      options.described, options.dims);
}

int call(const CLI::App &app, Options &options) {
  if (app.got_subcommand("devices"))
    return runDevices(options.devices);
  if (app.got_subcommand("kernels"))
    return runKernels(options.kernels);
  if (app.got_subcommand("new-plugin"))
    return runNewPlugin(options.newPlugin);
  if (app.got_subcommand("passes"))
    return runPasses(options.passes);
  if (app.got_subcommand("compile"))
    return runCompile(options.compile);
  if (app.got_subcommand("bench"))
    return runBench(options.bench);
  if (app.got_subcommand("inspect"))
    return runInspect(options.described);
  if (app.got_subcommand("explain"))
    return runExplain(options.described);
  return runRun(options.run);
}

/// Whether the first argument is a command; says which one may be meant.
bool knownCommand(const CLI::App &app, const std::string &asked) {
  std::vector<std::string> names;
  for (const CLI::App *command : app.get_subcommands({}))
    names.push_back(command->get_name());
  if (asked.starts_with('-') || std::ranges::count(names, asked))
    return true;
  fail(invalidArgument("there is no command '" + asked + "'" +
                       suggestion(asked, names) + "; see bp --help"));
  return false;
}

/// Becomes another program of the tool, which lies beside this one; comes back
/// only when there is none.
int become(const char *name, char **argv) {
  std::string program = programFolder() / name;
  execv(program.c_str(), argv + 1);
  return fail(notFound("cannot start '" + program +
                       "': " + std::generic_category().message(errno)));
}

/// `bp bundle`; cases are the work of bp-conformance.
int bundle(int argc, char **argv) {
  std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "cases") {
    std::string command = "bundle";
    argv[1] = command.data();
    return become("bp-conformance", argv - 1);
  }
  if (what == "judge" && argc > 2 && isBundleOfCases(argv[2]))
    return become("bp-conformance", argv - 1);
  return bundleMain(argc, argv);
}

} // namespace

static int runCommand(int argc, char **argv) {
  if (argc > 1 && std::string_view(argv[1]) == "conformance")
    return become("bp-conformance", argv);
  if (argc > 1 && std::string_view(argv[1]) == "replay")
    return become("bp-replay", argv);
  if (argc > 1 && std::string_view(argv[1]) == "compare")
    return become("bp-compare", argv);
  if (argc > 1 && std::string_view(argv[1]) == "lint")
    return become("bp-lint", argv);
  if (argc > 1 && std::string_view(argv[1]) == "bundle")
    return bundle(argc - 1, argv + 1);
  CLI::App app(about);
  app.name("bp");
  Options options;
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string(view(bp_version())));
  addDevices(app, options.devices);
  addKernels(app, options.kernels);
  addNewPlugin(app, options.newPlugin);
  addPasses(app, options.passes);
  addCompile(app, options.compile, options.ranges);
  addRun(app, options.run, options.dims);
  addRest(app, options);
  app.add_subcommand("compare", "find the ops in which two devices part; see "
                                "bp compare --help");
  app.add_subcommand("replay", "call a plug-in's compiler again with what was "
                               "dumped; see bp replay --help");
  app.add_subcommand("bundle", "pack a model or cases for a machine without a "
                               "connection; see bp bundle --help");
  app.add_subcommand("lint", "look at a plug-in's files and behaviour; see bp "
                             "lint --help");
  app.add_subcommand("conformance", "judge a device against the oracle; see "
                                    "bp conformance --help");
  if (argc > 1 && !knownCommand(app, argv[1]))
    return 1;
  auto take = [&] {
    options.run.model.dims = parseDims(options.dims);
    options.bench.model.dims = options.run.model.dims;
    options.compile.dims = parseRanges(options.ranges);
  };
  if (auto code = command::parse(app, argc, argv, take))
    return *code;
  return call(app, options);
}

int main(int argc, char **argv) {
  command::holdStandardStreams();
  return command::work("bp", [&] { return runCommand(argc, argv); });
}
