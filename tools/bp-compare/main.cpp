// SPDX-License-Identifier: Apache-2.0
//
// bp-compare: what `bp compare` starts. Runs a model on two devices, stops at
// the first ops that differ beyond their bounds, and saves them as a case.
#include "conformance/repro/Locate.h"
#include "hal/worker/Workers.h"
#include "sdk/graph/GraphFile.h"
#include "sdk/import/Import.h"
#include "sdk/support/CommandLine.h"
#include "sdk/support/NearestName.h"
#include "sdk/support/Npy.h"
#include "sdk/support/ProgramFolder.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <unistd.h>

using namespace backplane;
using namespace backplane::conformance;

namespace {

constexpr int same = 0, differs = 1, cannot = 2;

constexpr const char *about =
    "bp compare: finds the ops in which two devices part.\n\n"
    "  bp compare model.onnx --a ref --b host\n"
    "  bp compare model.onnx --a host --b npu --dim n=8 --out case\n\n"
    "The model is taken in windows of neighbouring ops; each gets the values "
    "of device A, and both devices are held to the limits of the conformance "
    "suite. The first ops beyond a limit are made small and saved to OUT, "
    "with their inputs and the command to run them.\n"
    "Exit code: 0 no difference, 1 a difference, 2 the tool could not do its "
    "work.";

struct Options {
  std::string model, a = "ref", b = "host", out;
  std::vector<std::string> inputs, dims;
  uint64_t seed = 1;
  unsigned timeoutSeconds = 60;
};

int fail(const Status &status) {
  std::fprintf(stderr, "bp compare: %s\n",
               readableMessage(status.message()).c_str());
  return cannot;
}

void addOptions(CLI::App &app, Options &options) {
  app.add_option("model", options.model, "a .onnx or .bpg model")->required();
  app.add_option("--a", options.a, "device that gives the values between ops")
      ->capture_default_str();
  app.add_option("--b", options.b, "device that is compared with it")
      ->capture_default_str();
  app.add_option("--out", options.out, "folder for the case that is found");
  app.add_option("--input", options.inputs,
                 "NAME=FILE.npy; inputs that are not given are random");
  app.add_option("--dim", options.dims,
                 "NAME=SIZE: a symbolic dim of random inputs (default 1)");
  app.add_option("--seed", options.seed, "of random inputs")
      ->check(command::seed())
      ->capture_default_str();
  app.add_option("--timeout", options.timeoutSeconds,
                 "seconds that one compilation or run may take")
      ->check(command::whole(1, 86400))
      ->capture_default_str();
}

Result<Model> readModel(const std::string &path) {
  return path.ends_with(".bpg") ? readGraphFile(path) : importOnnx(path);
}

Result<SymbolValues> symbolsFrom(const std::vector<std::string> &dims,
                                 const Graph &graph) {
  SymbolValues symbols;
  std::vector<std::string> known;
  for (const Symbol &symbol : graph.symbols)
    known.push_back(symbol.name);
  for (const std::string &text : dims) {
    size_t at = text.rfind('=');
    std::optional<int64_t> size;
    if (at != std::string::npos)
      size = command::wholeNumber<int64_t>(text.substr(at + 1));
    if (!size || *size < 0)
      return invalidArgument("--dim '" + text +
                             "' is not of the form NAME=SIZE");
    std::string name = text.substr(0, at), near = nearestName(name, known);
    if (std::ranges::find(known, name) == known.end())
      return notFound("the model has no symbolic dim '" + name + "'" +
                      (near.empty() ? "" : "; did you mean '" + near + "'?"));
    if (!symbols.emplace(name, *size).second)
      return invalidArgument("--dim '" + name + "' is given twice");
  }
  return symbols;
}

/// Puts the tensor of a file in the place of a random one.
Status takeFile(const std::string &text, const Graph &graph,
                std::vector<conformance::Tensor> &inputs,
                std::set<size_t> &given) {
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const std::string &name = graph.values[graph.inputs[i]].name;
    if (!text.starts_with(name + "="))
      continue;
    auto file = readNpy(text.substr(name.size() + 1));
    if (!file)
      return file.status();
    const TensorType &type = graph.type(graph.inputs[i]);
    if (!holdsDType(file->dtype(), bp_dtype_t(type.dtype)) ||
        file->dims().size() != type.rank())
      return invalidArgument("'" + text + "' does not hold a " + type.str());
    if (!given.insert(i).second)
      return invalidArgument("input '" + name + "' is given twice");
    inputs[i] = {type.dtype, file->dims(),
                 Bytes(file->data(), file->data() + file->size())};
    return {};
  }
  return notFound("the model has no input for '" + text +
                  "', which is to be NAME=FILE.npy");
}

Result<Repro> reproOf(const Options &options) {
  auto model = readModel(options.model);
  if (!model)
    return model.status();
  auto symbols = symbolsFrom(options.dims, model->graph);
  if (!symbols)
    return symbols.status();
  auto inputs = seededInputs(model->graph, *symbols, options.seed);
  if (!inputs)
    return inputs.status();
  std::set<size_t> given;
  for (const std::string &text : options.inputs)
    if (Status s = takeFile(text, model->graph, *inputs, given); !s.ok())
      return s;
  return Repro{std::move(model->graph), std::move(model->weights),
               std::move(*inputs)};
}

Result<JobOptions> jobFor(const Options &options, const std::string &device) {
  auto commands = worker::commandsFor(device, programFolder());
  if (!commands)
    return commands.status();
  JobOptions job;
  job.worker = std::move(commands->run);
  job.compiler = std::move(commands->compile);
  job.timeout = std::chrono::seconds(options.timeoutSeconds);
  return job;
}

void showProgress(size_t window, size_t windows) {
  if (isatty(STDERR_FILENO))
    std::fprintf(stderr, "\rwindow %zu of %zu ", window + 1, windows);
}

int report(const Options &options, const Location &found) {
  const std::string &device = found.isFirst ? options.a : options.b;
  std::printf("%s is wrong from op %zu on: %s\n  %s: %s\n", device.c_str(),
              found.window, found.origin.c_str(),
              std::string(name(found.found.status)).c_str(),
              found.found.reason.c_str());
  if (options.out.empty())
    return differs;
  Status saved = saveRepro(options.out, found.repro, found.found, device,
                           found.origin + ", from " + options.model);
  if (!saved.ok())
    return fail(saved);
  std::printf("saved in %s; its README.md says how to run it\n",
              options.out.c_str());
  return differs;
}

int run(const Options &options) {
  auto model = reproOf(options);
  if (!model)
    return fail(model.status());
  auto jobA = jobFor(options, options.a), jobB = jobFor(options, options.b);
  if (!jobA || !jobB)
    return fail(jobA ? jobB.status() : jobA.status());
  Examiner a(std::move(*jobA), true), b(std::move(*jobB), true);
  auto found = locate(
      *model, [&](const Repro &all) { return a.observe(all); },
      [&](const Repro &part) { return a.examine(part); },
      [&](const Repro &part) { return b.examine(part); }, showProgress);
  if (isatty(STDERR_FILENO))
    std::fputc('\n', stderr);
  if (!found)
    return fail(found.status());
  if (*found)
    return report(options, **found);
  std::printf("%s and %s agree within their limits, on %zu ops\n",
              options.a.c_str(), options.b.c_str(), model->graph.ops.size());
  return same;
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app(about);
  app.name("bp compare");
  Options options;
  addOptions(app, options);
  command::holdStandardStreams();
  if (auto code = command::parse(app, argc, argv, [] {}, cannot))
    return *code;
  return command::work("bp compare", [&] { return run(options); }, cannot);
}
