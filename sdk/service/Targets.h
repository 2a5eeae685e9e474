// SPDX-License-Identifier: Apache-2.0
//
// Targets.h: what the compiler plug-ins can compile for.
#ifndef BACKPLANE_SERVICE_TARGETS_H
#define BACKPLANE_SERVICE_TARGETS_H

#include "hal/core/Registry.h"
#include "sdk/emit/EmitterTools.h"

namespace backplane::rt {

/// The host's copy of the part of bp_target_t that decides who runs it.
struct TargetInfo {
  std::string name, driver, format, emitter;
  std::vector<std::string> requiredFeatures;
  uint32_t rank = 0;
  bool compilesSizes = false;             ///< BP_TARGET_COMPILES_SIZES
  const CompilerPlugin *plugin = nullptr; ///< lives with the registry
};

/// The targets of all compiler plug-ins; a plug-in that fails is left out and
/// logged.
std::vector<TargetInfo> listTargets(Registry &registry);

/// Calls `put` with every target, what it declares, and why `device` of
/// `driver` cannot run it (empty: it can). Stops at the first failure.
using TargetReceiver = std::function<Status(
    const TargetInfo &info, const bp_target_t &target, std::string misfit)>;
Status describeTargets(Registry &registry, std::string_view driver,
                       const DeviceInfo &device, const TargetReceiver &put);

/// The target with the highest rank that this device can run. A failure says
/// why there is none; it calls the device `name`.
Result<std::string> bestTarget(Registry &registry, std::string_view driver,
                               const DeviceInfo &device,
                               const std::string &name);

/// The same for the device of a URI.
Result<std::string> targetOfDevice(Registry &registry, const std::string &uri);

/// The target for which a model is compiled when none is named: of those that
/// some present device of `driver` can run, the one with the highest rank. A
/// failure names what is there.
Result<std::string> defaultTarget(Registry &registry, std::string_view driver);

/// The same for a policy (DevicePolicy.h): the best target of each driver that
/// it names, or of each that has a usable device; where options are named,
/// which may mean another device, of that device. Drivers without one are left
/// out as long as one is left.
Result<std::vector<std::string>> defaultTargets(Registry &registry,
                                                std::string_view policy);

/// Whether `names` is a target, or several joined with a plus.
bool isTargetList(const std::vector<TargetInfo> &known, std::string_view names);

/// The programs that the compiler starts for the joined `names`.
std::vector<const EmitterTool *> toolsOf(const std::vector<TargetInfo> &known,
                                         std::string_view names);

/// Whether one of the joined `names` is compiled for each set of sizes.
bool compilesSizes(const std::vector<TargetInfo> &known,
                   std::string_view names);

/// Whether the plug-in of one of the joined `names` has passes in C++.
bool hasPasses(const std::vector<TargetInfo> &known, std::string_view names);

/// Adds the best target of this machine's host behind a single one of another
/// driver, where there is one.
void addFallback(Registry &registry, const std::vector<TargetInfo> &known,
                 std::string &names);

} // namespace backplane::rt

#endif // BACKPLANE_SERVICE_TARGETS_H
