// SPDX-License-Identifier: Apache-2.0
//
// Plugin.cpp: the exported symbol, the life cycle and the optional tables.
#include "Driver.h"

#include <cstring>
#include <new>

namespace backplane::vulkan {

bp_status_t fail(const Driver &driver, bp_error_t *error, bp_status_t status,
                 std::string_view message) {
  return driver.host->error_set(driver.host->self, error, status,
                                {message.data(), message.size()});
}

bp_status_t fail(const Driver &driver, bp_error_t *error, VkResult result,
                 std::string_view what) {
  bp_status_t status = BP_STATUS_INTERNAL;
  if (result == VK_ERROR_DEVICE_LOST)
    status = BP_STATUS_UNAVAILABLE;
  if (result == VK_ERROR_OUT_OF_HOST_MEMORY ||
      result == VK_ERROR_OUT_OF_DEVICE_MEMORY ||
      result == VK_ERROR_TOO_MANY_OBJECTS)
    status = BP_STATUS_RESOURCE_EXHAUSTED;
  return fail(driver, error, status, std::string(what) + ": " + nameOf(result));
}

bp_status_t outOfMemory(const Driver &driver, bp_error_t *error) {
  return fail(driver, error, BP_STATUS_RESOURCE_EXHAUSTED, "out of memory");
}

bp_status_t readOptions(const Driver &driver, const bp_options_t *options,
                        Options &out, bp_error_t *error) {
  for (uint64_t i = 0; options && i < options->count; ++i) {
    const bp_option_t &option = options->items[i];
    std::string key(option.key.data, option.key.size);
    std::string value(option.value.data, option.value.size);
    if (key != "staging")
      return fail(driver, error, BP_STATUS_INVALID_ARGUMENT,
                  "the Vulkan driver knows no option \"" + key +
                      "\"; it has staging=always");
    if (value != "always" && value != "auto")
      return fail(driver, error, BP_STATUS_INVALID_ARGUMENT,
                  "option staging is \"" + value +
                      "\"; it can be auto or always");
    out.staging = value == "always";
  }
  return BP_STATUS_OK;
}

static bp_status_t initialize(const bp_host_t *host,
                              const bp_options_t *options, void **outSelf,
                              bp_error_t *error) {
  Driver probe{host};
  if (options && options->count)
    return fail(probe, error, BP_STATUS_INVALID_ARGUMENT,
                "the Vulkan driver knows no option \"" +
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
  return nullptr;
}

static const bp_plugin_table_t pluginTable = {BP_HEADER(bp_plugin_table_t),
                                              initialize, shutdown, getTable};

} // namespace backplane::vulkan

extern "C" BP_PLUGIN_EXPORT int32_t bp_plugin_query_v0(const bp_host_info_t *,
                                                       bp_plugin_info_t *out) {
  using namespace backplane::vulkan;
  bp_plugin_info_t info = {BP_HEADER(bp_plugin_info_t)};
  info.name = {"vulkan", 6};
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
