// SPDX-License-Identifier: Apache-2.0
#include "Executable.h"

namespace backplane::host {

/// More scratch per worker than this is a damaged description.
static constexpr uint64_t maxWorkspace = uint64_t(1) << 32;

static uint32_t parametersOf(const bp_entry_t &entry) {
  return BP_HAS(&entry, bp_entry_t, parameter_count) ? entry.parameter_count
                                                     : 0;
}

/// Functions of this process in place of an image.
static Status loadNative(const bp_executable_info_t &info, Executable &out) {
  for (uint64_t i = 0; i < info.entry_count; ++i) {
    const bp_native_function_t *function = info.functions[i];
    if (!function->cpu)
      return invalidArgument("a native kernel has no function for a CPU");
    const bp_entry_t &entry = *info.entries[i];
    out.entries.push_back({function->cpu, entry.workspace_bytes,
                           parametersOf(entry), true, function->self});
  }
  return {};
}

static Status loadImage(const bp_executable_info_t &info, Executable &out) {
  std::string reason;
  out.image = Image::map(static_cast<const uint8_t *>(info.blob.data),
                         info.blob.size, &reason);
  if (!out.image)
    return invalidArgument(reason);
  for (uint64_t i = 0; i < info.entry_count; ++i) {
    const bp_entry_t &entry = *info.entries[i];
    std::string name(view(entry.name));
    auto function = reinterpret_cast<bp_cpu_entry_t>(out.image->function(name));
    if (!function)
      return invalidArgument("it does not export the function " + name);
    if (entry.workspace_bytes > maxWorkspace)
      return invalidArgument("its entry " + name + " asks for " +
                             std::to_string(entry.workspace_bytes) +
                             " bytes of scratch per worker");
    out.entries.push_back(
        {function, entry.workspace_bytes, parametersOf(entry)});
  }
  return {};
}

Result<std::unique_ptr<Executable>>
Device::load(const bp_executable_info_t &info) {
  Result<std::unique_ptr<Executable>> executable = make<Executable>();
  if (!executable)
    return executable;
  Status status = view(info.format) == "native"
                      ? loadNative(info, **executable)
                      : loadImage(info, **executable)
                            .within("the executable cannot be loaded");
  if (!status.ok())
    return status;
  return executable;
}

} // namespace backplane::host
