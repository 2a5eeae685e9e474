// SPDX-License-Identifier: Apache-2.0
//
// bp: the one command-line tool.
#include "Commands.h"

#include <CLI/CLI.hpp>

using namespace backplane;

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
    "way\n\n"
    "Plug-ins are found through their *.bp.json manifests; see\n"
    "BACKPLANE_PLUGIN_FILES, BACKPLANE_ADD_PLUGIN_FILES,\n"
    "BACKPLANE_PLUGINS_SELECT, BACKPLANE_PLUGINS_DISABLE,\n"
    "BACKPLANE_CACHE_DIR and BACKPLANE_THREADS.";

void addModelOptions(CLI::App &command, ModelOptions &options,
                     std::vector<std::string> &dims) {
  command.add_option("model", options.path, "a .onnx model or .bpx artifact")
      ->required();
  command
      .add_option("--device", options.device,
                  "device URI: host, ref, driver://id?key=value")
      ->capture_default_str();
  command
      .add_option("--threads", options.threads,
                  "workers of the pool; 0: one per core")
      ->check(CLI::Range(0u, 4096u));
  command.add_option("--dim", dims,
                     "NAME=SIZE: a symbolic dim of generated inputs (default "
                     "1)");
}

/// NAME=SIZE pairs; throws CLI's error for a bad one.
std::map<std::string, int64_t> parseDims(const std::vector<std::string> &dims) {
  std::map<std::string, int64_t> values;
  for (const std::string &text : dims) {
    size_t at = text.rfind('=');
    int64_t value = 0;
    if (at == std::string::npos ||
        !CLI::detail::lexical_cast(text.substr(at + 1), value) || value < 0)
      throw CLI::ValidationError("--dim",
                                 "'" + text + "' is not of the form NAME=SIZE");
    values[text.substr(0, at)] = value;
  }
  return values;
}

void addRun(CLI::App &app, RunOptions &options,
            std::vector<std::string> &dims) {
  CLI::App *run = app.add_subcommand("run", "run a model or artifact once");
  addModelOptions(*run, options.model, dims);
  run->add_option("--input", options.inputs, "NAME=FILE.npy, once per input");
  run->add_option("--random-inputs", options.randomSeed,
                  "seed for the inputs that are not given");
  run->add_option("--output-dir", options.outputDir,
                  "write each output to DIR/NAME.npy; '/' and ':' become '_'");
  run->add_option("--expect", options.expected,
                  "NAME=FILE.npy: exit 1 unless the output matches");
  run->add_option("--rtol", options.rtol, "relative tolerance of --expect")
      ->capture_default_str();
  run->add_option("--atol", options.atol,
                  "absolute tolerance; default 1e-5 of the largest magnitude");
}

/// `bp` with arguments; the exit code.
int dispatch(int argc, char **argv) {
  CLI::App app(about);
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string(view(bp_version())));
  DevicesOptions devices;
  CompileCommandOptions compile;
  RunOptions run;
  BenchOptions bench;
  ModelOptions described;
  std::vector<std::string> dims;

  CLI::App *devicesCommand =
      app.add_subcommand("devices", "list devices and refused plug-ins");
  devicesCommand->add_flag("--why", devices.why,
                           "formats, features, manifests and reasons");
  devicesCommand->add_flag("--json", devices.json, "machine-readable");

  CLI::App *compileCommand =
      app.add_subcommand("compile", "compile a model to an artifact");
  compileCommand->add_option("model", compile.model, "a .onnx model")
      ->required();
  compileCommand->add_option("-o,--output", compile.output, "the .bpx to write")
      ->required();
  compileCommand
      ->add_option("--target", compile.targets,
                   "target names, comma separated; each gives a variant")
      ->delimiter(',');
  compileCommand->add_option("--for-driver", compile.driver,
                             "driver whose best target is taken when no "
                             "target is named (default host)");
  compileCommand->add_option("--dump-stages", compile.dumpDir,
                             "write the IR after each stage to this folder");

  addRun(app, run, dims);
  CLI::App *benchCommand =
      app.add_subcommand("bench", "measure latency, compile time and memory");
  addModelOptions(*benchCommand, bench.model, dims);
  benchCommand->add_flag("--json", bench.json, "machine-readable");
  benchCommand->add_option("--seconds", bench.seconds, "time to measure for")
      ->capture_default_str();
  CLI::App *inspectCommand = app.add_subcommand(
      "inspect", "signature, variants, dispatches and memory of an artifact");
  addModelOptions(*inspectCommand, described, dims);
  CLI::App *explainCommand =
      app.add_subcommand("explain", "the reason of every decision");
  addModelOptions(*explainCommand, described, dims);

  try {
    app.parse(argc, argv);
    run.model.dims = bench.model.dims = parseDims(dims);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) ? 1 : 0;
  }
  if (app.got_subcommand(devicesCommand))
    return runDevices(devices);
  if (app.got_subcommand(compileCommand))
    return runCompile(compile);
  if (app.got_subcommand(benchCommand))
    return runBench(bench);
  if (app.got_subcommand(inspectCommand))
    return runInspect(described);
  if (app.got_subcommand(explainCommand))
    return runExplain(described);
  return runRun(run);
}

} // namespace

int main(int argc, char **argv) { return dispatch(argc, argv); }
