// SPDX-License-Identifier: Apache-2.0
#include "hal/core/PickDevice.h"
#include "sdk/support/NearestName.h"

#include <algorithm>
#include <charconv>

namespace backplane {

/// Where a driver lists a real device, usable or not, nobody gets an emulated
/// one without naming it.
static bool listsReal(const DeviceInfos &infos) {
  return std::any_of(infos.begin(), infos.end(), [](const auto &info) {
    return info && !(*info)->emulated();
  });
}

Result<std::shared_ptr<const DeviceInfo>> pickDevice(const DeviceUri &uri,
                                                     const DeviceInfos &infos) {
  std::string asked = "device " + uri.format(), available, standIn;
  size_t ordinal = infos.size(), index = 0;
  std::from_chars(uri.id.data(), uri.id.data() + uri.id.size(), ordinal);
  std::shared_ptr<const DeviceInfo> found, first;
  std::vector<std::string> ids;
  const bool real = listsReal(infos);
  for (const auto &info : infos) {
    bool byNumber = index++ == ordinal;
    if (!info)
      continue;
    ids.emplace_back((*info)->id());
    available += (available.empty() ? "" : ", ") + ids.back();
    bool meant = uri.id.empty() && !(real && (*info)->emulated());
    if (uri.id.empty() && !meant && (*info)->refusal().empty())
      standIn = "; " + uri.driver + "://" + ids.back() +
                " is emulated, and taken by its full name only";
    if (meant && !first)
      first = *info;
    if (uri.id == (*info)->id() || (!found && byNumber) ||
        (!found && meant && (*info)->refusal().empty()))
      found = *info;
  }
  if (!found)
    found = first;
  if (found && found->refusal().empty())
    return found;
  if (found)
    return Status(BP_STATUS_FAILED_PRECONDITION,
                  asked + " cannot be used: " + std::string(found->refusal()) +
                      standIn);
  if (available.empty())
    return notFound(asked + ": the driver finds no device on this machine");
  std::string near = uri.id.empty() ? "" : nearestName(uri.id, ids);
  return notFound(asked + " does not exist or cannot be used, the driver has " +
                  available +
                  (near.empty() ? "" : "; did you mean \"" + near + "\"?"));
}

} // namespace backplane
