// SPDX-License-Identifier: Apache-2.0
//
// Driver.h: what one context of the application has of the Vulkan driver: the
// host's services, the instance, and the tables that the host calls.
#ifndef BACKPLANE_VULKAN_DRIVER_H
#define BACKPLANE_VULKAN_DRIVER_H

#include "Instance.h"
#include "backends/gpu/Driver.h"
#include "backplane/cpp/Tables.h"

#include <algorithm>
#include <memory>
#include <string>

namespace backplane::vulkan {

using gpu::Driver;
using gpu::fail;
using gpu::outOfMemory;
using gpu::readStruct;

/// What `initialize` makes.
struct Plugin : Driver {
  static constexpr plugin::Description description = {
      .name = "vulkan", .vendor = "Backplane", .version = "0.1.0"};
  explicit Plugin(plugin::Host host) : Driver{&host.c(), "Vulkan"} {}
  static plugin::Tables tables();
};

/// What the query part of a device URI says.
struct Options {
  /// Treat device memory as if the host could not see it, so that all copies
  /// take the way they take on a card: `staging=always`.
  bool staging = false;
};

/// The status that a failed call of Vulkan is to the host.
bp_status_t statusOf(VkResult result);
/// A failed call of Vulkan as status and message.
bp_status_t fail(const Driver &driver, bp_error_t *error, VkResult result,
                 std::string_view what);
/// Reads the options; unknown ones are refused by name.
bp_status_t readOptions(const Driver &driver, const bp_options_t *options,
                        Options &out, bp_error_t *error);

extern const bp_driver_table_t driverTable;
extern const bp_executable_table_t executableTable;

} // namespace backplane::vulkan

#endif // BACKPLANE_VULKAN_DRIVER_H
