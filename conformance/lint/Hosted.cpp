// SPDX-License-Identifier: Apache-2.0
//
// Hosted.cpp: the plug-in in a host, in a process of its own: what the host
// makes of the devices, targets and kernels that it lists.
#include "Child.h"
#include "Lint.h"
#include "hal/core/KernelSet.h"
#include "hal/core/PluginCall.h"
#include "hal/core/Registry.h"
#include "sdk/graph/GraphTable.h"
#include "sdk/kernels/RegisteredKernel.h"

#include <filesystem>
#include <unistd.h>

namespace backplane::lint {

namespace {

/// Of the child, for the function that the host calls before each call.
const Teller *told = nullptr;

std::unique_ptr<CallLook> tellFunction(const char *function) {
  told->tell("call", function);
  return nullptr;
}

void listKernels(const KernelSet &set, const Teller &teller) {
  uint64_t number = 0;
  Status status = callDescribe(set, [&](const bp_kernel_t &kernel) {
    std::string which = "kernel " + std::to_string(++number);
    auto text = parseKernelText(view(kernel.text));
    Status wrong = text ? checkCost(*text, std::string(view(kernel.cost)))
                        : Status(text.status());
    if (text)
      which += ", '" + text->name + "'";
    if (!wrong.ok())
      teller.tell("BPL208", which + ": " + wrong.message());
    return Status();
  });
  if (!status.ok())
    teller.tell("BPL208", status.message());
}

void listAll(const LoaderOptions &loader, const Teller &teller) {
  told = &teller;
  callLooker = tellFunction;
  auto registry = Registry::create(loader, graphTable());
  for (const DeviceListing &line : registry->listings())
    if (line.info && line.refusal.empty())
      teller.tell("device", line.uri);
    else if (line.info)
      teller.tell("unusable", line.uri + ": " + line.refusal);
    else if (line.refusal == noDevice)
      teller.tell("none", line.refusal);
    else if (!line.refusal.empty())
      teller.tell("BPL207", line.refusal);
  for (const KernelSet &set : registry->kernelSets())
    listKernels(set, teller);
  teller.tell("call", "shutdown");
}

} // namespace

void lintHosted(LintedPlugin &plugin, const LintOptions &options,
                const LoaderOptions &loader, Report &report) {
  const std::string what = "what the host makes of it (BPL207, BPL208)";
  if (!plugin.manifest)
    return report.skip(what, "the host needs a manifest");
  if (!plugin.notRun.empty())
    return report.skip(what, plugin.notRun);
  report.ask("BPL207");
  report.ask("BPL208");
  const std::string where =
      std::filesystem::path(plugin.manifestPath).filename();
  LoaderOptions alone;
  alone.pluginFiles = {plugin.manifestPath};
  alone.threads = 2;
  alone.trust = loader.trust;
  std::string last = "start";
  auto hear = [&](std::string_view word, const std::string &text) {
    if (word == "call")
      last = text;
    else if (word == "device") {
      plugin.usableDevice = true;
      if (plugin.uri.empty()) // one that only its full name opens, too
        plugin.uri = text;
    } else if (word == "unusable")
      report.skip("a device", text);
    else
      report.find(word, where, text);
  };
  std::string end =
      inChild([&](const Teller &teller) { listAll(alone, teller); }, hear,
              options.timeout);
  if (!end.empty())
    report.find("BPL202", where, last + ": " + end);
  if (!end.empty() || report.has("BPL207"))
    plugin.notRun = "errors of its first contact come first";
}

} // namespace backplane::lint
