// SPDX-License-Identifier: Apache-2.0
#include "hal/core/Requirement.h"

#include "sdk/support/Concat.h"
#include "sdk/support/Condition.h"

namespace backplane {

/// Why the number that a device reports does not meet a condition; empty when
/// it does.
static std::string unmet(const Condition &condition, const DeviceInfo &device) {
  const Property::Value *value =
      findProperty(device.properties(), condition.key);
  if (!value)
    return "the device does not report it";
  const auto *number = std::get_if<int64_t>(value);
  if (!number)
    return "the device reports no integer";
  return condition.holds(*number) ? ""
                                  : "the device has " + std::to_string(*number);
}

std::string lacking(std::string_view required, const DeviceInfo &device) {
  std::string quoted = concat({"'", required, "'"});
  if (!isComparison(required))
    return device.hasFeature(required) ? "" : quoted;
  Result<Condition> condition = Condition::parse(required);
  std::string why = condition ? unmet(*condition, device) : condition.message();
  return why.empty() ? "" : concat({quoted, " (", why, ")"});
}

} // namespace backplane
