// SPDX-License-Identifier: Apache-2.0
#include "hal/core/DeviceLimits.h"
#include "hal/core/Tables.h"

#include <string>

namespace backplane {

Status checkDeviceLimits(const bp_device_info_t *info) {
  constexpr uint32_t knownFlags = BP_DEVICE_EMULATED |
                                  BP_DEVICE_UNIFIED_MEMORY |
                                  BP_DEVICE_SYNCHRONOUS | BP_DEVICE_DISCRETE;
  bp_device_info_t c;
  if (Status s = copyStruct(info, bp_device_info_t_TYPE, "device info", c);
      !s.ok())
    return s;
  const std::string what = "device " + std::string(view(c.id)) + " has ";
  if (c.kind > BP_DEVICE_KIND_OTHER)
    return invalidArgument(what + "kind " + std::to_string(c.kind) +
                           ", which is no BP_DEVICE_KIND_");
  if (uint32_t unknown = c.flags & ~knownFlags)
    return invalidArgument(what + "flags " + std::to_string(unknown) +
                           ", which are no BP_DEVICE_ bits");
  struct Limit {
    const char *member;
    uint64_t value, most;
  };
  for (const Limit &limit :
       {Limit{"max_constants", c.max_constants, BP_MAX_CONSTANTS},
        Limit{"max_parameters", c.max_parameters, BP_MAX_PARAMETERS},
        Limit{"max_driver_data", c.max_driver_data, BP_MAX_DRIVER_DATA}})
    if (limit.value > limit.most)
      return invalidArgument(
          what + limit.member + " " + std::to_string(limit.value) +
          ", the ABI has at most " + std::to_string(limit.most));
  return {};
}

} // namespace backplane
