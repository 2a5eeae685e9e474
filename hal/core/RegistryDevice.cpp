// SPDX-License-Identifier: Apache-2.0
//
// RegistryDevice.cpp: the device that a URI means.
#include "hal/core/PickDevice.h"
#include "hal/core/Plugin.h"
#include "hal/core/Registry.h"
#include "sdk/support/NearestName.h"

#include <algorithm>

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

/// The C form of the options of a URI, pointing into it.
static std::vector<bp_option_t> optionItems(const DeviceUri &uri) {
  std::vector<bp_option_t> items;
  for (const auto &[key, value] : uri.options)
    items.push_back({toC(key), toC(value)});
  return items;
}

/// Also writes the id of the device into the URI.
Result<Registry::Found> Registry::find(DeviceUri &uri, bp_options_t options) {
  auto driver = drivers_.find(uri.driver);
  if (driver == drivers_.end())
    return unknownDriver(uri.driver);
  Result<DeviceInfos> infos = driver->second->enumerate(options);
  if (!infos)
    return infos.status().within("driver " + uri.driver);
  auto info = pickDevice(uri, *infos);
  if (!info)
    return info.status();
  uri.id = (*info)->id();
  return Found{driver->second, *info};
}

Result<DeviceListing> Registry::listing(std::string_view text) {
  Result<DeviceUri> uri = DeviceUri::parse(text);
  if (!uri)
    return uri.status();
  std::vector<bp_option_t> items = optionItems(*uri);
  auto found = find(*uri, {items.data(), items.size()});
  if (!found)
    return found.status();
  std::lock_guard lock(mutex_);
  auto source = std::ranges::find(sources_, uri->driver, &Source::plugin);
  return lineOf(source == sources_.end() ? Source() : *source, uri->format(),
                found->info);
}

Result<std::shared_ptr<Device>> Registry::device(std::string_view text) {
  Result<DeviceUri> uri = DeviceUri::parse(text);
  if (!uri)
    return uri.status();
  std::vector<bp_option_t> items = optionItems(*uri);
  bp_options_t options = {items.data(), items.size()};
  auto found = find(*uri, options);
  if (!found)
    return found.status();
  std::string full = uri->format();
  std::lock_guard lock(mutex_);
  std::weak_ptr<Device> &known = open_[full];
  if (std::shared_ptr<Device> device = known.lock();
      device && device->lost().ok())
    return device;
  auto device = Device::open(found->driver, found->info, full, options);
  if (device)
    known = *device;
  return device;
}

} // namespace backplane
