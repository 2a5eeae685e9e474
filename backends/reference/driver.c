/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver.c: the device "interpreter". Buffers are host memory, a queue runs
 * its commands before queue_execute returns. The host has validated handles,
 * ranges and counts of every call; only blobs are checked here, because they
 * come from files.
 */
#include "ref.h"

#include <stdio.h>
#include <string.h>

#define BINDING_ALIGNMENT 64u

struct bp_device_t {
  const ref_plugin_t *plugin;
};

struct bp_queue_t {
  bp_device_t *device;
};

static const bp_host_t *host_of(const bp_device_t *device) {
  return device->plugin->host;
}

/* Host memory, with the failure already told. */
static void *allocate(const bp_host_t *host, uint64_t size, uint64_t alignment,
                      bp_error_t *error) {
  void *memory = host->memory_allocate(host->self, size, alignment);
  if (!memory)
    ref_error(host, error, BP_STATUS_RESOURCE_EXHAUSTED,
              "ref cannot allocate %llu bytes", (unsigned long long)size);
  return memory;
}

/* ---- Devices ---- */

static bp_status_t enumerate(void *self, const bp_options_t *options,
                             const bp_device_sink_t *sink, bp_error_t *error) {
  const bp_host_t *host = ((ref_plugin_t *)self)->host;
  const bp_string_t format = ref_string("wire");
  bp_device_info_t info = {.header = BP_HEADER(bp_device_info_t)};
  bp_status_t status = ref_no_options(host, options, error);
  if (status)
    return status;
  info.id = ref_string("interpreter");
  info.name = ref_string("reference interpreter");
  info.kind = BP_DEVICE_KIND_CPU;
  info.flags = BP_DEVICE_SYNCHRONOUS;
  info.formats = &format;
  info.format_count = 1;
  info.binding_alignment = BINDING_ALIGNMENT;
  info.max_bindings = 1024;
  info.max_constants = BP_MAX_CONSTANTS;
  info.max_grid[0] = info.max_grid[1] = info.max_grid[2] = 1;
  info.worker_count = host->worker_count(host->self);
  return sink->put(sink->context, &info);
}

static bp_status_t open_device(void *self, bp_string_t id,
                               const bp_options_t *options,
                               bp_device_t **out_device, bp_error_t *error) {
  const ref_plugin_t *plugin = self;
  bp_status_t status = ref_no_options(plugin->host, options, error);
  if (status)
    return status;
  if (!ref_equal(id, "interpreter"))
    return ref_error(plugin->host, error, BP_STATUS_NOT_FOUND,
                     "ref has no device '%.*s', only 'interpreter'",
                     (int)id.size, id.data);
  *out_device = allocate(plugin->host, sizeof(**out_device), 8, error);
  if (!*out_device)
    return BP_STATUS_RESOURCE_EXHAUSTED;
  (*out_device)->plugin = plugin;
  return BP_STATUS_OK;
}

static void close_device(bp_device_t *device) {
  const bp_host_t *host = host_of(device);
  host->memory_free(host->self, device);
}

const bp_driver_table_t ref_driver_table = {
    .header = BP_HEADER(bp_driver_table_t),
    .enumerate = enumerate,
    .open = open_device,
    .close = close_device,
};

/* ---- Memory ---- */

static void buffer_free(bp_device_t *device, bp_buffer_t *buffer) {
  const bp_host_t *host = host_of(device);
  if (buffer->data)
    host->memory_free(host->self, buffer->data);
  host->memory_free(host->self, buffer);
}

static bp_status_t buffer_allocate(bp_device_t *device, uint32_t space,
                                   uint64_t size, uint64_t alignment,
                                   bp_buffer_t **out_buffer,
                                   bp_error_t *error) {
  const bp_host_t *host = host_of(device);
  bp_buffer_t *buffer = allocate(host, sizeof(*buffer), 8, error);
  (void)space; /* host memory serves all spaces */
  if (!buffer)
    return BP_STATUS_RESOURCE_EXHAUSTED;
  if (alignment < BINDING_ALIGNMENT)
    alignment = BINDING_ALIGNMENT;
  buffer->data = allocate(host, size, alignment, error);
  if (!buffer->data) {
    buffer_free(device, buffer);
    return BP_STATUS_RESOURCE_EXHAUSTED;
  }
  *out_buffer = buffer;
  return BP_STATUS_OK;
}

static bp_status_t buffer_write(bp_device_t *device, bp_buffer_t *buffer,
                                uint64_t offset, const void *data,
                                uint64_t size, bp_error_t *error) {
  (void)device;
  (void)error;
  memcpy(buffer->data + offset, data, size);
  return BP_STATUS_OK;
}

static bp_status_t buffer_read(bp_device_t *device, bp_buffer_t *buffer,
                               uint64_t offset, void *data, uint64_t size,
                               bp_error_t *error) {
  (void)device;
  (void)error;
  memcpy(data, buffer->data + offset, size);
  return BP_STATUS_OK;
}

const bp_memory_table_t ref_memory_table = {
    .header = BP_HEADER(bp_memory_table_t),
    .buffer_allocate = buffer_allocate,
    .buffer_free = buffer_free,
    .buffer_write = buffer_write,
    .buffer_read = buffer_read,
};

/* ---- Executables ---- */

static void executable_unload(bp_device_t *device,
                              bp_executable_t *executable) {
  const bp_host_t *host = host_of(device);
  if (executable->kernels)
    host->memory_free(host->self, executable->kernels);
  if (executable->graph)
    executable->table->graph_close(executable->graph);
  host->memory_free(host->self, executable);
}

