// SPDX-License-Identifier: Apache-2.0
//
// DeviceUri.h: how a user names a device, and what is suggested when the name
// is misspelt.
#ifndef BACKPLANE_CORE_DEVICEURI_H
#define BACKPLANE_CORE_DEVICEURI_H

#include "backplane/cpp/Result.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace backplane {

/// driver://id?key=value&key=value; the driver alone is enough.
struct DeviceUri {
  std::string driver;
  std::string id; ///< empty: the first usable device
  std::vector<std::pair<std::string, std::string>> options;

  static Result<DeviceUri> parse(std::string_view text);
  /// The full text.
  std::string format() const;
};

/// 1 to 32 lower-case letters, digits, underscores and hyphens, as the names of
/// drivers and workers are.
bool isDriverName(std::string_view name);

/// "vulkan+host": the devices of one variant, in order; at least one.
std::vector<std::string> splitUris(std::string_view joined);

} // namespace backplane

#endif // BACKPLANE_CORE_DEVICEURI_H
