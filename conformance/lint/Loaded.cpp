// SPDX-License-Identifier: Apache-2.0
//
// Loaded.cpp: a library in a process of its own: whether it can be loaded, what
// it says of itself, and null pointers that it has to take.
#include "Child.h"
#include "Layouts.h"
#include "Lint.h"
#include "backplane/compiler.h"
#include "conformance/plugin/ElfFile.h"
#include "hal/core/Guarded.h"
#include "hal/core/Host.h"
#include "hal/core/PluginCall.h"
#include "hal/core/Tables.h"
#include "sdk/graph/GraphTable.h"

#include <dlfcn.h>
#include <filesystem>

namespace backplane::lint {

namespace {

std::string fileName(const std::string &path) {
  return std::filesystem::path(path).filename().string();
}

/// One library in the child.
class Probe {
public:
  Probe(const LintedPlugin &plugin, const LintedLibrary &library,
        const Teller &teller)
      : plugin_(plugin), library_(library), teller_(teller) {}

  void load();
  void nulls();
  /// Looks at the header of a struct that the plug-in gave.
  void lintHeader(const void *header, uint32_t type, const char *structName,
                  const std::string &what) const;

private:
  void call(const char *function) const { teller_.tell("call", function); }
  void find(const char *rule, const std::string &found) const {
    teller_.tell(rule, found);
  }
  bool open();
  bool resolve(void *handle) const;
  bool ask();
  void compare();
  void compareTexts();
  void compareRoles();
  void lintVersions() const;
  void lintHeaders() const;
  void lintOptionalTables(const bp_plugin_table_t &plugin, void *self) const;
  void enumerate(void *self);
  void compilerNulls(void *self) const;

