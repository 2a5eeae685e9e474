// SPDX-License-Identifier: Apache-2.0
//
// Loaded.cpp: a library in a process of its own: whether it can be loaded, and
// whether what it says of itself is what its manifest says.
#include "Layouts.h"
#include "Probe.h"
#include "backplane/compiler.h"

#include <filesystem>
#include <functional>

namespace backplane::lint {

namespace {

std::string fileName(const std::string &path) {
  return std::filesystem::path(path).filename().string();
}

void compareTexts(const Probe &probe, const Manifest &manifest) {
  const bp_plugin_info_t &info = probe.info();
  auto differ = [&](const char *rule, const char *what, bp_string_t library,
                    const std::string &said) {
    if (!said.empty() && view(library) != said)
      probe.find(rule, std::string("says the ") + what + " \"" +
                           std::string(view(library)) + "\", its manifest \"" +
                           said + "\"");
  };
  differ("BPL007", "name", info.name, manifest.name);
  differ("BPL008", "version", info.version, manifest.version);
  differ("BPL009", "vendor", info.vendor, manifest.vendor);
}

void compareRoles(const Probe &probe, const LintedLibrary &library) {
  const bp_plugin_info_t &info = probe.info();
  const bool driver =
      info.driver && info.memory && info.executable && info.queue;
  auto role = [&](const char *name, bool named, bool has) {
    if (named && !has)
      probe.find("BPL011", std::string("has no ") + name +
                               ", for which its manifest names it");
    if (has && !named)
      probe.find("BPL012", std::string("has a ") + name +
                               ", for which its manifest does not name it");
  };
  role("driver", library.driver, driver);
  role("compiler", library.compiler, info.compiler);
  role("kernels table", library.kernels, info.kernels);
}

void compare(const Probe &probe, const Manifest &manifest,
             const LintedLibrary &library) {
  const bp_plugin_info_t &info = probe.info();
  compareTexts(probe, manifest);
  compareRoles(probe, library);
  for (const AbiVersion &version : manifest.abi)
    if (version.major == BP_ABI_MAJOR &&
        version.minorLow != info.required_minor)
      probe.find("BPL010", "requires minor version " +
                               std::to_string(info.required_minor) +
                               ", its manifest says minor_low " +
                               std::to_string(version.minorLow));
}

void lintVersions(const Probe &probe) {
  const bp_plugin_info_t &info = probe.info();
  if (info.built_minor > newestMinor())
    probe.find("BPL204", "was built for minor version " +
                             std::to_string(info.built_minor) +
                             ", known are 1 to " +
                             std::to_string(newestMinor()));
  if (info.required_minor > 1 && info.required_minor == info.built_minor)
    probe.find("BPL205",
               "requires minor version " + std::to_string(info.required_minor) +
                   ", which is that of the headers it was built with");
}

/// The tables that the plug-in info points to.
void lintHeaders(const Probe &probe) {
  const bp_plugin_info_t &info = probe.info();
  struct Table {
    const void *at;
    uint32_t type;
    const char *structName, *what;
  };
  const Table tables[] = {
      {info.plugin, bp_plugin_table_t_TYPE, "bp_plugin_table_t", "plugin"},
      {info.driver, bp_driver_table_t_TYPE, "bp_driver_table_t", "driver"},
      {info.memory, bp_memory_table_t_TYPE, "bp_memory_table_t", "memory"},
      {info.executable, bp_executable_table_t_TYPE, "bp_executable_table_t",
       "executable"},
      {info.queue, bp_queue_table_t_TYPE, "bp_queue_table_t", "queue"},
      {info.compiler, bp_compiler_table_t_TYPE, "bp_compiler_table_t",
       "compiler"},
      {info.kernels, bp_kernels_table_t_TYPE, "bp_kernels_table_t", "kernels"}};
  for (const Table &table : tables)
    if (table.at)
      probe.lintHeader(table.at, table.type, table.structName,
                       std::string("the ") + table.what + " table");
}

/// What the library says of itself.
void lintInfo(Probe &probe, const LintedPlugin &plugin,
              const LintedLibrary &library, const Teller &teller) {
  if (!probe.contact())
    return;
  teller.tell("name", view(probe.info().name));
  if (plugin.manifest)
    compare(probe, *plugin.manifest, library);
  lintVersions(probe);
  lintHeaders(probe);
}

/// Runs a part in a child. What ends it is a finding of `crash`; whether
/// nothing was wrong.
bool inProbe(LintedPlugin &plugin, const LintedLibrary &library,
             const LintOptions &options, Report &report, const char *crash,
             const std::function<void(const Teller &)> &part) {
  std::string last = "start";
  bool good = true;
  auto hear = [&](std::string_view word, const std::string &text) {
    if (word == "call")
      last = text;
    else if (word == "name")
      plugin.name = text;
    else {
      report.find(word, fileName(library.path), text);
      good &= findRule(word)->severity != Severity::Error;
    }
  };
  std::string end = inChild(part, hear, options.timeout);
  if (!end.empty())
    report.find(crash, fileName(library.path), last + ": " + end);
  return good && end.empty();
}

} // namespace

void lintLoaded(LintedPlugin &plugin, const LintOptions &options,
                Report &report) {
  if (!plugin.notRun.empty() || plugin.libraries.empty())
    return report.skip("what runs the libraries (BPL107, BPL201 and later)",
                       plugin.notRun.empty() ? "there is none" : plugin.notRun);
  for (const char *rule :
       {"BPL107", "BPL201", "BPL202", "BPL203", "BPL204", "BPL205"})
    report.ask(rule);
  if (plugin.manifest)
    for (const char *rule :
         {"BPL007", "BPL008", "BPL009", "BPL010", "BPL011", "BPL012"})
      report.ask(rule);
  for (const LintedLibrary &library : plugin.libraries)
    if (!inProbe(plugin, library, options, report, "BPL202",
                 [&](const Teller &teller) {
                   Probe probe(library, teller);
                   lintInfo(probe, plugin, library, teller);
                 }))
      plugin.notRun = "errors of its first contact come first";
  if (report.has("BPL105"))
    plugin.notRun = "it needs symbols of the host (BPL105)";
  if (report.has("BPL102"))
    plugin.notRun = "it has no query function (BPL102)";
  if (!plugin.notRun.empty())
    return report.skip("null pointers (BPL206)", plugin.notRun);
  report.ask("BPL206");
  for (const LintedLibrary &library : plugin.libraries)
    if (!inProbe(plugin, library, options, report, "BPL206",
                 [&](const Teller &teller) {
                   Probe probe(library, teller);
                   callWithNulls(probe);
                 }))
      plugin.notRun = "errors of its first contact come first";
}

} // namespace backplane::lint
