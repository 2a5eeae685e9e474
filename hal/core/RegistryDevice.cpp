// SPDX-License-Identifier: Apache-2.0
//
// RegistryDevice.cpp: the device that a URI means.
#include "hal/core/Plugin.h"
#include "hal/core/Registry.h"
#include "sdk/support/NearestName.h"

#include <algorithm>
#include <charconv>

namespace backplane {

/// What there is, for messages.
static std::string usableDevices(const std::vector<DeviceListing> &listings) {
  std::string text;
  for (const DeviceListing &listing : listings)
    if (listing.info && listing.refusal.empty())
      text += (text.empty() ? "" : ", ") + listing.uri;
  return text.empty() ? "none" : text;
}

Status Registry::unknownDriver(std::string_view driver) {
  std::vector<std::string> names;
  for (const auto &[name, plugin] : drivers_)
    names.push_back(name);
  std::string text = "no driver \"" + std::string(driver) + "\"";
  for (const DeviceListing &listing : listings(driver))
    if (!listing.refusal.empty())
      return notFound(text + ": its plug-in " + listing.manifest +
                      " is not usable: " + listing.refusal);
  if (std::string near = nearestName(driver, names); !near.empty())
    text += ", did you mean \"" + near + "\"?";
  std::vector<DeviceListing> all = listings();
  if (drivers_.empty() && !all.empty())
    return notFound(text + ", no plug-in is usable: " + all.front().refusal);
  return notFound(text + " (usable devices: " + usableDevices(all) +
                  "); see bp devices");
}

using DeviceInfos = std::vector<Result<std::shared_ptr<const DeviceInfo>>>;

/// Where a driver lists a real device, usable or not, nobody gets an emulated
/// one without naming it.
static bool listsReal(const DeviceInfos &infos) {
  return std::any_of(infos.begin(), infos.end(), [](const auto &info) {
    return info && !(*info)->emulated();
  });
}

/// The device that `uri` means among those of its driver: by id, by number, or
/// the first usable one that is not emulated in place of another; without one,
/// the first, whose refusal says why.
static Result<std::shared_ptr<const DeviceInfo>>
pick(const DeviceUri &uri, const DeviceInfos &infos) {
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

/// The C form of the options of a URI, pointing into it.
static std::vector<bp_option_t> optionItems(const DeviceUri &uri) {
  std::vector<bp_option_t> items;
  for (const auto &[key, value] : uri.options)
    items.push_back({toC(key), toC(value)});
  return items;
}

Result<std::shared_ptr<Device>> Registry::device(std::string_view text) {
  Result<DeviceUri> uri = DeviceUri::parse(text);
  if (!uri)
    return uri.status();
  auto driver = drivers_.find(uri->driver);
  if (driver == drivers_.end())
    return unknownDriver(uri->driver);
  std::vector<bp_option_t> items = optionItems(*uri);
  bp_options_t options = {items.data(), items.size()};
  Result<Infos> infos = driver->second->enumerate(options);
  if (!infos)
    return infos.status().within("driver " + uri->driver);
  auto info = pick(*uri, *infos);
  if (!info)
    return info.status();
  uri->id = (*info)->id();
  std::string full = uri->format();
  std::lock_guard lock(mutex_);
  std::weak_ptr<Device> &known = open_[full];
  if (std::shared_ptr<Device> device = known.lock();
      device && device->lost().ok())
    return device;
  auto device = Device::open(driver->second, *info, full, options);
  if (device)
    known = *device;
  return device;
}

} // namespace backplane
