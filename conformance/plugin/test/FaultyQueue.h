// SPDX-License-Identifier: Apache-2.0
//
// FaultyQueue.h: queues and command buffers of Faulty.cpp.
#ifndef BACKPLANE_CONFORMANCE_PLUGIN_TEST_FAULTYQUEUE_H
#define BACKPLANE_CONFORMANCE_PLUGIN_TEST_FAULTYQUEUE_H

#include "Fault.h"

#include <chrono>
#include <clocale>
#include <locale.h>
#include <new>
#include <thread>
#include <utility>

namespace {

bp_status_t createQueue(bp_device_t *device, uint32_t queueClass,
                        bp_queue_t **out, bp_error_t *error) {
  if (has(SETS_LOCALE))
    setlocale(LC_ALL, "C.UTF-8");
  if (has(SETS_THREAD_LOCALE))
    uselocale(newlocale(LC_ALL_MASK, "C.UTF-8", nullptr));
  if (queueClass > BP_QUEUE_TRANSFER && !has(SKIPS_UNKNOWN))
    return fail(device->host, error, BP_STATUS_UNIMPLEMENTED, "no such class");
  *out = new (std::nothrow) bp_queue_t{device};
  return BP_STATUS_OK;
}

void destroyQueue(bp_device_t *, bp_queue_t *queue) { delete queue; }

bool run(const bp_header_t *command) {
  if (command->type == bp_command_copy_t_TYPE) {
    auto *copy = reinterpret_cast<const bp_command_copy_t *>(command);
    uint64_t from = has(COPY_IGNORES_OFFSET) ? 0 : copy->source.offset;
    memmove(copy->target.buffer->data + copy->target.offset,
            copy->source.buffer->data + from, copy->target.length);
  } else if (command->type == bp_command_fill_t_TYPE) {
    auto *fill = reinterpret_cast<const bp_command_fill_t *>(command);
    uint64_t end = fill->target.length + has(FILL_RUNS_OVER);
    for (uint64_t i = 0; i < end; ++i)
      fill->target.buffer->data[fill->target.offset + i] =
          uint8_t(fill->pattern >> (8 * (i % fill->pattern_size)));
  } else if (command->type != bp_command_barrier_t_TYPE) {
    return has(SKIPS_UNKNOWN);
  }
  return true;
}

bp_status_t execute(bp_queue_t *queue, const bp_header_t *const *commands,
                    uint64_t count, const bp_completion_t *completion,
                    bp_error_t *error) {
  for (uint64_t i = 0; i < count; ++i)
    if (commands[i]->type > bp_command_barrier_t_TYPE && !has(SKIPS_UNKNOWN))
      return fail(queue->device->host, error, BP_STATUS_UNIMPLEMENTED,
                  "no such command");
  if (has(COMPLETES_EARLY)) {
    completion->done(completion->context, BP_STATUS_OK, {});
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  const bp_host_t *host = queue->device->host;
  if (has(BLOCKS_SIGNALS))
    blockSignals();
  if (has(FLUSHES_ON_THE_POOL))
    host->parallel_for(
        host->self, 64, [](void *, uint64_t, uint32_t) { flushDenormals(); },
        nullptr);
  bool known = true;
  for (uint64_t i = 0; i < count; ++i)
    known &= run(commands[i]);
  bp_status_t status = known ? BP_STATUS_OK : BP_STATUS_UNIMPLEMENTED;
  // The first call fails; the others are done when nobody waits any more.
  bool first = !std::exchange(queue->used, true);
  if (has(COMPLETES_LATE) && first)
    status = BP_STATUS_INTERNAL;
  if (has(COMPLETES_LATE) && !first)
    std::thread([late = *completion] {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      late.done(late.context, BP_STATUS_OK, {});
    }).detach();
  else if (!has(COMPLETES_EARLY))
    completion->done(completion->context, status, {});
  if (has(COMPLETES_TWICE))
    completion->done(completion->context, status, {});
  return BP_STATUS_OK;
}

} // namespace

struct bp_command_buffer_t {
  const bp_header_t *const *given;
  uint64_t count;
  bp_command_copy_t copies[64];
  bp_command_fill_t fills[64];
  bp_header_t others[64];
  const bp_header_t *list[64];
};

namespace {

bp_status_t record(bp_device_t *, const bp_header_t *const *commands,
                   uint64_t count, bp_command_buffer_t **out, bp_error_t *) {
  auto *recorded = new (std::nothrow) bp_command_buffer_t{};
  if (count > 64)
    return delete recorded, bp_status_t(BP_STATUS_RESOURCE_EXHAUSTED);
  recorded->given = commands;
  recorded->count = count;
  for (uint64_t i = 0; i < count; ++i) {
    recorded->list[i] = &recorded->others[i];
    recorded->others[i] = *commands[i];
    if (commands[i]->type == bp_command_copy_t_TYPE) {
      memcpy(&recorded->copies[i], commands[i], sizeof(bp_command_copy_t));
      recorded->list[i] = &recorded->copies[i].header;
    } else if (commands[i]->type == bp_command_fill_t_TYPE) {
      memcpy(&recorded->fills[i], commands[i], sizeof(bp_command_fill_t));
      recorded->list[i] = &recorded->fills[i].header;
    }
  }
  *out = recorded;
  return BP_STATUS_OK;
}

void forget(bp_device_t *, bp_command_buffer_t *recorded) { delete recorded; }

void bind(bp_binding_t &binding, const bp_binding_t *table) {
  if (binding.buffer)
    return;
  binding.buffer = table[binding.slot].buffer;
  binding.offset += table[binding.slot].offset;
}

bp_status_t replay(bp_queue_t *queue, bp_command_buffer_t *recorded,
                   const bp_binding_t *table, uint64_t,
                   const bp_completion_t *completion, bp_error_t *error) {
  if (has(KEEPS_COMMANDS))
    return execute(queue, recorded->given, recorded->count, completion, error);
  bp_command_buffer_t bound = *recorded;
  for (uint64_t i = 0; i < bound.count; ++i) {
    bound.list[i] = &bound.others[i];
    if (bound.others[i].type == bp_command_copy_t_TYPE) {
      bind(bound.copies[i].source, table);
      bind(bound.copies[i].target, table);
      bound.list[i] = &bound.copies[i].header;
    } else if (bound.others[i].type == bp_command_fill_t_TYPE) {
      bind(bound.fills[i].target, table);
      bound.list[i] = &bound.fills[i].header;
    }
  }
  return execute(queue, bound.list, bound.count, completion, error);
}

const bp_queue_table_t queueTable = {BP_HEADER(bp_queue_table_t), createQueue,
                                     destroyQueue, execute};
const bp_command_buffer_table_t commandBufferTable = {
    BP_HEADER(bp_command_buffer_table_t), record, forget, replay};

} // namespace

#endif // BACKPLANE_CONFORMANCE_PLUGIN_TEST_FAULTYQUEUE_H
