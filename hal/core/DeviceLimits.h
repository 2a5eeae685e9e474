// SPDX-License-Identifier: Apache-2.0
//
// DeviceLimits.h: whether a device says of itself only what the ABI has.
#ifndef BACKPLANE_CORE_DEVICELIMITS_H
#define BACKPLANE_CORE_DEVICELIMITS_H

#include "backplane/cpp/Result.h"
#include "backplane/hal.h"

namespace backplane {

/// Fails when a driver of this ABI or an earlier one gives a kind, flags or
/// limits that there are not. DeviceInfo, which is also for drivers of a later
/// one, leaves them out. `info` is one that DeviceInfo::copy took.
Status checkDeviceLimits(const bp_device_info_t *info);

} // namespace backplane

#endif // BACKPLANE_CORE_DEVICELIMITS_H
