// SPDX-License-Identifier: Apache-2.0
#include "PreparedCommands.h"

#include <algorithm>

namespace backplane::vulkan {

void PreparedCommands::addRange(const bp_binding_t &range) {
  ranges.push_back(range);
  if (!range.buffer)
    slots.push_back(range.slot);
}

void PreparedCommands::add(const bp_command_dispatch_t &dispatch) {
  PreparedCommand step = {PreparedCommand::Dispatch, dispatch.op};
  step.entry = &dispatch.executable->entries[dispatch.entry];
  std::copy_n(dispatch.grid, 3, step.grid);
  step.ranges = uint32_t(ranges.size());
  step.constants = uint32_t(constants.size());
  step.constantCount = dispatch.constant_count;
  for (uint64_t i = 0; i < dispatch.binding_count; ++i)
    addRange(dispatch.bindings[i]);
  constants.insert(constants.end(), dispatch.constants,
                   dispatch.constants + dispatch.constant_count);
  step.parameters = uint32_t(parameters.size());
  step.parameterCount = dispatch.parameter_count;
  parameters.insert(parameters.end(), dispatch.parameters,
                    dispatch.parameters + dispatch.parameter_count);
  descriptors += step.entry->bindings + 1;
  mayFail |= step.entry->reports;
  if (step.entry->scratch) {
    step.workspace = dispatch.workspace_bytes ? dispatch.workspace_bytes
                                              : step.entry->workspaceBytes;
    uint64_t groups = std::max<uint64_t>(
        uint64_t(step.grid[0]) * step.grid[1] * step.grid[2], 1);
    constexpr uint64_t most = uint64_t(1) << 40;
    uint64_t bytes =
        step.workspace > most / groups ? most : step.workspace * groups;
    scratch +=
        (bytes + scratchAlignment - 1) / scratchAlignment * scratchAlignment;
    ++descriptors;
  }
  ++dispatches;
  steps.push_back(step);
}

void PreparedCommands::add(const bp_command_copy_t &copy) {
  if (copy.target.length == 0)
    return;
  PreparedCommand step = {PreparedCommand::Copy};
  step.ranges = uint32_t(ranges.size());
  addRange(copy.source);
  addRange(copy.target);
  steps.push_back(step);
}

void PreparedCommands::add(const bp_command_fill_t &fill) {
  if (fill.target.length == 0)
    return;
  PreparedCommand step = {PreparedCommand::Fill};
  step.ranges = uint32_t(ranges.size());
  step.pattern = fill.pattern;
  if (fill.pattern_size == 1)
    step.pattern = (fill.pattern & 0xFF) * 0x01010101u;
  if (fill.pattern_size == 2)
    step.pattern = (fill.pattern & 0xFFFF) * 0x00010001u;
  addRange(fill.target);
  ++fills;
  steps.push_back(step);
}

std::optional<uint32_t>
PreparedCommands::assign(const bp_header_t *const *commands, uint64_t count) {
  steps.clear();
  ranges.clear();
  constants.clear();
  parameters.clear();
  slots.clear();
  dispatches = fills = descriptors = 0;
  scratch = 0;
  mayFail = false;
  for (uint64_t i = 0; i < count; ++i) {
    const bp_header_t *header = commands[i];
    size_t before = steps.size();
    switch (header->type) {
    case bp_command_dispatch_t_TYPE:
      add(readStruct<bp_command_dispatch_t>(header));
      break;
    case bp_command_copy_t_TYPE:
      add(readStruct<bp_command_copy_t>(header));
      break;
    case bp_command_fill_t_TYPE:
      add(readStruct<bp_command_fill_t>(header));
      break;
    case bp_command_barrier_t_TYPE:
      steps.push_back({PreparedCommand::Barrier});
      break;
    default:
      return header->type;
    }
    if (steps.size() > before)
      steps.back().command = uint32_t(i);
  }
  std::sort(slots.begin(), slots.end());
  slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
  return std::nullopt;
}

} // namespace backplane::vulkan
