// SPDX-License-Identifier: Apache-2.0
//
// DeviceInfo.h: the host's own copy of what a driver said about a device.
#ifndef BACKPLANE_CORE_DEVICEINFO_H
#define BACKPLANE_CORE_DEVICEINFO_H

#include "backplane/cpp/Result.h"
#include "backplane/hal.h"
#include "sdk/support/Property.h"

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace backplane {

/// Immutable, shared by listings and devices.
class DeviceInfo {
public:
  /// Copies and checks `info` of a driver, which may be anything: garbage is
  /// refused with a reason.
  static Result<std::shared_ptr<const DeviceInfo>>
  copy(const bp_device_info_t *info);

  DeviceInfo(const DeviceInfo &) = delete;
  DeviceInfo &operator=(const DeviceInfo &) = delete;

  /// The C form; its pointers live with this object.
  const bp_device_info_t &c() const { return info_; }
  std::string_view id() const { return view(info_.id); }
  std::string_view name() const { return view(info_.name); }
  std::string_view refusal() const { return view(info_.refusal); }
  bool emulated() const { return info_.flags & BP_DEVICE_EMULATED; }
  bool hasFormat(std::string_view format) const;
  bool hasFeature(std::string_view feature) const;
  const std::vector<Property> &properties() const { return properties_; }

private:
  DeviceInfo() = default;
  bp_string_t keep(bp_string_t text);

  bp_device_info_t info_ = {BP_HEADER(bp_device_info_t)};
  std::deque<std::string> strings_;
  std::vector<bp_string_t> formats_;
  std::vector<bp_string_t> features_;
  std::vector<Property> properties_;
  std::vector<bp_property_t> cProperties_;
};

/// What a driver lists, in its order; a failure where it said nothing usable of
/// a device.
using DeviceInfos = std::vector<Result<std::shared_ptr<const DeviceInfo>>>;

} // namespace backplane

#endif // BACKPLANE_CORE_DEVICEINFO_H
