// SPDX-License-Identifier: Apache-2.0
//
// CheckDevices.cpp: variants that are split over devices. Commands use slots of
// their own device; what crosses is a copy between two slots.
#include "Artifact.h"
#include "Check.h"

namespace backplane {
namespace {

Status bad(std::string message) { return dataLoss(std::move(message)); }

std::string numbered(const char *what, uint32_t number) {
  return std::string(what) + " " + std::to_string(number);
}

/// Where the outputs of a program, or the constants or variables of a variant,
/// lie: each in one place.
class Homes {
public:
  Status add(const fb::Slot &slot) {
    auto [at, fresh] =
        homes_.emplace(std::pair(slot.kind(), slot.index()), slot.device());
    if (at->second == slot.device())
      return {};
    return bad(numbered(fb::EnumNameSlotKind(slot.kind()), slot.index()) +
               " lies on devices " + std::to_string(at->second) + " and " +
               std::to_string(slot.device()));
  }

private:
  std::map<std::pair<fb::SlotKind, uint32_t>, uint32_t> homes_;
};

class Placement {
public:
  explicit Placement(const fb::Variant &variant) : variant_(variant) {}

  Status check(const fb::Program *program, const fb::Region *region = nullptr) {
    if (!program)
      return {};
    Homes outputs;
    for (uint32_t i = 0; i < count(program->slots()); ++i)
      if (Status s =
              checkSlot(*program, *program->slots()->Get(i), region, outputs);
          !s.ok())
        return s.within(numbered("slot", i));
    for (uint32_t i = 0; i < count(program->commands()); ++i)
      if (Status s = checkCommand(*program, *program->commands()->Get(i));
          !s.ok())
        return s.within(numbered("command", i));
    return {};
  }

private:
  Status checkSlot(const fb::Program &program, const fb::Slot &slot,
                   const fb::Region *region, Homes &outputs) {
    if (region && slot.device() != region->device())
      return bad("it lies on device " + std::to_string(slot.device()) +
                 ", its region runs on " + std::to_string(region->device()));
    switch (slot.kind()) {
    case fb::SlotKind::Output:
      return outputs.add(slot);
    case fb::SlotKind::Variable:
    case fb::SlotKind::Constant:
      return residents_.add(slot);
    case fb::SlotKind::Transient:
      if (slot.reuse() >= 0 &&
          program.slots()->Get(uint32_t(slot.reuse()))->device() !=
              slot.device())
        return bad(numbered("it reuses slot", uint32_t(slot.reuse())) +
                   " of another device");
      return {};
    default:
      return {};
    }
  }

  static Status lies(const fb::Program &program, uint32_t slot,
                     uint32_t device) {
    uint32_t found = program.slots()->Get(slot)->device();
    return found == device
               ? Status()
               : bad(numbered("slot", slot) + " lies on device " +
                     std::to_string(found) + ", the command runs on " +
                     std::to_string(device));
  }

  Status checkCommand(const fb::Program &program, const fb::Command &command) {
    std::vector<uint32_t> slots;
    uint32_t device = 0;
    if (const auto *dispatch = command.body_as_Dispatch()) {
      device = variant_.executables()->Get(dispatch->executable())->device();
      for (uint32_t i = 0; i < count(dispatch->bindings()); ++i)
        slots.push_back(dispatch->bindings()->Get(i)->slot());
    } else if (const auto *control = command.body_as_Control()) {
      for (const auto *list : {control->operands(), control->results()})
        for (uint32_t i = 0; i < count(list); ++i)
          slots.push_back(list->Get(i));
      device = variant_.regions()->Get(control->regions()->Get(0))->device();
      for (uint32_t region : *control->regions())
        if (variant_.regions()->Get(region)->device() != device)
          return bad("its regions run on several devices");
    }
    for (uint32_t slot : slots)
      if (Status s = lies(program, slot, device); !s.ok())
        return s;
    return {};
  }

  const fb::Variant &variant_;
  Homes residents_;
};

/// The FlatBuffers verifier looks at the place of a vector's length only.
Status checkArenas(const fb::Program *program) {
  bool aligned = !program || !program->arenas() ||
                 reinterpret_cast<uintptr_t>(program->arenas()->Data()) %
                         alignof(int64_t) ==
                     0;
  return aligned ? Status() : bad("the arenas of a program are misplaced");
}

} // namespace

uint32_t versionOf(const fb::Artifact &artifact) {
  for (uint32_t i = 0; i < count(artifact.variants()); ++i)
    if (count(artifact.variants()->Get(i)->devices()) != 0)
      return splitArtifactVersion;
  return artifactVersion;
}

Status checkDevices(const fb::Variant &variant) {
  uint32_t devices = deviceCount(variant);
  if (devices > limits::devices)
    return bad("it is split over " + std::to_string(devices) +
               " devices, the limit is " + std::to_string(limits::devices));
  for (uint32_t i = 1; i < devices; ++i) {
    const fb::VariantDevice &device = *variant.devices()->Get(i - 1);
    if (text(device.target()).empty() || text(device.driver()).empty() ||
        text(device.format()).empty())
      return bad(numbered("device", i) +
                 " lacks a target, a driver or a format");
  }
  for (uint32_t i = 0; i < count(variant.executables()); ++i)
    if (uint32_t device = variant.executables()->Get(i)->device();
        device >= devices)
      return bad(numbered("executable", i) + " is for device " +
                 std::to_string(device) + ", of " + std::to_string(devices));
  for (const fb::Program *program : {variant.init(), variant.program()})
    if (Status s = checkArenas(program); !s.ok())
      return s;
  for (uint32_t i = 0; i < count(variant.regions()); ++i) {
    const fb::Region &region = *variant.regions()->Get(i);
    if (region.device() >= devices)
      return bad(numbered("region", i) + " runs on device " +
                 std::to_string(region.device()) + ", of " +
                 std::to_string(devices));
    if (Status s = checkArenas(region.program()); !s.ok())
      return s;
  }
  return {};
}

Status checkPlacement(const fb::Variant &variant) {
  Placement placement(variant);
  if (Status s = placement.check(variant.init()); !s.ok())
    return s.within("init program");
  for (uint32_t i = 0; i < count(variant.regions()); ++i)
    if (Status s = placement.check(variant.regions()->Get(i)->program(),
                                   variant.regions()->Get(i));
        !s.ok())
      return s.within(numbered("region", i));
  return placement.check(variant.program()).within("program");
}

} // namespace backplane
