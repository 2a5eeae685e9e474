// SPDX-License-Identifier: Apache-2.0
#include "Recorded.h"

namespace backplane::cuda {

RecordedCommands::RecordedCommands(Commands commands) {
  for (const bp_header_t *command : commands)
    switch (command->type) {
    case bp_command_dispatch_t_TYPE:
      add(readStruct<bp_command_dispatch_t>(command));
      break;
    case bp_command_copy_t_TYPE:
      add(readStruct<bp_command_copy_t>(command));
      break;
    case bp_command_fill_t_TYPE:
      add(readStruct<bp_command_fill_t>(command));
      break;
    default: // a barrier: commands of a stream do not overlap
      break;
    }
  bound_.resize(slots_.size());
}

void RecordedCommands::addRange(bp_binding_t &range) {
  if (!range.buffer)
    slots_.push_back({&range, range.offset});
}

void RecordedCommands::add(const bp_command_dispatch_t &dispatch) {
  Dispatch &made = dispatches_.emplace_back();
  made.command = dispatch;
  made.bindings.assign(dispatch.bindings,
                       dispatch.bindings + dispatch.binding_count);
  made.constants.assign(dispatch.constants,
                        dispatch.constants + dispatch.constant_count);
  made.parameters.assign(dispatch.parameters,
                         dispatch.parameters + dispatch.parameter_count);
  made.command.bindings = made.bindings.data();
  made.command.constants = made.constants.data();
  made.command.parameters = made.parameters.data();
  for (bp_binding_t &range : made.bindings)
    addRange(range);
  commands_.push_back(&made.command.header);
}

void RecordedCommands::add(const bp_command_copy_t &copy) {
  bp_command_copy_t &made = copies_.emplace_back(copy);
  addRange(made.source);
  addRange(made.target);
  commands_.push_back(&made.header);
}

void RecordedCommands::add(const bp_command_fill_t &fill) {
  bp_command_fill_t &made = fills_.emplace_back(fill);
  addRange(made.target);
  commands_.push_back(&made.header);
}

void RecordedCommands::bind(std::span<const bp_binding_t> table) {
  for (size_t i = 0; i < slots_.size(); ++i) {
    bp_binding_t &range = *slots_[i].range;
    const bp_binding_t &from =
        range.slot < table.size() ? table[range.slot] : bp_binding_t{};
    range.buffer = from.buffer;
    range.offset = slots_[i].offset + from.offset;
    bound_[i] = range.buffer ? range.buffer->address + range.offset : 0;
  }
}

} // namespace backplane::cuda
