// SPDX-License-Identifier: Apache-2.0
#include "Program.h"

#include <iterator>

namespace backplane {

std::string_view name(SlotKind kind) {
  constexpr std::string_view names[] = {"Input",  "Output",   "Transient",
                                        "Weight", "Variable", "Constant"};
  auto number = static_cast<size_t>(kind);
  return number < std::size(names) ? names[number] : "unknown";
}

bool hasClusters(const program::Dispatch &dispatch) {
  return dispatch.cluster != std::array<uint32_t, 3>{1, 1, 1};
}

std::vector<uint32_t> slotsOf(const program::Command &command) {
  std::vector<uint32_t> slots;
  if (const auto *dispatch = std::get_if<program::Dispatch>(&command)) {
    for (const SlotRange &binding : dispatch->bindings)
      slots.push_back(binding.slot);
  } else if (const auto *copy = std::get_if<program::Copy>(&command)) {
    slots = {copy->source.slot, copy->target.slot};
  } else if (const auto *fill = std::get_if<program::Fill>(&command)) {
    slots = {fill->target.slot};
  } else if (const auto *control = std::get_if<program::Control>(&command)) {
    slots = control->operands;
    slots.insert(slots.end(), control->results.begin(), control->results.end());
  } else if (const auto *read = std::get_if<program::Read>(&command)) {
    slots = {read->slot};
  }
  return slots;
}

std::vector<uint32_t> barriersBefore(const Program &program) {
  std::vector<uint32_t> before;
  uint32_t barriers = 0;
  for (const program::Command &command : program.commands) {
    before.push_back(barriers);
    barriers += std::holds_alternative<program::Barrier>(command);
  }
  return before;
}

} // namespace backplane
