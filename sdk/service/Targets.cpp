// SPDX-License-Identifier: Apache-2.0
#include "Targets.h"
#include "hal/core/CompilerCalls.h"
#include "hal/core/DeviceUri.h"
#include "hal/runtime/Selection.h"
#include "sdk/partition/TargetNames.h"
#include "sdk/support/NearestName.h"

#include <algorithm>

namespace backplane::rt {
namespace {

TargetInfo infoOf(const CompilerPlugin &plugin, const bp_target_t &target) {
  TargetInfo info;
  info.name = view(target.name);
  info.driver = view(target.driver);
  info.format = view(target.format);
  info.emitter = view(target.emitter);
  info.rank = target.rank;
  info.compilesSizes = target.flags & BP_TARGET_COMPILES_SIZES;
  info.plugin = &plugin;
  for (uint64_t i = 0; i < target.required_feature_count; ++i)
    info.requiredFeatures.emplace_back(view(target.required_features[i]));
  return info;
}

std::vector<std::string_view> featuresOf(const TargetInfo &target) {
  return {target.requiredFeatures.begin(), target.requiredFeatures.end()};
}

/// Why no present device of its driver runs the target; empty when one does.
std::string noDevice(Registry &registry, const TargetInfo &target) {
  std::vector<std::string_view> features = featuresOf(target);
  std::string why, refusal;
  for (const DeviceListing &device : registry.listings(target.driver)) {
    if (!device.info || !device.refusal.empty()) {
      refusal = ": " + device.refusal;
      continue;
    }
    why = misfit(target.driver, target.format, features, target.driver,
                 *device.info);
    if (why.empty())
      return why;
  }
  if (why.empty())
    why = "has no device of driver '" + target.driver + "'" + refusal;
  return why;
}

} // namespace

std::vector<TargetInfo> listTargets(Registry &registry) {
  std::vector<TargetInfo> all;
  for (const CompilerPlugin &plugin : registry.compilers()) {
    std::vector<TargetInfo> targets;
    Status status = callTargets(plugin, [&](const bp_target_t &target) {
      targets.push_back(infoOf(plugin, target));
      return Status();
    });
    if (!status.ok()) {
      registry.host().log(BP_LOG_WARNING, "compiler plug-in '" + plugin.name +
                                              "': " + status.message());
      continue;
    }
    for (TargetInfo &target : targets)
      all.push_back(std::move(target));
  }
  return all;
}

Status describeTargets(Registry &registry, std::string_view driver,
                       const DeviceInfo &device, const TargetReceiver &put) {
  for (const CompilerPlugin &plugin : registry.compilers()) {
    Status refused; // by `put`, and passed on as it is
    Status status = callTargets(plugin, [&](const bp_target_t &target) {
      TargetInfo info = infoOf(plugin, target);
      refused = put(
          info, target,
          misfit(info.driver, info.format, featuresOf(info), driver, device));
      return refused;
    });
    if (!refused.ok())
      return refused;
    if (!status.ok())
      return status.within("compiler plug-in '" + plugin.name + "'");
  }
  return {};
}

Result<std::string> bestTarget(Registry &registry, std::string_view driver,
                               const DeviceInfo &device,
                               const std::string &name) {
  std::optional<TargetInfo> best;
  std::string others;
  Status status =
      describeTargets(registry, driver, device,
                      [&](const TargetInfo &target, const bp_target_t &,
                          const std::string &misfit) {
                        if (!misfit.empty())
                          others += "; " + target.name + " " + misfit;
                        else if (!best || target.rank > best->rank)
                          best = target;
                        return Status();
                      });
  if (!status.ok())
    return status;
  if (!best)
    return notFound("no compiler plug-in has a target that " + name + " runs" +
                    others);
  return best->name;
}

Result<std::string> defaultTarget(Registry &registry, std::string_view driver) {
  std::string others;
  std::vector<std::string> drivers;
  std::optional<TargetInfo> best;
  for (TargetInfo &target : listTargets(registry)) {
    if (std::ranges::find(drivers, target.driver) == drivers.end())
      drivers.push_back(target.driver);
    if (target.driver != driver)
      continue;
    std::string why = noDevice(registry, target);
    if (!why.empty())
      others += "; " + target.name + " " + why;
    else if (!best || target.rank > best->rank)
      best = std::move(target);
  }
  if (best)
    return best->name;
  if (std::ranges::find(drivers, driver) == drivers.end()) {
    std::string list;
    for (const std::string &known : drivers)
      list += (list.empty() ? "'" : ", '") + known + "'";
    std::string near = nearestName(driver, drivers);
    return notFound(
        "no compiler plug-in has a target for driver '" + std::string(driver) +
        "'" + (near.empty() ? "" : " (did you mean '" + near + "'?)") +
        "; there are targets for " + (list.empty() ? "none" : list));
  }
  return Status(BP_STATUS_NOT_FOUND,
                "no target of driver '" + std::string(driver) +
                    "' runs on this machine" + others + "; name a target");
}

static std::string driverOf(const std::string &uri) {
  return uri.substr(0, uri.find_first_of(":?"));
}

static bool hasOptions(std::string_view uri) {
  return uri.find('?') != std::string_view::npos;
}

Result<std::string> targetOfDevice(Registry &registry, const std::string &uri) {
  auto device = registry.device(uri);
  if (!device)
    return device.status();
  return bestTarget(registry, driverOf(uri), (*device)->info(),
                    "device " + uri);
}

/// The drivers that a policy may run on, or devices with options; those of one
/// variant are joined.
static std::vector<std::string> driversOf(Registry &registry,
                                          const DevicePolicy &policy) {
  std::vector<std::string> uris = policy.uris, drivers, found;
  std::vector<DeviceListing> all;
  if (policy.aim)
    all = registry.listings();
  for (const DeviceListing &listing : all)
    if (listing.info && listing.refusal.empty())
      found.push_back(listing.uri);
  uris.insert(uris.begin() + long(policy.aimAt), found.begin(), found.end());
  for (const std::string &uri : uris) {
    std::string driver;
    for (const std::string &part : splitUris(uri))
      driver += (driver.empty() ? "" : "+") +
                (hasOptions(part) ? part : driverOf(part));
    if (std::ranges::find(drivers, driver) == drivers.end())
      drivers.push_back(driver);
  }
  return drivers;
}

/// The default target of each of the drivers that are joined.
static Result<std::string> joinedTarget(Registry &registry,
                                        std::string_view drivers) {
  std::string names;
  for (const std::string &driver : splitUris(drivers)) {
    Result<std::string> target = hasOptions(driver)
                                     ? targetOfDevice(registry, driver)
                                     : defaultTarget(registry, driver);
    if (!target)
      return target;
    names += (names.empty() ? "" : "+") + *target;
  }
  return names;
}

static const TargetInfo *findTarget(const std::vector<TargetInfo> &known,
                                    std::string_view name) {
  auto found = std::ranges::find(known, name, &TargetInfo::name);
  return found == known.end() ? nullptr : &*found;
}

static std::vector<std::string> partsOf(const std::vector<TargetInfo> &known,
                                        std::string_view names) {
  return splitTargets(names, [&](std::string_view name) {
    return findTarget(known, name) != nullptr;
  });
}

bool isTargetList(const std::vector<TargetInfo> &known,
                  std::string_view names) {
  return !partsOf(known, names).empty();
}

std::vector<const EmitterTool *> toolsOf(const std::vector<TargetInfo> &known,
                                         std::string_view names) {
  std::vector<const EmitterTool *> tools;
  for (const std::string &name : partsOf(known, names))
    if (const auto *tool = findEmitterTool(findTarget(known, name)->emitter))
      tools.push_back(tool);
  return tools;
}

bool compilesSizes(const std::vector<TargetInfo> &known,
                   std::string_view names) {
  return std::ranges::any_of(partsOf(known, names),
                             [&](const std::string &name) {
                               return findTarget(known, name)->compilesSizes;
                             });
}

bool hasPasses(const std::vector<TargetInfo> &known, std::string_view names) {
  return std::ranges::any_of(
      partsOf(known, names), [&](const std::string &name) {
        return !findTarget(known, name)->plugin->passes.path.empty();
      });
}

void addFallback(Registry &registry, const std::vector<TargetInfo> &known,
                 std::string &names) {
  const TargetInfo *target = findTarget(known, names);
  if (!target || target->driver == "host")
    return;
  if (Result<std::string> host = defaultTarget(registry, "host"))
    names += "+" + *host;
}

Result<std::vector<std::string>> defaultTargets(Registry &registry,
                                                std::string_view text) {
  Result<DevicePolicy> policy = DevicePolicy::parse(text);
  if (!policy)
    return policy.status();
  std::vector<std::string> targets;
  Status failure = notFound("there is no usable device");
  for (const std::string &driver : driversOf(registry, *policy)) {
    Result<std::string> target = joinedTarget(registry, driver);
    if (target && std::ranges::find(targets, *target) == targets.end())
      targets.push_back(std::move(*target));
    else if (!target)
      failure = target.status();
  }
  if (targets.empty())
    return failure;
  return targets;
}

} // namespace backplane::rt
