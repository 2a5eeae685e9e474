// SPDX-License-Identifier: Apache-2.0
//
// Identify.cpp: what a run is told of its device, by both workers.
#include "Commands.h"
#include "conformance/cases/Sizes.h"
#include "conformance/kernels/KernelUnits.h"
#include "hal/worker/Workers.h"

#include <algorithm>
#include <filesystem>

namespace backplane::conformance {
namespace {

using NamedHash = std::pair<std::string, std::string>;

void addDevice(RunFacts &facts, const worker::Hello &compiles,
               const worker::Hello &runs) {
  facts.device = compiles.device;
  facts.deviceName = runs.deviceName;
  facts.plugin = runs.plugin;
  facts.target = compiles.target;
  facts.deviceKind = runs.deviceKind;
  facts.deviceFlags = runs.deviceFlags;
  facts.storageDTypes = compiles.storageDTypes;
  facts.computeDTypes = compiles.computeDTypes;
  for (const worker::WireNumerics &n : compiles.numerics)
    facts.numerics.push_back(
        {n.opClass, std::string(name(static_cast<DType>(n.dtype))),
         n.accumulatorBits, n.rounding, n.flags, n.operandBits});
  for (const worker::WireFile &file : compiles.files)
    facts.pluginFiles.emplace_back(file.name, file.sha256);
  // Files of the other machine may have the same names.
  for (const worker::WireFile &file : runs.files) {
    NamedHash pair(file.name, file.sha256);
    if (std::ranges::count(facts.pluginFiles, pair))
      continue;
    if (std::ranges::count(facts.pluginFiles, pair.first, &NamedHash::first))
      pair.first = "worker/" + pair.first;
    facts.pluginFiles.push_back(std::move(pair));
  }
}

/// Lines of a text without what a record of it cannot hold.
std::vector<std::string> linesOf(const std::string &text) {
  std::vector<std::string> lines(1);
  for (char c : text)
    if (c == '\n')
      lines.emplace_back();
    else
      lines.back() += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  return lines;
}

/// The kernels that are judged: those that both workers have.
Status addKernels(RunFacts &facts, const worker::Hello &compiles,
                  const worker::Hello &runs) {
  auto same = [](const worker::WireKernel &kernel) {
    return std::pair(kernel.set, kernel.text);
  };
  for (const worker::WireKernel &kernel : compiles.kernels) {
    if (!std::ranges::count(runs.kernels, same(kernel), same))
      return Status(BP_STATUS_FAILED_PRECONDITION,
                    "the set of kernels '" + kernel.set +
                        "' is not on the machine that runs; install it there, "
                        "or leave it out with BACKPLANE_PLUGINS_DISABLE");
  }
  facts.kernels = kernelsOf(compiles);
  return {};
}

/// "qemu-aarch64" when a command runs its program in an emulator that is known
/// by its name; else empty.
std::string emulatorIn(const std::vector<std::string> &command) {
  for (const std::string &word : command) {
    std::string program = std::filesystem::path(word).filename().string();
    if (program.starts_with("qemu-") || program == "box64" ||
        program == "fex-emu" || program == "FEXInterpreter")
      return program;
  }
  return {};
}

/// Multiply-adds of one case where an emulator or the host's processor stands
/// in for a device that declares no budget.
constexpr uint64_t emulatedBudget = uint64_t(1) << 27;

/// What sizes must keep to: the budget that is given or that the device
/// declares, and its largest buffer.
void takeLimits(const worker::Hello &compiles, const worker::Hello &runs,
                RunOptions &options, RunFacts &facts) {
  Selection &selection = options.suite.selection;
  uint64_t budget = selection.budget;
  for (uint64_t declared : {compiles.budget, runs.budget})
    if (!selection.budget && declared && (!budget || declared < budget))
      budget = declared;
  if (!budget && isEmulated(facts))
    budget = emulatedBudget;
  // What the depth does not ask is not claimed.
  if (isAtLeastDepth(budget, selection.depth))
    budget = 0;
  selection.budget = facts.budget = budget;
  selection.bufferBytes = facts.bufferBytes = runs.bufferBytes;
}

} // namespace

std::vector<JudgedKernel> kernelsOf(const worker::Hello &compiles) {
  std::vector<JudgedKernel> kernels;
  for (const worker::WireKernel &kernel : compiles.kernels) {
    JudgedKernel judged{kernel.set, kernel.version, linesOf(kernel.text)};
    for (uint32_t binding : kernel.weights)
      judged.weights |= uint64_t(binding < 64) << (binding & 63);
    kernels.push_back(std::move(judged));
  }
  return kernels;
}

Status addKernelUnits(const std::vector<JudgedKernel> &kernels,
                      SuiteOptions &suite) {
  auto units = kernelUnits(kernels, suite.selection);
  if (!units)
    return units.status().within("a set that cannot be judged is left out "
                                 "with BACKPLANE_PLUGINS_DISABLE");
  suite.kernels = std::move(*units);
  return {};
}

bool isAtLeastDepth(uint64_t budget, Depth depth) {
  return static_cast<double>(budget) >= limitsOf(depth, 0).work;
}

Status identify(RunOptions &options, RunFacts &facts) {
  Job probe(options.suite.job);
  auto compiles = probe.hello();
  if (!compiles)
    return compiles.status();
  auto runs = probe.runHello();
  if (!runs)
    return runs.status();
  if (compiles->version != productVersion() ||
      runs->version != productVersion())
    return invalidArgument("the workers have version " + runs->version +
                           ", the suite " + productVersion() +
                           "; install the same everywhere");
  facts.emulator = emulatorIn(options.suite.job.worker);
  if (worker::RemoteUri::matches(options.device))
    facts.environment.emplace_back("worker", runs->machine);
  addDevice(facts, *compiles, *runs);
  if (Status s = addKernels(facts, *compiles, *runs); !s.ok())
    return s;
  takeLimits(*compiles, *runs, options, facts);
  options.suite.job.compileFiles = compiles->files;
  options.suite.job.runFiles = runs->files;
  return {};
}

Status checkUnchanged(const RunOptions &options) {
  Job probe(options.suite.job);
  if (auto compiles = probe.hello(); !compiles)
    return compiles.status();
  return probe.runHello().status();
}

} // namespace backplane::conformance
