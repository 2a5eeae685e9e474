// SPDX-License-Identifier: Apache-2.0
#include "Driver.h"

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

} // namespace backplane::vulkan
