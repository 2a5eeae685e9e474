// SPDX-License-Identifier: Apache-2.0
//
// DevicePolicy.h: what an application writes where a device is asked for: one
// device, several in order, or what it wants of one. docs/howto/
// choose-a-device.md has the meaning for users.
#ifndef BACKPLANE_RUNTIME_DEVICEPOLICY_H
#define BACKPLANE_RUNTIME_DEVICEPOLICY_H

#include "hal/core/DeviceInfo.h"

#include <string>
#include <string_view>
#include <vector>

namespace backplane::rt {

enum class Aim { Latency, Throughput, Power };

/// "latency"
std::string_view name(Aim aim);

struct DevicePolicy {
  std::string text;              ///< as given
  std::vector<std::string> uris; ///< in the order of preference
  std::optional<Aim> aim;        ///< also any device of this machine
  size_t aimAt = 0;              ///< uris in front of those

  /// Takes "host", "vulkan,host", "auto:latency" and lists with one of the last
  /// kind; an empty text is "host".
  static Result<DevicePolicy> parse(std::string_view text);
};

/// How far down a device stands for an aim by what it declares, 0 being the
/// first, with the reason in words.
struct Standing {
  int place = 0;
  std::string reason;
};
Standing standing(Aim aim, const DeviceInfo &device, uint32_t rank);

/// The last places, which are taken only when nothing else runs the model:
/// emulated devices and variants of rank 0 (interpreters).
inline constexpr int lastResort = 8;

} // namespace backplane::rt

#endif // BACKPLANE_RUNTIME_DEVICEPOLICY_H
