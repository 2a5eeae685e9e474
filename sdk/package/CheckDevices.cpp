// SPDX-License-Identifier: Apache-2.0
//
// CheckDevices.cpp: variants that are split over devices. Commands use slots of
// their own device; what crosses is a copy between two slots.
#include "Artifact.h"
#include "Check.h"

#include <algorithm>

namespace backplane {
namespace {

Status bad(std::string message) { return dataLoss(std::move(message)); }

std::string numbered(std::string_view what, size_t number) {
  return std::string(what) + " " + std::to_string(number);
}

/// Where the outputs of a program, or the constants or variables of a variant,
/// lie: each in one place.
class Owners {
public:
  Status add(const Slot &slot) {
    auto [at, fresh] =
        owners_.emplace(std::pair(slot.kind, slot.index), slot.device);
    if (at->second == slot.device)
      return {};
    return bad(numbered(name(slot.kind), slot.index) + " lies on devices " +
               std::to_string(at->second) + " and " +
               std::to_string(slot.device));
  }

private:
  std::map<std::pair<SlotKind, uint32_t>, uint32_t> owners_;
};

class Placement {
public:
  explicit Placement(const VariantInfo &variant) : variant_(variant) {}

  Status check(const Program &program, const RegionInfo *region = nullptr) {
    Owners outputs;
    for (uint32_t i = 0; i < program.slots.size(); ++i)
      if (Status s = checkSlot(program, program.slots[i], region, outputs);
          !s.ok())
        return s.within(numbered("slot", i));
    for (uint32_t i = 0; i < program.commands.size(); ++i)
      if (Status s = checkCommand(program, program.commands[i]); !s.ok())
        return s.within(numbered("command", i));
    return {};
  }

private:
  Status checkSlot(const Program &program, const Slot &slot,
                   const RegionInfo *region, Owners &outputs) {
    if (region && slot.device != region->device)
      return bad("it lies on device " + std::to_string(slot.device) +
                 ", its region runs on " + std::to_string(region->device));
    switch (slot.kind) {
    case SlotKind::Output:
      return outputs.add(slot);
    case SlotKind::Variable:
    case SlotKind::Constant:
      return residents_.add(slot);
    case SlotKind::Transient:
      if (slot.reuse >= 0 &&
          program.slots[uint32_t(slot.reuse)].device != slot.device)
        return bad(numbered("it reuses slot", uint32_t(slot.reuse)) +
                   " of another device");
      return {};
    default:
      return {};
    }
  }

  static Status lies(const Program &program, uint32_t slot, uint32_t device) {
    uint32_t found = program.slots[slot].device;
    return found == device
               ? Status()
               : bad(numbered("slot", slot) + " lies on device " +
                     std::to_string(found) + ", the command runs on " +
                     std::to_string(device));
  }

  Status checkCommand(const Program &program, const program::Command &command) {
    uint32_t device = 0;
    if (const auto *dispatch = std::get_if<program::Dispatch>(&command)) {
      device = variant_.executables[dispatch->executable].device;
    } else if (const auto *control = std::get_if<program::Control>(&command)) {
      device = variant_.regions[control->regions[0]].device;
      for (uint32_t region : control->regions)
        if (variant_.regions[region].device != device)
          return bad("its regions run on several devices");
    } else {
      return {}; // a copy may be a transfer
    }
    for (uint32_t slot : slotsOf(command))
      if (Status s = lies(program, slot, device); !s.ok())
        return s;
    return {};
  }

  const VariantInfo &variant_;
  Owners residents_;
};

} // namespace

uint32_t versionOf(const ArtifactInfo &artifact) {
  bool split = std::any_of(
      artifact.variants.begin(), artifact.variants.end(),
      [](const VariantInfo &variant) { return variant.devices.size() > 1; });
  return split ? splitArtifactVersion : artifactVersion;
}

Status checkDevices(const VariantInfo &variant) {
  size_t devices = variant.devices.size();
  if (devices > limits::devices)
    return bad("it is split over " + std::to_string(devices) +
               " devices, the limit is " + std::to_string(limits::devices));
  for (size_t i = 0; i < devices; ++i)
    if (const DeviceNeeds &device = variant.devices[i];
        device.target.empty() || device.driver.empty() || device.format.empty())
      return bad(numbered("device", i) +
                 " lacks a target, a driver or a format");
  for (size_t i = 0; i < variant.executables.size(); ++i)
    if (uint32_t device = variant.executables[i].device; device >= devices)
      return bad(numbered("executable", i) + " is for device " +
                 std::to_string(device) + ", of " + std::to_string(devices));
  for (size_t i = 0; i < variant.regions.size(); ++i)
    if (uint32_t device = variant.regions[i].device; device >= devices)
      return bad(numbered("region", i) + " runs on device " +
                 std::to_string(device) + ", of " + std::to_string(devices));
  return {};
}

Status checkPlacement(const VariantInfo &variant) {
  Placement placement(variant);
  if (Status s = placement.check(variant.init); !s.ok())
    return s.within("init program");
  for (size_t i = 0; i < variant.regions.size(); ++i)
    if (Status s =
            placement.check(variant.regions[i].program, &variant.regions[i]);
        !s.ok())
      return s.within(numbered("region", i));
  return placement.check(variant.program).within("program");
}

} // namespace backplane
