// SPDX-License-Identifier: Apache-2.0
//
// Nulls.cpp: null pointers that a library has to take.
#include "Probe.h"
#include "backplane/compiler.h"
#include "hal/core/Host.h"
#include "hal/core/Tables.h"
#include "sdk/graph/GraphTable.h"

#include <algorithm>

namespace backplane::lint {

namespace {

constexpr bp_options_t noOptions = {};

/// The tables that the plug-in gives by name.
void lintOptionalTables(const Probe &probe, const bp_plugin_table_t &plugin,
                        void *self) {
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
       bp_timestamps_table_t_TYPE},
      {"backplane.interop", "bp_interop_table_t", bp_interop_table_t_TYPE}};
  for (const Optional &table : tables) {
    probe.call("get_table");
    if (const void *at = plugin.get_table(self, toC(table.name), 0))
      probe.lintHeader(at, table.type, table.structName,
                       std::string("the table \"") + table.name + "\"");
  }
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

void enumerate(const Probe &probe, void *self) {
  bp_driver_table_t driver;
  if (!copyStruct(probe.info().driver, bp_driver_table_t_TYPE, "driver", driver)
           .ok())
    return;
  Taker<bp_device_info_t> taker = {&probe, bp_device_info_t_TYPE,
                                   "bp_device_info_t"};
  bp_device_sink_t sink = {taker.put, &taker};
  if (driver.enumerate) {
    probe.call("enumerate with an error that is NULL");
    driver.enumerate(self, &noOptions, &sink, nullptr);
  }
  if (driver.open && driver.close) {
    bp_device_t *device = nullptr;
    probe.call("open with an empty id and an error that is NULL");
    if (driver.open(self, {}, &noOptions, &device, nullptr) == BP_STATUS_OK &&
        device)
      driver.close(device);
  }
}

void compilerNulls(const Probe &probe, void *self) {
  bp_compiler_table_t compiler;
  if (!copyStruct(probe.info().compiler, bp_compiler_table_t_TYPE, "compiler",
                  compiler)
           .ok())
    return;
  Taker<bp_target_t> taker = {&probe, bp_target_t_TYPE, "bp_target_t"};
  bp_target_sink_t sink = {taker.put, &taker};
  if (compiler.targets) {
    probe.call("targets with an error that is NULL");
    compiler.targets(self, &sink, nullptr);
  }
  bp_stage_sink_t stageSink = {};
  stageSink.put = takeStage;
  if (compiler.stages) {
    probe.call("stages with an empty target and an error that is NULL");
    compiler.stages(self, {}, &stageSink, nullptr);
  }
}

} // namespace

void callWithNulls(Probe &probe) {
  if (!probe.contact())
    return;
  bp_plugin_table_t plugin;
  if (!copyPluginTable(probe.info().plugin, plugin).ok())
    return;
  Host host(HostOptions{.threads = 2, .graphTable = graphTable()});
  bp_host_t table =
      host.table(std::min<uint32_t>(BP_ABI_MINOR, probe.info().built_minor));
  const bp_option_t unknown = {toC("bp-lint-unknown"), {}};
  const bp_options_t one = {&unknown, 1};
  void *self = nullptr;
  probe.call("initialize with an unknown option and an error that is NULL");
  if (plugin.initialize(&table, &one, &self, nullptr) == BP_STATUS_OK)
    plugin.shutdown(self);
  probe.call("initialize with an error that is NULL");
  if (plugin.initialize(&table, &noOptions, &self, nullptr) != BP_STATUS_OK)
    return;
  probe.call("get_table with an empty name");
  (void)plugin.get_table(self, {}, 0);
  lintOptionalTables(probe, plugin, self);
  if (probe.info().driver)
    enumerate(probe, self);
  if (probe.info().compiler)
    compilerNulls(probe, self);
  probe.call("shutdown");
  plugin.shutdown(self);
}

} // namespace backplane::lint
