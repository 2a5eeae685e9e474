// SPDX-License-Identifier: Apache-2.0
#include "hal/core/DeviceInfo.h"
#include "hal/core/Tables.h"
#include "sdk/support/GivenText.h"

#include <algorithm>

namespace backplane {

static constexpr uint64_t maxTexts = 4096;

static Status checkTexts(const bp_string_t *texts, uint64_t count,
                         const char *what) {
  if (count > maxTexts || (count && !texts))
    return invalidArgument("the device lists " + std::to_string(count) + " " +
                           what + ", at most " + std::to_string(maxTexts) +
                           " in a valid array");
  for (uint64_t i = 0; i < count; ++i)
    if (!isReadable(texts[i]))
      return invalidArgument(std::string("the device's ") + what +
                             " hold a damaged string");
  return {};
}

static bool isDeviceId(std::string_view id) {
  return !id.empty() && id.size() <= 256 &&
         std::all_of(id.begin(), id.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  (c >= '0' && c <= '9') ||
                  std::string_view("_-.:/").find(c) != std::string_view::npos;
         });
}

static Status checkInfo(const bp_device_info_t &info) {
  constexpr uint64_t maxAlignment = 256;
  for (bp_string_t text : {info.id, info.name, info.identity, info.refusal})
    if (!isReadable(text))
      return invalidArgument("the device has a damaged string");
  if (!isDeviceId(view(info.id)))
    return invalidArgument("the device's id is empty or holds characters "
                           "other than letters, digits and _-.:/");
  std::string what = "device " + std::string(view(info.id));
  if (info.binding_alignment & (info.binding_alignment - 1) ||
      info.binding_alignment > maxAlignment)
    return invalidArgument(what + " has a binding alignment of " +
                           std::to_string(info.binding_alignment) +
                           ", not a power of two up to 256");
  if (Status status = checkTexts(info.formats, info.format_count, "formats");
      !status.ok())
    return status;
  return checkTexts(info.features, info.feature_count, "features");
}

bp_string_t DeviceInfo::keep(bp_string_t text) {
  return toC(strings_.emplace_back(view(text)));
}

Result<std::shared_ptr<const DeviceInfo>>
DeviceInfo::copy(const bp_device_info_t *from) {
  constexpr uint32_t maxConstants = 32;
  constexpr uint32_t knownFlags = BP_DEVICE_EMULATED |
                                  BP_DEVICE_UNIFIED_MEMORY |
                                  BP_DEVICE_SYNCHRONOUS | BP_DEVICE_DISCRETE;
  bp_device_info_t c;
  if (Status status = copyStruct(from, bp_device_info_t_TYPE, "device info", c);
      !status.ok())
    return status;
  if (Status status = checkInfo(c); !status.ok())
    return status;
  std::shared_ptr<DeviceInfo> info(new DeviceInfo);
  auto properties = copyProperties(c.properties, c.property_count);
  if (!properties)
    return properties.status().within("device " + std::string(view(c.id)));
  info->properties_ = std::move(*properties);
  info->cProperties_ = cForms(info->properties_);
  c.properties = info->cProperties_.data();
  for (uint64_t i = 0; i < c.format_count; ++i)
    info->formats_.push_back(info->keep(c.formats[i]));
  for (uint64_t i = 0; i < c.feature_count; ++i)
    info->features_.push_back(info->keep(c.features[i]));
  for (bp_string_t *text : {&c.id, &c.name, &c.identity, &c.refusal})
    *text = info->keep(*text);
  c.formats = info->formats_.data();
  c.features = info->features_.data();
  c.binding_alignment = std::max<uint64_t>(c.binding_alignment, 1);
  c.flags &= knownFlags;
  c.max_constants = std::min(c.max_constants, maxConstants);
  c.max_parameters = std::min(c.max_parameters, BP_MAX_PARAMETERS);
  c.max_driver_data = std::min<uint64_t>(c.max_driver_data, BP_MAX_DRIVER_DATA);
  info->info_ = c;
  return std::shared_ptr<const DeviceInfo>(std::move(info));
}

static bool holds(const std::vector<bp_string_t> &texts,
                  std::string_view wanted) {
  return std::any_of(texts.begin(), texts.end(),
                     [&](bp_string_t text) { return view(text) == wanted; });
}

bool DeviceInfo::hasFormat(std::string_view format) const {
  return holds(formats_, format);
}

bool DeviceInfo::hasFeature(std::string_view feature) const {
  return holds(features_, feature);
}

} // namespace backplane
