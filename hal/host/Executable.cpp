// SPDX-License-Identifier: Apache-2.0
#include "Executable.h"

#include <new>

namespace backplane::host {

/// More scratch per worker than this is a damaged description.
static constexpr uint64_t maxWorkspace = uint64_t(1) << 32;

static uint32_t parametersOf(const bp_entry_t &entry) {
  return BP_HAS(&entry, bp_entry_t, parameter_count) ? entry.parameter_count
                                                     : 0;
}

static bool isNative(const bp_executable_info_t &info) {
  return std::string_view(info.format.data, info.format.size) == "native";
}

/// Functions of this process in place of an image.
static bp_status_t loadNative(const Driver &driver,
                              const bp_executable_info_t &info,
                              bp_executable_t **out, bp_error_t *error) {
  std::unique_ptr<bp_executable_t> executable(new (std::nothrow)
                                                  bp_executable_t);
  if (!executable)
    return fail(driver, error, BP_STATUS_RESOURCE_EXHAUSTED, "out of memory");
  for (uint64_t i = 0; i < info.entry_count; ++i) {
    const bp_native_function_t *function = info.functions[i];
    if (!function->cpu)
      return fail(driver, error, BP_STATUS_INVALID_ARGUMENT,
                  "a native kernel has no function for a CPU");
    const bp_entry_t &entry = *info.entries[i];
    executable->entries.push_back({function->cpu, entry.workspace_bytes,
                                   parametersOf(entry), true, function->self});
  }
  *out = executable.release();
  return BP_STATUS_OK;
}

static bp_status_t load(bp_device_t *device, const bp_executable_info_t *info,
                        bp_executable_t **out, bp_error_t *error) {
  const Driver &driver = *device->driver;
  if (isNative(*info))
    return loadNative(driver, *info, out, error);
  auto refuse = [&](const std::string &reason) {
    return fail(driver, error, BP_STATUS_INVALID_ARGUMENT,
                "the executable cannot be loaded: " + reason);
  };
  std::string reason;
  std::unique_ptr<Image> image = Image::map(
      static_cast<const uint8_t *>(info->blob.data), info->blob.size, &reason);
  if (!image)
    return refuse(reason);
  std::unique_ptr<bp_executable_t> executable(new (std::nothrow)
                                                  bp_executable_t);
  if (!executable)
    return fail(driver, error, BP_STATUS_RESOURCE_EXHAUSTED, "out of memory");
  for (uint64_t i = 0; i < info->entry_count; ++i) {
    const bp_entry_t &entry = *info->entries[i];
    std::string_view name(entry.name.data, entry.name.size);
    auto function = reinterpret_cast<bp_cpu_entry_t>(image->function(name));
    if (!function)
      return refuse("it does not export the function " + std::string(name));
    if (entry.workspace_bytes > maxWorkspace)
      return refuse("its entry " + std::string(name) + " asks for " +
                    std::to_string(entry.workspace_bytes) +
                    " bytes of scratch per worker");
    executable->entries.push_back(
        {function, entry.workspace_bytes, parametersOf(entry)});
  }
  executable->image = std::move(image);
  *out = executable.release();
  return BP_STATUS_OK;
}

static void unload(bp_device_t *, bp_executable_t *executable) {
  delete executable;
}

const bp_executable_table_t executableTable = {BP_HEADER(bp_executable_table_t),
                                               load, unload};

} // namespace backplane::host
