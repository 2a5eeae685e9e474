// SPDX-License-Identifier: Apache-2.0
//
// Plugin.cpp: the exported symbol, the life cycle and the optional tables.
#include "Driver.h"

#include <cstring>
#include <new>

namespace backplane::cuda {

static bp_status_t initialize(const bp_host_t *host,
                              const bp_options_t *options, void **outSelf,
                              bp_error_t *error) {
  Driver probe{host};
  if (options && options->count)
    return fail(probe, error, BP_STATUS_INVALID_ARGUMENT,
                "the CUDA driver knows no option \"" +
                    std::string(options->items[0].key.data,
                                options->items[0].key.size) +
                    "\" here; it has none before a device is opened");
  auto *driver = new (std::nothrow) Driver{host};
  if (!driver)
    return outOfMemory(probe, error);
  *outSelf = driver;
  return BP_STATUS_OK;
}

static void shutdown(void *self) { delete static_cast<Driver *>(self); }

static const void *getTable(void *, bp_string_t name, uint32_t version) {
  std::string_view text(name.data, name.size);
  if (version != 0)
    return nullptr;
  if (text == "backplane.memory2")
    return &memory2Table;
  if (text == "backplane.command_buffer")
    return &commandBufferTable;
  if (text == "backplane.semaphore")
    return &semaphoreTable;
  if (text == "backplane.timestamps")
    return &timestampsTable;
  return nullptr;
}

static const bp_plugin_table_t pluginTable = {BP_HEADER(bp_plugin_table_t),
                                              initialize, shutdown, getTable};

} // namespace backplane::cuda

extern "C" BP_PLUGIN_EXPORT int32_t bp_plugin_query_v0(const bp_host_info_t *,
                                                       bp_plugin_info_t *out) {
  using namespace backplane::cuda;
  bp_plugin_info_t info = {BP_HEADER(bp_plugin_info_t)};
  info.name = {"cuda", 4};
  info.vendor = {"Backplane", 9};
  info.version = {"0.1.0", 5};
  info.required_minor = 1;
  info.built_minor = BP_ABI_MINOR;
  info.plugin = &pluginTable;
  info.driver = &driverTable;
  info.memory = &memoryTable;
  info.executable = &executableTable;
  info.queue = &queueTable;
  uint32_t room = out->header.size;
  info.header.size = room < sizeof(info) ? room : uint32_t(sizeof(info));
  std::memcpy(out, &info, info.header.size);
  return BP_STATUS_OK;
}
