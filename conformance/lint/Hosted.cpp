// SPDX-License-Identifier: Apache-2.0
//
// Hosted.cpp: the plug-in in a host, in a process of its own: what the host
// makes of the devices, targets and kernels that it lists.
#include "Child.h"
#include "Lint.h"
#include "hal/core/PluginCall.h"
#include "hal/core/Registry.h"
#include "sdk/graph/GraphTable.h"

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
  teller.tell("call", "shutdown");
}

} // namespace

void lintHosted(LintedPlugin &plugin, const LintOptions &options,
                const LoaderOptions &loader, Report &report) {
  const std::string what = "what the host makes of it (BPL207)";
  if (!plugin.manifest)
    return report.skip(what, "the host needs a manifest");
  if (!plugin.notRun.empty())
    return report.skip(what, plugin.notRun);
  report.ask("BPL207");
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
    else if (word == "device")
      plugin.usableDevice = true;
    else if (word == "unusable")
      report.skip("a device", text);
    else if (word == "BPL207")
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
