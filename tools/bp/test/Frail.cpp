// SPDX-License-Identifier: Apache-2.0
//
// The reference device with a cable that somebody pulls, for plugins.py.
// BP_FRAIL says when: "open", or how many calls of queue_execute go well
// before. "hang": the work is taken and never done. "emulated": never, and the
// device says so of itself.
#include "backplane/compiler.h"
#include "backplane/hal.h"
#include "backplane/plugin.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>

namespace {

bp_string_t text(const char *data) { return {data, std::strlen(data)}; }

const bp_host_t *theHost;
bp_plugin_info_t ref; ///< of the reference plug-in
bp_plugin_table_t pluginTable;
bp_driver_table_t driverTable;
bp_queue_table_t queueTable;
std::atomic<long> calls{0};

std::string when() {
  const char *variable = std::getenv("BP_FRAIL");
  return variable ? variable : "";
}

bp_status_t initialize(const bp_host_t *host, const bp_options_t *options,
                       void **self, bp_error_t *error) {
  theHost = host;
  return ref.plugin->initialize(host, options, self, error);
}

bp_status_t putEmulated(void *context, const bp_device_info_t *info) {
  bp_device_info_t changed = *info;
  changed.flags |= BP_DEVICE_EMULATED;
  const auto &sink = *static_cast<const bp_device_sink_t *>(context);
  return sink.put(sink.context, &changed);
}

bp_status_t enumerate(void *self, const bp_options_t *options,
                      const bp_device_sink_t *sink, bp_error_t *error) {
  bp_device_sink_t emulated = {putEmulated,
                               const_cast<bp_device_sink_t *>(sink)};
  return ref.driver->enumerate(self, options,
                               when() == "emulated" ? &emulated : sink, error);
}

/// No optional table, so that all work goes through queue_execute.
const void *noTable(void *, bp_string_t, uint32_t) { return nullptr; }

bp_status_t open(void *self, bp_string_t id, const bp_options_t *options,
                 bp_device_t **device, bp_error_t *error) {
  if (when() == "open")
    return theHost->error_set(theHost->self, error, BP_STATUS_UNAVAILABLE,
                              text("the cable is not there"));
  return ref.driver->open(self, id, options, device, error);
}

bp_status_t execute(bp_queue_t *queue, const bp_header_t *const *commands,
                    uint64_t count, const bp_completion_t *completion,
                    bp_error_t *error) {
  std::string limit = when();
  if (limit == "hang")
    return BP_STATUS_OK;
  if (limit.empty() || limit == "emulated" ||
      calls++ < std::strtol(limit.c_str(), nullptr, 10))
    return ref.queue->queue_execute(queue, commands, count, completion, error);
  completion->done(completion->context, BP_STATUS_UNAVAILABLE,
                   text("somebody pulled the cable"));
  return BP_STATUS_OK;
}

/// The reference plug-in, in the folder beside that of this one.
bool load() {
  Dl_info here = {};
  if (ref.plugin || !dladdr(reinterpret_cast<void *>(&execute), &here))
    return ref.plugin != nullptr;
  std::string folder = here.dli_fname;
  folder.resize(folder.rfind('/'));
  folder += "/../plugins/libbp-ref.so";
  void *library = dlopen(folder.c_str(), RTLD_NOW | RTLD_LOCAL);
  auto query = reinterpret_cast<bp_plugin_query_t>(
      library ? dlsym(library, BP_PLUGIN_QUERY_SYMBOL) : nullptr);
  bp_host_info_t host = {BP_HEADER(bp_host_info_t)};
  host.minor_low = host.minor_high = BP_ABI_MINOR;
  ref = {BP_HEADER(bp_plugin_info_t)};
  if (!query || query(&host, &ref) != BP_STATUS_OK)
    return false;
  pluginTable = *ref.plugin;
  pluginTable.initialize = &initialize;
  pluginTable.get_table = &noTable;
  driverTable = *ref.driver;
  driverTable.enumerate = &enumerate;
  driverTable.open = &open;
  queueTable = *ref.queue;
  queueTable.queue_execute = &execute;
  return true;
}

} // namespace

extern "C" BP_PLUGIN_EXPORT int32_t bp_plugin_query_v0(const bp_host_info_t *,
                                                       bp_plugin_info_t *out) {
  if (!load())
    return BP_STATUS_UNAVAILABLE;
  bp_plugin_info_t info = ref;
  info.plugin = &pluginTable;
  info.driver = &driverTable;
  info.queue = &queueTable;
  if (info.header.size > out->header.size)
    info.header.size = out->header.size;
  std::memcpy(out, &info, info.header.size);
  return BP_STATUS_OK;
}
