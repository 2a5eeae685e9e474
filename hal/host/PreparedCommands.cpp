// SPDX-License-Identifier: Apache-2.0
#include "PreparedCommands.h"

#include <algorithm>

namespace backplane::host {

namespace {

using Range = plugin::BufferRange<Device>;
using Dispatch = plugin::Dispatch<Device>;
using Copy = plugin::Copy<Device>;
using Fill = plugin::Fill<Device>;

void addPointer(PreparedCommands &program, const Range &range) {
  if (range.buffer) {
    program.pointers.push_back(range.buffer->data + range.offset);
    return;
  }
  program.patches.push_back(
      {uint32_t(program.pointers.size()), range.slot, range.offset});
  program.pointers.push_back(nullptr);
}

/// Scratch per worker. The host may be older than the member.
uint64_t workspaceOf(const bp_command_dispatch_t &dispatch,
                     const EntryPoint &entry) {
  if (!BP_HAS(&dispatch, bp_command_dispatch_t, workspace_bytes) ||
      !dispatch.workspace_bytes)
    return entry.workspaceBytes;
  return dispatch.workspace_bytes;
}

/// An entry that takes parameters finds a pointer to them behind its bindings,
/// a native one in any case, and its own pointer.
void addParameters(PreparedCommands &program, const Dispatch &dispatch,
                   const EntryPoint &entry) {
  if (!entry.parameterCount) {
    if (entry.native)
      program.pointers.push_back(nullptr);
    return;
  }
  program.parameterPatches.push_back(
      {uint32_t(program.pointers.size()), uint32_t(program.parameters.size())});
  program.pointers.push_back(nullptr);
  const int64_t *first = dispatch.c().parameters;
  program.parameters.insert(program.parameters.end(), first,
                            first + entry.parameterCount);
}

void add(PreparedCommands &program, const Dispatch &dispatch) {
  const EntryPoint &entry = dispatch.executable().entries[dispatch.entry()];
  PreparedCommand step = {};
  step.function = entry.function;
  step.op = dispatch.c().op;
  std::ranges::copy(dispatch.grid(), step.grid);
  step.groups = dispatch.groups();
  step.pointers = uint32_t(program.pointers.size());
  step.constants = uint32_t(program.constants.size());
  step.workspace = workspaceOf(dispatch.c(), entry);
  for (uint64_t i = 0; i < dispatch.bindings(); ++i)
    addPointer(program, dispatch.binding(i));
  addParameters(program, dispatch, entry);
  if (entry.native)
    program.pointers.push_back(static_cast<uint8_t *>(entry.self));
  std::span<const uint32_t> constants = dispatch.constants();
  program.constants.insert(program.constants.end(), constants.begin(),
                           constants.end());
  program.workspace = std::max(program.workspace, step.workspace);
  program.steps.push_back(step);
}

PreparedCommand transfer(PreparedCommands &program, uint64_t length) {
  PreparedCommand step = {};
  step.pointers = uint32_t(program.pointers.size());
  step.length = length;
  step.groups = std::max<uint64_t>(1, (length + pieceBytes - 1) / pieceBytes);
  return step;
}

void add(PreparedCommands &program, const Copy &copy) {
  program.steps.push_back(transfer(program, copy.target.length));
  addPointer(program, copy.target);
  addPointer(program, copy.source);
}

void add(PreparedCommands &program, const Fill &fill) {
  PreparedCommand step = transfer(program, fill.target.length);
  step.fill = true;
  step.pattern = fill.pattern;
  if (fill.patternSize == 1)
    step.pattern = (fill.pattern & 0xFF) * 0x01010101u;
  else if (fill.patternSize == 2)
    step.pattern = (fill.pattern & 0xFFFF) * 0x00010001u;
  program.steps.push_back(step);
  addPointer(program, fill.target);
}

/// A barrier groups the steps since the last wave into one.
void add(PreparedCommands &program, const plugin::Barrier &) {
  uint32_t first = program.waves.empty() ? 0
                                         : program.waves.back().first +
                                               program.waves.back().count;
  Wave wave = {first, uint32_t(program.steps.size()) - first, 0};
  for (uint32_t i = 0; i < wave.count; ++i)
    wave.groups += program.steps[first + i].groups;
  if (wave.count)
    program.waves.push_back(wave);
}

} // namespace

Status PreparedCommands::assign(Commands commands) {
  steps.clear();
  waves.clear();
  pointers.clear();
  patches.clear();
  constants.clear();
  parameters.clear();
  parameterPatches.clear();
  workspace = 0;
  Status status =
      plugin::visitCommands<Device>(commands, [&](const auto &command) {
        add(*this, command);
        return Status();
      });
  add(*this, plugin::Barrier());
  return status;
}

} // namespace backplane::host
