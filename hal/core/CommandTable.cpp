// SPDX-License-Identifier: Apache-2.0
//
// CommandTable.cpp: commands with slots and the table that fills them.
#include "hal/core/CommandList.h"
#include "hal/core/CommandRanges.h"
#include "hal/core/Device.h"

namespace backplane {

bp_binding_t toC(const SlotBinding &binding) {
  uint64_t rest = binding.buffer->size() - binding.offset;
  return {binding.buffer->handle(), binding.offset,
          binding.length ? binding.length : rest, 0, 0};
}

static Status checkSlot(const Device &device, const SlotUse &use,
                        const SlotBinding &binding) {
  if (!binding.buffer)
    return use.extent ? invalidArgument("has no buffer") : Status();
  const Buffer &buffer = *binding.buffer;
  if (Status status =
          checkRange(device, buffer, binding.offset, binding.length);
      !status.ok())
    return status;
  if (Status s = checkAlignment(device, binding.offset); !s.ok())
    return s;
  uint64_t length =
      binding.length ? binding.length : buffer.size() - binding.offset;
  if (use.extent > length)
    return Status(BP_STATUS_OUT_OF_RANGE, "has " + text(length) +
                                              " bytes, the commands reach " +
                                              text(use.extent));
  if (use.written && buffer.readOnly())
    return invalidArgument("is written, but its buffer was imported as "
                           "read-only");
  return {};
}

/// `binding` with its slot, if any, replaced by what the table has.
static bp_binding_t resolve(const bp_binding_t &binding,
                            std::span<const SlotBinding> table) {
  if (binding.buffer || !table[binding.slot].buffer)
    return binding;
  const SlotBinding &slot = table[binding.slot];
  return {slot.buffer->handle(), slot.offset + binding.offset, binding.length,
          0, 0};
}

Status CommandList::checkTable(const Device &device,
                               std::span<const SlotBinding> table) const {
  if (table.size() < slots.size())
    return invalidArgument("the commands use " + text(slots.size()) +
                           " slots, the table has " + text(table.size()));
  for (size_t i = 0; i < slots.size(); ++i)
    if (Status status = checkSlot(device, slots[i], table[i]); !status.ok())
      return status.within("slot " + text(i));
  for (const bp_command_copy_t &copy : copies)
    if ((!copy.source.buffer || !copy.target.buffer) &&
        sameRange(resolve(copy.source, table), resolve(copy.target, table)))
      return invalidArgument("a copy from slot " + text(copy.source.slot) +
                             " to slot " + text(copy.target.slot) +
                             " overlaps itself");
  return {};
}

std::unique_ptr<CommandList>
CommandList::resolved(std::span<const SlotBinding> table) const {
  auto copy = std::make_unique<CommandList>();
  copy->dispatches = dispatches;
  copy->copies = copies;
  copy->fills = fills;
  copy->alive = alive;
  copy->notes = notes;
  copy->bindings.reserve(bindings.size());
  for (const bp_binding_t &binding : bindings)
    copy->bindings.push_back(resolve(binding, table));
  for (bp_command_dispatch_t &dispatch : copy->dispatches)
    dispatch.bindings =
        copy->bindings.data() + (dispatch.bindings - bindings.data());
  for (bp_command_copy_t &one : copy->copies) {
    one.source = resolve(one.source, table);
    one.target = resolve(one.target, table);
  }
  for (bp_command_fill_t &fill : copy->fills)
    fill.target = resolve(fill.target, table);
  auto dispatch = copy->dispatches.begin();
  auto oneCopy = copy->copies.begin();
  auto fill = copy->fills.begin();
  for (const bp_header_t *command : commands) {
    if (command->type == bp_command_dispatch_t_TYPE)
      command = &(dispatch++)->header;
    else if (command->type == bp_command_copy_t_TYPE)
      command = &(oneCopy++)->header;
    else if (command->type == bp_command_fill_t_TYPE)
      command = &(fill++)->header;
    copy->commands.push_back(command);
  }
  return copy;
}

} // namespace backplane
