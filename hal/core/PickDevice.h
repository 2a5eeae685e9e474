// SPDX-License-Identifier: Apache-2.0
//
// PickDevice.h: which of a driver's devices a URI means.
#ifndef BACKPLANE_CORE_PICKDEVICE_H
#define BACKPLANE_CORE_PICKDEVICE_H

#include "hal/core/DeviceInfo.h"
#include "hal/core/DeviceUri.h"

namespace backplane {

/// The device that `uri` means among those of its driver: by id, by number, or
/// the first usable one that is not emulated in place of another. A failure
/// says what there is, or why the device cannot be used.
Result<std::shared_ptr<const DeviceInfo>> pickDevice(const DeviceUri &uri,
                                                     const DeviceInfos &infos);

} // namespace backplane

#endif // BACKPLANE_CORE_PICKDEVICE_H
