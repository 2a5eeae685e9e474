/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helpers.h: what plug-ins in C would each write for themselves.
 *
 * It is no part of the ABI: all is inline, over the other headers, and needs
 * the C library only. C++ has cpp/ in its place. Names that end in _ are not
 * for others. Thread-safe, as nothing is kept.
 */
#ifndef BACKPLANE_HELPERS_H
#define BACKPLANE_HELPERS_H

#include "graph.h"
#include "hal.h"
#include "plugin.h"

#include <stdlib.h>
#include <string.h>

/* It is C also where C++ includes it.
 * NOLINTBEGIN(modernize-use-nullptr, bugprone-casting-through-void) */
#ifdef __cplusplus
extern "C" {
#endif

/* ---- Text ---- */

/* The text without its end mark; it lives as long as `chars`. */
static inline bp_string_t bp_text(const char *chars) {
  bp_string_t text;
  text.data = chars;
  text.size = strlen(chars);
  return text;
}

/* 1: the same bytes, 0: not. */
static inline int bp_text_equal(bp_string_t a, bp_string_t b) {
  return a.size == b.size && (a.size == 0 || !memcmp(a.data, b.data, a.size));
}

static inline int bp_text_is(bp_string_t text, const char *chars) {
  return bp_text_equal(text, bp_text(chars));
}

/* ---- The plug-in ---- */

/* The answer of bp_plugin_query_v0: as much of `info` as the host has room for
 * in `out`. */
static inline int32_t bp_plugin_info_give(const bp_plugin_info_t *info,
                                          bp_plugin_info_t *out) {
  const uint32_t room = out->header.size;
  const uint32_t size = info->header.size < room ? info->header.size : room;
  memcpy(out, info, size);
  out->header.size = size;
  return BP_STATUS_OK;
}

/* ---- Registered kernels ---- */

/* The handles of the device that bp_kernels_table_t.resolve is asked about;
 * NULL: it has none. */
static inline const bp_device_handles_t *
bp_device_handles(const bp_device_info_t *device) {
  const bp_header_t *part = (const bp_header_t *)device->header.next;
  while (part && part->type != bp_device_handles_t_TYPE)
    part = (const bp_header_t *)part->next;
  return (const bp_device_handles_t *)(const void *)part;
}

/* ---- Graphs ---- */

/* The accessors of bp_graph_table_t, with what they tell as the result. */
static inline bp_graph_info_t bp_graph_info(const bp_graph_table_t *table,
                                            const bp_graph_t *graph) {
  bp_graph_info_t info;
  table->graph_info(graph, &info);
  return info;
}

static inline bp_value_info_t bp_graph_value(const bp_graph_table_t *table,
                                             const bp_graph_t *graph,
                                             uint32_t value) {
  bp_value_info_t info;
  table->value_info(graph, value, &info);
  return info;
}

static inline bp_op_info_t bp_graph_op(const bp_graph_table_t *table,
                                       const bp_graph_t *graph, uint32_t op) {
  bp_op_info_t info;
  table->op_info(graph, op, &info);
  return info;
}

static inline bp_attribute_t bp_graph_attribute(const bp_graph_table_t *table,
                                                const bp_graph_t *graph,
                                                uint32_t op, const char *name) {
  bp_attribute_t attribute;
  table->attribute(graph, op, bp_text(name), &attribute);
  return attribute;
}

/* ---- Commands ---- */

/* Puts bytes at `*used` of the block and counts them; NULL: only counts. */
static inline void *bp_block_put_(char *block, uint64_t *used, const void *from,
                                  uint64_t size) {
  char *to = block ? block + *used : NULL;
  if (to && size)
    memcpy(to, from, (size_t)size);
  *used += (size + 15) / 16 * 16;
  return to;
}

static inline void *bp_command_put_(char *block, uint64_t *used,
                                    const bp_header_t *from) {
  union {
    bp_header_t header;
    bp_command_dispatch_t dispatch;
    bp_command_copy_t copy;
    bp_command_fill_t fill;
  } to;
  bp_command_dispatch_t *one = &to.dispatch;
  uint64_t size = sizeof(bp_header_t);
  if (from->type == bp_command_dispatch_t_TYPE)
    size = sizeof(bp_command_dispatch_t);
  if (from->type == bp_command_copy_t_TYPE)
    size = sizeof(bp_command_copy_t);
  if (from->type == bp_command_fill_t_TYPE)
    size = sizeof(bp_command_fill_t);
  memset(&to, 0, sizeof(to));
  memcpy(&to, from, (size_t)(from->size < size ? from->size : size));
  to.header.size = (uint32_t)size;
  to.header.next = NULL;
  if (from->type == bp_command_dispatch_t_TYPE) {
    one->bindings = (const bp_binding_t *)bp_block_put_(
        block, used, one->bindings, one->binding_count * sizeof(bp_binding_t));
    one->constants = (const uint32_t *)bp_block_put_(
        block, used, one->constants, one->constant_count * sizeof(uint32_t));
    one->parameters = (const int64_t *)bp_block_put_(
        block, used, one->parameters, one->parameter_count * sizeof(int64_t));
  }
  return bp_block_put_(block, used, &to, size);
}

/* A copy of commands that outlives queue_execute, for a queue that runs them
 * later; free() releases it, with all in it. NULL: there is no memory. What the
 * host is too old to know is 0 in the copies. Chains are not copied: who reads
 * `next` does so before. Of a command of unknown type there is the header
 * only. */
static inline bp_header_t **bp_commands_copy(const bp_header_t *const *commands,
                                             uint64_t count) {
  uint64_t used = count * sizeof(bp_header_t *), i;
  char *block;
  used = (used + 15) / 16 * 16;
  for (i = 0; i < count; ++i)
    bp_command_put_(NULL, &used, commands[i]);
  block = (char *)malloc((size_t)used + 1);
  used = (count * sizeof(bp_header_t *) + 15) / 16 * 16;
  for (i = 0; block && i < count; ++i)
    ((bp_header_t **)(void *)block)[i] =
        (bp_header_t *)bp_command_put_(block, &used, commands[i]);
  return (bp_header_t **)(void *)block;
}

/* ---- Buffers that are memory of this process ---- */

/* For a device that shares memory with the host, or is software: a bp_buffer_t
 * is its bytes. The functions fit into bp_memory_table_t. */
static inline char *bp_plain_address(bp_binding_t binding) {
  return (char *)(void *)binding.buffer + binding.offset;
}

static inline bp_status_t bp_plain_write(bp_device_t *device,
                                         bp_buffer_t *buffer, uint64_t offset,
                                         const void *data, uint64_t size,
                                         bp_error_t *error) {
  (void)device;
  (void)error;
  memcpy((char *)(void *)buffer + offset, data, (size_t)size);
  return BP_STATUS_OK;
}

static inline bp_status_t bp_plain_read(bp_device_t *device,
                                        bp_buffer_t *buffer, uint64_t offset,
                                        void *data, uint64_t size,
                                        bp_error_t *error) {
  (void)device;
  (void)error;
  memcpy(data, (const char *)(void *)buffer + offset, (size_t)size);
  return BP_STATUS_OK;
}

/* Runs a copy, a fill or a barrier. 0: the command is another. */
static inline int bp_plain_run(const bp_header_t *command) {
  const bp_command_copy_t *copy = (const bp_command_copy_t *)command;
  const bp_command_fill_t *fill = (const bp_command_fill_t *)command;
  uint64_t i;
  switch (command->type) {
  case bp_command_copy_t_TYPE:
    memcpy(bp_plain_address(copy->target), bp_plain_address(copy->source),
           (size_t)copy->target.length);
    return 1;
  case bp_command_fill_t_TYPE:
    for (i = 0; i < fill->target.length; ++i)
      bp_plain_address(fill->target)[i] =
          (char)(fill->pattern >> (8 * (i % fill->pattern_size)));
    return 1;
  default:
    return command->type == bp_command_barrier_t_TYPE;
  }
}

#ifdef __cplusplus
}
#endif
/* NOLINTEND(modernize-use-nullptr, bugprone-casting-through-void) */

#endif /* BACKPLANE_HELPERS_H */
