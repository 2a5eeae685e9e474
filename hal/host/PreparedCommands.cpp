// SPDX-License-Identifier: Apache-2.0
#include "PreparedCommands.h"

#include <algorithm>

namespace backplane::host {

static void addPointer(PreparedCommands &program, const bp_binding_t &binding) {
  if (binding.buffer) {
    program.pointers.push_back(binding.buffer->data + binding.offset);
    return;
  }
  program.patches.push_back(
      {uint32_t(program.pointers.size()), binding.slot, binding.offset});
  program.pointers.push_back(nullptr);
}

/// Scratch per worker. The host may be older than the member.
static uint64_t workspaceOf(const bp_command_dispatch_t &dispatch,
                            const EntryPoint &entry) {
  if (!BP_HAS(&dispatch, bp_command_dispatch_t, workspace_bytes) ||
      !dispatch.workspace_bytes)
    return entry.workspaceBytes;
  return dispatch.workspace_bytes;
}

/// An entry that takes parameters finds a pointer to them behind its bindings,
/// a native one in any case, and its own pointer.
static void addParameters(PreparedCommands &program,
                          const bp_command_dispatch_t &dispatch,
                          const EntryPoint &entry) {
  if (!entry.parameterCount) {
    if (entry.native)
      program.pointers.push_back(nullptr);
    return;
  }
  program.parameterPatches.push_back(
      {uint32_t(program.pointers.size()), uint32_t(program.parameters.size())});
  program.pointers.push_back(nullptr);
  program.parameters.insert(program.parameters.end(), dispatch.parameters,
                            dispatch.parameters + entry.parameterCount);
}

static void addDispatch(PreparedCommands &program,
                        const bp_command_dispatch_t &dispatch) {
  const EntryPoint &entry = dispatch.executable->entries[dispatch.entry];
  PreparedCommand step = {};
  step.function = entry.function;
  step.op = dispatch.op;
  std::copy_n(dispatch.grid, 3, step.grid);
  step.groups =
      uint64_t(dispatch.grid[0]) * dispatch.grid[1] * dispatch.grid[2];
  step.pointers = uint32_t(program.pointers.size());
  step.constants = uint32_t(program.constants.size());
  step.workspace = workspaceOf(dispatch, entry);
  for (uint64_t i = 0; i < dispatch.binding_count; ++i)
    addPointer(program, dispatch.bindings[i]);
  addParameters(program, dispatch, entry);
  if (entry.native)
    program.pointers.push_back(static_cast<uint8_t *>(entry.self));
  program.constants.insert(program.constants.end(), dispatch.constants,
                           dispatch.constants + dispatch.constant_count);
  program.workspace = std::max(program.workspace, step.workspace);
  program.steps.push_back(step);
}

static PreparedCommand transfer(PreparedCommands &program, uint64_t length) {
  PreparedCommand step = {};
  step.pointers = uint32_t(program.pointers.size());
  step.length = length;
  step.groups = std::max<uint64_t>(1, (length + pieceBytes - 1) / pieceBytes);
  return step;
}

static void addCopy(PreparedCommands &program, const bp_command_copy_t &copy) {
  program.steps.push_back(transfer(program, copy.target.length));
  addPointer(program, copy.target);
  addPointer(program, copy.source);
}

static void addFill(PreparedCommands &program, const bp_command_fill_t &fill) {
  PreparedCommand step = transfer(program, fill.target.length);
  step.fill = true;
  step.pattern = fill.pattern;
  if (fill.pattern_size == 1)
    step.pattern = (fill.pattern & 0xFF) * 0x01010101u;
  else if (fill.pattern_size == 2)
    step.pattern = (fill.pattern & 0xFFFF) * 0x00010001u;
  program.steps.push_back(step);
  addPointer(program, fill.target);
}

/// Groups the steps since the last wave into one.
static void endWave(PreparedCommands &program) {
  uint32_t first = program.waves.empty() ? 0
                                         : program.waves.back().first +
                                               program.waves.back().count;
  Wave wave = {first, uint32_t(program.steps.size()) - first, 0};
  for (uint32_t i = 0; i < wave.count; ++i)
    wave.groups += program.steps[first + i].groups;
  if (wave.count)
    program.waves.push_back(wave);
}

std::optional<uint32_t>
PreparedCommands::assign(const bp_header_t *const *commands, uint64_t count) {
  steps.clear();
  waves.clear();
  pointers.clear();
  patches.clear();
  constants.clear();
  parameters.clear();
  parameterPatches.clear();
  workspace = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const bp_header_t *command = commands[i];
    switch (command->type) {
    case bp_command_dispatch_t_TYPE:
      addDispatch(*this,
                  *reinterpret_cast<const bp_command_dispatch_t *>(command));
      break;
    case bp_command_copy_t_TYPE:
      addCopy(*this, *reinterpret_cast<const bp_command_copy_t *>(command));
      break;
    case bp_command_fill_t_TYPE:
      addFill(*this, *reinterpret_cast<const bp_command_fill_t *>(command));
      break;
    case bp_command_barrier_t_TYPE:
      endWave(*this);
      break;
    default:
      return command->type;
    }
  }
  endWave(*this);
  return std::nullopt;
}

} // namespace backplane::host
