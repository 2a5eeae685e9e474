// SPDX-License-Identifier: Apache-2.0
//
// NamedSlots.h: what the programs of a variant name.
#ifndef BACKPLANE_RUNTIME_NAMEDSLOTS_H
#define BACKPLANE_RUNTIME_NAMEDSLOTS_H

#include "sdk/program/Variant.h"

#include <set>

namespace backplane::rt {

/// Numbers of the things of one kind that a program names on a device.
inline std::set<uint32_t> namedBy(const Program &program, SlotKind kind,
                                  uint32_t device) {
  std::set<uint32_t> numbers;
  for (const Slot &slot : program.slots)
    if (slot.kind == kind && slot.device == device)
      numbers.insert(slot.index);
  return numbers;
}

/// The program of a variant and those of its regions.
inline std::vector<const Program *> programsOf(const VariantInfo &variant) {
  std::vector<const Program *> programs = {&variant.program};
  for (const RegionInfo &region : variant.regions)
    programs.push_back(&region.program);
  return programs;
}

} // namespace backplane::rt

#endif // BACKPLANE_RUNTIME_NAMEDSLOTS_H