/* Opens the blob and resolves its ops. */
static bp_status_t prepare(bp_executable_t *executable,
                           const bp_executable_info_t *info,
                           bp_error_t *error) {
  const bp_host_t *host = executable->host;
  const bp_graph_table_t *table = executable->table;
  bp_graph_info_t graph;
  char reason[256];
  bp_status_t status = table->graph_open(info->blob, &executable->graph, error);
  if (status) /* the error says what is damaged */
    return BP_STATUS_INVALID_ARGUMENT;
  table->graph_info(executable->graph, &graph);
  if (info->entry_count != 1 ||
      info->entries[0]->binding_count !=
          (uint64_t)graph.input_count + graph.output_count ||
      info->entries[0]->constant_count != graph.symbol_count)
    return ref_error(host, error, BP_STATUS_INVALID_ARGUMENT,
                     "the entry does not fit its graph of %u inputs, %u "
                     "outputs and %u symbols",
                     graph.input_count, graph.output_count, graph.symbol_count);
  executable->kernels = allocate(
      host, (graph.op_count + 1u) * sizeof(*executable->kernels), 8, error);
  if (!executable->kernels)
    return BP_STATUS_RESOURCE_EXHAUSTED;
  status = ref_resolve(table, executable->graph, executable->kernels, reason,
                       sizeof(reason));
  if (status)
    return ref_error(host, error, status, "%s", reason);
  return BP_STATUS_OK;
}

static bp_status_t executable_load(bp_device_t *device,
                                   const bp_executable_info_t *info,
                                   bp_executable_t **out_executable,
                                   bp_error_t *error) {
  const bp_host_t *host = host_of(device);
  bp_executable_t *executable;
  bp_status_t status;
  if (!ref_equal(info->format, "wire"))
    return ref_error(host, error, BP_STATUS_INVALID_ARGUMENT,
                     "ref loads the format 'wire', found '%.*s'",
                     (int)info->format.size, info->format.data);
  executable = allocate(host, sizeof(*executable), 8, error);
  if (!executable)
    return BP_STATUS_RESOURCE_EXHAUSTED;
  memset(executable, 0, sizeof(*executable));
  executable->host = host;
  executable->table = device->plugin->graph;
  status = prepare(executable, info, error);
  if (status) {
    executable_unload(device, executable);
    return status;
  }
  *out_executable = executable;
  return BP_STATUS_OK;
}

const bp_executable_table_t ref_executable_table = {
    .header = BP_HEADER(bp_executable_table_t),
    .executable_load = executable_load,
    .executable_unload = executable_unload,
};

/* ---- Queues ---- */

static bp_status_t queue_create(bp_device_t *device, uint32_t queue_class,
                                bp_queue_t **out_queue, bp_error_t *error) {
  (void)queue_class; /* one queue does both kinds of work */
  *out_queue = allocate(host_of(device), sizeof(**out_queue), 8, error);
  if (!*out_queue)
    return BP_STATUS_RESOURCE_EXHAUSTED;
  (*out_queue)->device = device;
  return BP_STATUS_OK;
}

static void queue_destroy(bp_device_t *device, bp_queue_t *queue) {
  const bp_host_t *host = host_of(device);
  host->memory_free(host->self, queue);
}

static void run_copy(const bp_command_copy_t *copy) {
  memcpy(copy->target.buffer->data + copy->target.offset,
         copy->source.buffer->data + copy->source.offset, copy->target.length);
}

static void run_fill(const bp_command_fill_t *fill) {
  char *data = fill->target.buffer->data + fill->target.offset;
  uint8_t pattern[4];
  uint64_t i;
  for (i = 0; i < 4; ++i)
    pattern[i] = (uint8_t)(fill->pattern >> (8 * i));
  for (i = 0; i < fill->target.length; ++i)
    data[i] = (char)pattern[i % fill->pattern_size];
}

static bp_status_t run(const bp_header_t *command, char *message,
                       uint64_t size) {
  switch (command->type) {
  case bp_command_dispatch_t_TYPE:
    return ref_dispatch((const bp_command_dispatch_t *)command, message, size);
  case bp_command_copy_t_TYPE:
    run_copy((const bp_command_copy_t *)command);
    return BP_STATUS_OK;
  case bp_command_fill_t_TYPE:
    run_fill((const bp_command_fill_t *)command);
    return BP_STATUS_OK;
  case bp_command_barrier_t_TYPE: /* commands never overlap here */
    return BP_STATUS_OK;
  default:
    snprintf(message, size, "ref has no command of type %u", command->type);
    return BP_STATUS_UNIMPLEMENTED;
  }
}

static bp_status_t queue_execute(bp_queue_t *queue,
                                 const bp_header_t *const *commands,
                                 uint64_t count,
                                 const bp_completion_t *completion,
                                 bp_error_t *error) {
  char message[512] = "";
  bp_status_t status = BP_STATUS_OK;
  uint64_t i;
  (void)queue;
  (void)error; /* every failure is one of work that runs */
  for (i = 0; i < count && status == BP_STATUS_OK; ++i)
    status = run(commands[i], message, sizeof(message));
  completion->done(completion->context, status, ref_string(message));
  return BP_STATUS_OK;
}

const bp_queue_table_t ref_queue_table = {
    .header = BP_HEADER(bp_queue_table_t),
    .queue_create = queue_create,
    .queue_destroy = queue_destroy,
    .queue_execute = queue_execute,
};