  const LintedPlugin &plugin_;
  const LintedLibrary &library_;
  const Teller &teller_;
  void *handle_ = nullptr;
  bp_plugin_info_t info_ = {};
  bp_options_t noOptions_ = {};
};

std::string lastError() {
  const char *reason = dlerror();
  return reason ? reason : "no reason";
}

/// Finds all symbols that no library of the tree has.
bool Probe::resolve(void *handle) const {
  Result<checks::ElfFile> file = checks::ElfFile::read(library_.path);
  if (!file)
    return true;
  bool whole = true;
  for (const checks::ElfSymbol &symbol : file->symbols) {
    if (symbol.defined() || symbol.weak() || symbol.name.empty())
      continue;
    dlerror();
    (void)(symbol.version.empty()
               ? dlsym(handle, symbol.name.c_str())
               : dlvsym(handle, symbol.name.c_str(), symbol.version.c_str()));
    if (!dlerror())
      continue;
    whole = false;
    if (symbol.name.starts_with("bp_"))
      continue; // BPL105 says so.
    find("BPL107", "needs '" + symbol.name +
                       "', which no library has that it is linked with");
  }
  return whole;
}

/// Loads it as the host does, but first without binding its functions, so that
/// all of those that are missing can be told.
bool Probe::open() {
  call("loading");
  void *handle = dlopen(library_.path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (!handle) {
    std::string reason = lastError();
    bool symbol = reason.find("undefined symbol") != std::string::npos;
    find(symbol ? "BPL107" : "BPL201", reason);
    return false;
  }
  if (!resolve(handle))
    return false;
  handle_ = dlopen(library_.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle_)
    find("BPL201", lastError());
  return handle_ != nullptr;
}

bool Probe::ask() {
  auto query = reinterpret_cast<bp_plugin_query_t>(
      dlsym(handle_, BP_PLUGIN_QUERY_SYMBOL));
  if (!query)
    return false; // BPL102 says so.
  call(BP_PLUGIN_QUERY_SYMBOL);
  Guarded<bp_plugin_info_t> answer(BP_HEADER(bp_plugin_info_t));
  bp_host_info_t host = {BP_HEADER(bp_host_info_t)};
  host.minor_low = 1;
  host.minor_high = BP_ABI_MINOR;
  int32_t status = query(&host, &answer.value());
  if (status != BP_STATUS_OK) {
    find("BPL207", BP_PLUGIN_QUERY_SYMBOL " gives status " +
                       std::to_string(status) +
                       " to a host of version 0.1 to "
                       "0." +
                       std::to_string(BP_ABI_MINOR));
    return false;
  }
  Status copied = copyStruct(&answer.value(), bp_plugin_info_t_TYPE,
                             "the plug-in info", info_);
  if (!copied.ok())
    find("BPL203", copied.message());
  for (bp_string_t text : {info_.name, info_.vendor, info_.version})
    if (constexpr uint64_t most = 256;
        text.size > most || (text.size && !text.data)) {
      find("BPL207", "a text of the plug-in info is damaged: it has " +
                         std::to_string(text.size) + " bytes");
      return false;
    }
  return copied.ok();
}

void Probe::compareTexts() {
  const Manifest &manifest = *plugin_.manifest;
  auto differ = [&](const char *rule, const char *what, bp_string_t library,
                    const std::string &said) {
    if (!said.empty() && view(library) != said)
      find(rule, std::string("says the ") + what + " \"" +
                     std::string(view(library)) + "\", its manifest \"" + said +
                     "\"");
  };
  differ("BPL007", "name", info_.name, manifest.name);
  differ("BPL008", "version", info_.version, manifest.version);
  differ("BPL009", "vendor", info_.vendor, manifest.vendor);
}

void Probe::compareRoles() {
  const bool driver =
      info_.driver && info_.memory && info_.executable && info_.queue;
  auto role = [&](const char *name, bool named, bool has) {
    if (named && !has)
      find("BPL011",
           std::string("has no ") + name + ", for which its manifest names it");
    if (has && !named)
      find("BPL012", std::string("has a ") + name +
                         ", for which its manifest does not name it");
  };
  role("driver", library_.driver, driver);
  role("compiler", library_.compiler, info_.compiler);
  role("kernels table", library_.kernels, info_.kernels);
}

void Probe::compare() {
  compareTexts();
  compareRoles();
  for (const AbiVersion &version : plugin_.manifest->abi)
    if (version.major == BP_ABI_MAJOR &&
        version.minorLow != info_.required_minor)
      find("BPL010", "requires minor version " +
                         std::to_string(info_.required_minor) +
                         ", its manifest says minor_low " +
                         std::to_string(version.minorLow));
}

void Probe::lintVersions() const {
  if (info_.built_minor > newestMinor())
    find("BPL204", "was built for minor version " +
                       std::to_string(info_.built_minor) + ", known are 1 to " +
                       std::to_string(newestMinor()));
  if (info_.required_minor > 1 && info_.required_minor == info_.built_minor)
    find("BPL205", "requires minor version " +
                       std::to_string(info_.required_minor) +
                       ", which is that of the headers it was built with");
}

/// The tables that the plug-in info points to.
void Probe::lintHeaders() const {
  struct Table {
    const void *at;
    uint32_t type;
    const char *structName, *what;
  };
  const Table tables[] = {
      {info_.plugin, bp_plugin_table_t_TYPE, "bp_plugin_table_t", "plugin"},
      {info_.driver, bp_driver_table_t_TYPE, "bp_driver_table_t", "driver"},
      {info_.memory, bp_memory_table_t_TYPE, "bp_memory_table_t", "memory"},
      {info_.executable, bp_executable_table_t_TYPE, "bp_executable_table_t",
       "executable"},
      {info_.queue, bp_queue_table_t_TYPE, "bp_queue_table_t", "queue"},
      {info_.compiler, bp_compiler_table_t_TYPE, "bp_compiler_table_t",
       "compiler"},
      {info_.kernels, bp_kernels_table_t_TYPE, "bp_kernels_table_t",
       "kernels"}};
  for (const Table &table : tables)
    if (table.at)
      lintHeader(table.at, table.type, table.structName,
                 std::string("the ") + table.what + " table");
}

void Probe::lintHeader(const void *header, uint32_t type,
                       const char *structName, const std::string &what) const {
  std::string fault =
      headerFault(header, type, structName, what, info_.built_minor);
  if (!fault.empty())
    find("BPL203", fault);
}

/// The tables that the plug-in gives by name.
void Probe::lintOptionalTables(const bp_plugin_table_t &plugin,
                               void *self) const {
  struct Optional {
    const char *name, *structName;
    uint32_t type;
  };
  constexpr Optional tables[] = {
      {"backplane.memory2", "bp_memory2_table_t", bp_memory2_table_t_TYPE},
      {"backplane.semaphore", "bp_semaphore_table_t",
       bp_semaphore_table_t_TYPE},
      {"backplane.command_buffer", "bp_command_buffer_table_t",
       bp_command_buffer_table_t_TYPE},
      {"backplane.timestamps", "bp_timestamps_table_t",
       bp_timestamps_table_t_TYPE}};
  for (const Optional &table : tables) {
    call("get_table");
    if (const void *at = plugin.get_table(self, toC(table.name), 0))
      lintHeader(at, table.type, table.structName,
                 std::string("the table \"") + table.name + "\"");
  }
}

void Probe::load() {
  if (!open() || !ask())
    return;
  teller_.tell("name", view(info_.name));
  if (plugin_.manifest)
    compare();
  lintVersions();
  lintHeaders();
}

/// A sink whose structs are looked at.
template <typename T> struct Taker {
  const Probe *probe;
  uint32_t type;
  const char *structName;

  static bp_status_t put(void *context, const T *given) {
    const auto &own = *static_cast<const Taker *>(context);
    if (given)
      own.probe->lintHeader(given, own.type, own.structName,
                            std::string("a ") + own.structName);
    return BP_STATUS_OK;
  }
};

bp_status_t takeStage(void *, bp_string_t, bp_string_t) { return BP_STATUS_OK; }

void Probe::enumerate(void *self) {
  bp_driver_table_t driver;
  if (!copyStruct(info_.driver, bp_driver_table_t_TYPE, "driver", driver).ok())
    return;
  Taker<bp_device_info_t> taker = {this, bp_device_info_t_TYPE,
                                   "bp_device_info_t"};
  bp_device_sink_t sink = {taker.put, &taker};
  if (driver.enumerate) {
    call("enumerate with an error that is NULL");
    driver.enumerate(self, &noOptions_, &sink, nullptr);
  }
  if (driver.open && driver.close) {
    bp_device_t *device = nullptr;
    call("open with an empty id and an error that is NULL");
    if (driver.open(self, {}, &noOptions_, &device, nullptr) == BP_STATUS_OK &&
        device)
      driver.close(device);
  }
}

void Probe::compilerNulls(void *self) const {
  bp_compiler_table_t compiler;
  if (!copyStruct(info_.compiler, bp_compiler_table_t_TYPE, "compiler",
                  compiler)
           .ok())
    return;
  Taker<bp_target_t> taker = {this, bp_target_t_TYPE, "bp_target_t"};
  bp_target_sink_t sink = {taker.put, &taker};
  if (compiler.targets) {
    call("targets with an error that is NULL");
    compiler.targets(self, &sink, nullptr);
  }
  bp_stage_sink_t stageSink = {};
  stageSink.put = takeStage;
  if (compiler.stages) {
    call("stages with an empty target and an error that is NULL");
    compiler.stages(self, {}, &stageSink, nullptr);
  }
}

/// Calls with each null pointer that abi.h and plugin.h allow.
void Probe::nulls() {
  if (!open() || !ask())
    return;
  bp_plugin_table_t plugin;
  if (!copyPluginTable(info_.plugin, plugin).ok())
    return;
  Host host(HostOptions{.threads = 2, .graphTable = graphTable()});
  bp_host_t table =
      host.table(std::min<uint32_t>(BP_ABI_MINOR, info_.built_minor));
  const bp_option_t unknown = {toC("bp-lint-unknown"), {}};
  const bp_options_t one = {&unknown, 1};
  void *self = nullptr;
  call("initialize with an unknown option and an error that is NULL");
  if (plugin.initialize(&table, &one, &self, nullptr) == BP_STATUS_OK)
    plugin.shutdown(self);
  call("initialize with an error that is NULL");
  if (plugin.initialize(&table, &noOptions_, &self, nullptr) != BP_STATUS_OK)
    return;
  call("get_table with an empty name");
  (void)plugin.get_table(self, {}, 0);
  lintOptionalTables(plugin, self);
  if (info_.driver)
    enumerate(self);
  if (info_.compiler)
    compilerNulls(self);
  call("shutdown");
  plugin.shutdown(self);
}

/// Runs a part of a probe in a child. What ends it is a finding of `crash`;
/// whether nothing was.
bool inProbe(LintedPlugin &plugin, const LintedLibrary &library,
             const LintOptions &options, Report &report, const char *crash,
             void (Probe::*part)()) {
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
  std::string end = inChild(
      [&](const Teller &teller) { (Probe(plugin, library, teller).*part)(); },
      hear, options.timeout);
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
    if (!inProbe(plugin, library, options, report, "BPL202", &Probe::load))
      plugin.notRun = "errors of its first contact come first";
  if (report.has("BPL105"))
    plugin.notRun = "it needs symbols of the host (BPL105)";
  if (report.has("BPL102"))
    plugin.notRun = "it has no query function (BPL102)";
  if (!plugin.notRun.empty())
    return report.skip("null pointers (BPL206)", plugin.notRun);
  report.ask("BPL206");
  for (const LintedLibrary &library : plugin.libraries)
    if (!inProbe(plugin, library, options, report, "BPL206", &Probe::nulls))
      plugin.notRun = "errors of its first contact come first";
}

} // namespace backplane::lint
