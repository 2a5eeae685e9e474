// SPDX-License-Identifier: Apache-2.0
#include "CommandBuffer.h"
#include "Queue.h"
#include "backplane/helpers.h"

#include <new>

bp_command_buffer_t::bp_command_buffer_t(backplane::gpu::Commands commands)
    : copies_(bp_commands_copy(commands.data(), commands.size())),
      count_(commands.size()) {
  for (uint64_t i = 0; copies_ && i < count_; ++i)
    addSlots(*copies_[i]);
  bound_.resize(2 * slots_.size());
}

void bp_command_buffer_t::addSlots(bp_header_t &command) {
  auto add = [&](bp_binding_t &range) {
    if (!range.buffer)
      slots_.push_back({&range, range.offset});
  };
  switch (command.type) {
  case bp_command_dispatch_t_TYPE: {
    auto &dispatch = reinterpret_cast<bp_command_dispatch_t &>(command);
    for (uint64_t i = 0; i < dispatch.binding_count; ++i)
      add(const_cast<bp_binding_t &>(dispatch.bindings[i]));
    break;
  }
  case bp_command_copy_t_TYPE:
    add(reinterpret_cast<bp_command_copy_t &>(command).source);
    add(reinterpret_cast<bp_command_copy_t &>(command).target);
    break;
  case bp_command_fill_t_TYPE:
    add(reinterpret_cast<bp_command_fill_t &>(command).target);
    break;
  default: // a barrier
    break;
  }
}

void bp_command_buffer_t::bind(std::span<const bp_binding_t> table) {
  for (size_t i = 0; i < slots_.size(); ++i) {
    bp_binding_t &range = *slots_[i].range;
    const bp_binding_t &from =
        range.slot < table.size() ? table[range.slot] : bp_binding_t{};
    range.buffer = from.buffer;
    range.offset = slots_[i].offset + from.offset;
    bound_[2 * i] = range.buffer ? range.buffer->key : 0;
    bound_[2 * i + 1] = range.offset;
  }
}

namespace backplane::gpu {
namespace {

bp_status_t create(bp_device_t *device, const bp_header_t *const *commands,
                   uint64_t count, bp_command_buffer_t **out,
                   bp_error_t *error) {
  if (bp_status_t status = refuseUnknown(*device, {commands, count}, error))
    return status;
  std::unique_ptr<bp_command_buffer_t> made(
      new (std::nothrow) bp_command_buffer_t({commands, count}));
  if (!made || !made->isWhole())
    return outOfMemory(device->driver, error);
  *out = made.release();
  return BP_STATUS_OK;
}

void destroy(bp_device_t *, bp_command_buffer_t *commands) { delete commands; }

bp_status_t execute(bp_queue_t *queue, bp_command_buffer_t *commands,
                    const bp_binding_t *table, uint64_t tableCount,
                    const bp_completion_t *completion, bp_error_t *error) {
  commands->bind({table, tableCount});
  Terms terms;
  terms.completion = *completion;
  terms.replayed = commands;
  return submit(*queue, commands->commands(), terms, error);
}

} // namespace

const bp_command_buffer_table_t commandBufferTable = {
    BP_HEADER(bp_command_buffer_table_t), create, destroy, execute};

} // namespace backplane::gpu
