// SPDX-License-Identifier: Apache-2.0
//
// Driver.h: what a driver of GPUs has of the host, and how it fails.
#ifndef BACKPLANE_GPU_DRIVER_H
#define BACKPLANE_GPU_DRIVER_H

#include "backplane/cpp/Commands.h"
#include "backplane/cpp/PluginHost.h"

#include <algorithm>
#include <cstring>

namespace backplane::gpu {

using plugin::Commands;

/// What one context of the application has of a driver.
struct Driver {
  const bp_host_t *host;
  const char *name; ///< for messages: "Vulkan"
};

/// Bytes of what is said of a failure, the zero behind it counted.
inline constexpr size_t maxMessage = 1024;

/// How work on a device went. It needs no memory: there may be none, and a
/// thread of the driver has nobody who catches what `new` throws.
struct Outcome {
  bp_status_t status = BP_STATUS_OK;
  char message[maxMessage] = "";
};

/// A struct as far as its sender's build knows it; what came later is zero.
template <typename T> T readStruct(const bp_header_t *header) {
  T copy = {};
  std::memcpy(&copy, header, std::min<size_t>(header->size, sizeof(T)));
  return copy;
}

bp_status_t fail(const Driver &driver, bp_error_t *error, bp_status_t status,
                 std::string_view message);
bp_status_t outOfMemory(const Driver &driver, bp_error_t *error);
/// The same for something that the driver, whose name is put in front, lacks:
/// "has no queue of class 9".
bp_status_t lacks(const Driver &driver, bp_error_t *error,
                  const std::string &what);
/// The monotonic clock of the host, in nanoseconds.
uint64_t hostNow();

} // namespace backplane::gpu

#endif // BACKPLANE_GPU_DRIVER_H
