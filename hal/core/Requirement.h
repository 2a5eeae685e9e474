// SPDX-License-Identifier: Apache-2.0
//
// Requirement.h: whether a device has what a target or a variant requires.
#ifndef BACKPLANE_CORE_REQUIREMENT_H
#define BACKPLANE_CORE_REQUIREMENT_H

#include "hal/core/DeviceInfo.h"

namespace backplane {

/// What the device lacks of a required feature, which may be a comparison
/// (sdk/support/Condition.h), with the reason; empty when it has it. One that
/// cannot be read is lacking.
std::string lacking(std::string_view required, const DeviceInfo &device);

} // namespace backplane

#endif // BACKPLANE_CORE_REQUIREMENT_H
