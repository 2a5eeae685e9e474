// SPDX-License-Identifier: Apache-2.0
#include "Selection.h"
#include "sdk/package/Check.h"

namespace backplane::rt {
namespace {

std::string quoted(std::string_view text) {
  return "'" + std::string(text) + "'";
}

std::string formatList(const DeviceInfo &device) {
  std::string list;
  for (uint64_t i = 0; i < device.c().format_count; ++i)
    list += (i ? ", " : "") + quoted(view(device.c().formats[i]));
  return list.empty() ? "none" : list;
}

std::string variantMisfit(const fb::Variant &variant, std::string_view driver,
                          const DeviceInfo &device) {
  std::vector<std::string_view> features;
  for (uint32_t i = 0; i < count(variant.required_features()); ++i)
    features.push_back(text(variant.required_features()->Get(i)));
  return rt::misfit(text(variant.driver()), text(variant.format()), features,
                    driver, device);
}

} // namespace

std::string misfit(std::string_view driver, std::string_view format,
                   const std::vector<std::string_view> &features,
                   std::string_view deviceDriver, const DeviceInfo &device) {
  if (driver != deviceDriver)
    return "is for driver " + quoted(driver);
  if (!device.hasFormat(format))
    return "has format " + quoted(format) + ", the device takes " +
           formatList(device);
  std::string missing;
  for (std::string_view feature : features)
    if (!device.hasFeature(feature))
      missing += (missing.empty() ? "" : ", ") + quoted(feature);
  return missing.empty() ? "" : "needs " + missing;
}

Result<Choice> chooseVariant(const fb::Artifact &artifact,
                             std::string_view driver, std::string_view uri,
                             const DeviceInfo &device) {
  std::optional<uint32_t> best;
  std::vector<std::string> reasons;
  for (uint32_t i = 0; i < count(artifact.variants()); ++i) {
    const fb::Variant &variant = *artifact.variants()->Get(i);
    reasons.push_back(variantMisfit(variant, driver, device));
    if (reasons.back().empty() &&
        (!best || variant.rank() > artifact.variants()->Get(*best)->rank()))
      best = i;
  }
  std::string others;
  for (uint32_t i = 0; i < reasons.size(); ++i) {
    if (i == best)
      continue;
    const fb::Variant &variant = *artifact.variants()->Get(i);
    std::string why =
        reasons[i].empty()
            ? "has rank " + std::to_string(variant.rank()) + ", not the highest"
            : reasons[i];
    others += "; " + std::string(text(variant.target())) + " " + why;
  }
  if (!best)
    return Status(BP_STATUS_FAILED_PRECONDITION,
                  "no variant of the artifact runs on " + std::string(uri) +
                      others +
                      "; compile the model for a target of this "
                      "device");
  const fb::Variant &chosen = *artifact.variants()->Get(*best);
  return Choice{
      *best,
      "variant " + std::string(text(chosen.target())) + " on " +
          std::string(uri) + ": rank " + std::to_string(chosen.rank()) +
          (others.empty() ? ", the only one" : ", the highest that fits") +
          others};
}

} // namespace backplane::rt
