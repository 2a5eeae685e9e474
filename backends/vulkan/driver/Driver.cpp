// SPDX-License-Identifier: Apache-2.0
#include "Driver.h"
#include "backends/gpu/Queue.h"

namespace backplane::vulkan {

plugin::Tables Plugin::tables() {
  return {&driverTable,         &gpu::memoryTable,    &executableTable,
          &gpu::queueTable,     &gpu::memory2Table,   &gpu::commandBufferTable,
          &gpu::semaphoreTable, &gpu::timestampsTable};
}

bp_status_t statusOf(VkResult result) {
  switch (result) {
  case VK_ERROR_DEVICE_LOST:
    return BP_STATUS_UNAVAILABLE;
  case VK_ERROR_OUT_OF_HOST_MEMORY:
  case VK_ERROR_OUT_OF_DEVICE_MEMORY:
  case VK_ERROR_TOO_MANY_OBJECTS:
    return BP_STATUS_RESOURCE_EXHAUSTED;
  default:
    return BP_STATUS_INTERNAL;
  }
}

bp_status_t fail(const Driver &driver, bp_error_t *error, VkResult result,
                 std::string_view what) {
  return fail(driver, error, statusOf(result),
              std::string(what) + ": " + nameOf(result));
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

} // namespace backplane::vulkan
