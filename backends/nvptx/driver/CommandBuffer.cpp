// SPDX-License-Identifier: Apache-2.0
//
// CommandBuffer.cpp: command buffers run as graphs of CUDA. A graph is captured
// when the buffers in its slots change, and launched as it is while they are
// the same. Each run has error words and scratch of its own, so that a graph
// that runs still is not launched again: another one is captured.
#include "Recorded.h"
#include "Submit.h"

#include <new>

namespace backplane::cuda {
namespace {

bp_status_t create(bp_device_t *device, const bp_header_t *const *commands,
                   uint64_t count, bp_command_buffer_t **out,
                   bp_error_t *error) {
  if (std::optional<uint32_t> unknown =
          Recording::unknownCommand({commands, count}))
    return fail(device->driver, error, BP_STATUS_UNIMPLEMENTED,
                "the CUDA driver has no command of type " +
                    std::to_string(*unknown));
  *out = new (std::nothrow) bp_command_buffer_t(Commands(commands, count));
  return *out ? BP_STATUS_OK : outOfMemory(device->driver, error);
}

void destroy(bp_device_t *device, bp_command_buffer_t *commands) {
  Current current(*device);
  delete commands;
}

bp_status_t execute(bp_queue_t *queue, bp_command_buffer_t *commands,
                    const bp_binding_t *table, uint64_t tableCount,
                    const bp_completion_t *completion, bp_error_t *error) {
  commands->program.bind({table, tableCount});
  Terms terms;
  terms.completion = *completion;
  terms.replay = {&commands->recordings, commands->program.bound()};
  return submit(*queue, commands->program.commands(), terms, error);
}

} // namespace

const bp_command_buffer_table_t commandBufferTable = {
    BP_HEADER(bp_command_buffer_table_t), create, destroy, execute};

} // namespace backplane::cuda
