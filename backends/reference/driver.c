/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver.c: the device "interpreter". The host has validated handles, ranges
 * and counts of every call; only blobs are checked here, because they come from
 * files.
 *
 * Handles are opaque to the host, so each is the thing itself: a buffer its
 * memory, an executable its opened graph, a queue its device. A vendor's are
 * pointers to structs.
 */
#include "ref.h"

#include <stdio.h>

#define BINDING_ALIGNMENT 64u

/* ---- Devices ---- */

static bp_status_t enumerate(void *self, const bp_options_t *options,
                             const bp_device_sink_t *sink, bp_error_t *error) {
  const bp_host_t *host = ((bp_device_t *)self)->host;
  const bp_string_t format = bp_text("wire");
  bp_device_info_t info = {.header = BP_HEADER(bp_device_info_t)};
  bp_status_t status = ref_no_options(host, options, error);
  if (status)
    return status;
  info.id = bp_text("interpreter");
  info.name = bp_text("reference interpreter");
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
  bp_device_t *device = self;
  bp_status_t status = ref_no_options(device->host, options, error);
  if (status)
    return status;
  if (!bp_text_is(id, "interpreter"))
    return ref_error(device->host, error, BP_STATUS_NOT_FOUND,
                     "ref has no device '%.*s', only 'interpreter'",
                     (int)id.size, id.data);
  *out_device = device;
  return BP_STATUS_OK;
}

static void close_device(bp_device_t *device) { (void)device; }

const bp_driver_table_t ref_driver_table = {
    .header = BP_HEADER(bp_driver_table_t),
    .enumerate = enumerate,
    .open = open_device,
    .close = close_device,
};

/* ---- Memory ---- */

static bp_status_t buffer_allocate(bp_device_t *device, uint32_t space,
                                   uint64_t size, uint64_t alignment,
                                   bp_buffer_t **out_buffer,
                                   bp_error_t *error) {
  const bp_host_t *host = device->host;
  if (space > BP_SPACE_STAGING) /* host memory serves those that there are */
    return ref_error(host, error, BP_STATUS_UNIMPLEMENTED,
                     "ref has no memory space %u", space);
  if (alignment < BINDING_ALIGNMENT)
    alignment = BINDING_ALIGNMENT;
  *out_buffer = host->memory_allocate(host->self, size, alignment);
  if (!*out_buffer)
    return ref_error(host, error, BP_STATUS_RESOURCE_EXHAUSTED,
                     "ref cannot allocate %llu bytes",
                     (unsigned long long)size);
  return BP_STATUS_OK;
}

static void buffer_free(bp_device_t *device, bp_buffer_t *buffer) {
  device->host->memory_free(device->host->self, buffer);
}

const bp_memory_table_t ref_memory_table = {
    .header = BP_HEADER(bp_memory_table_t),
    .buffer_allocate = buffer_allocate,
    .buffer_free = buffer_free,
    .buffer_write = bp_plain_write,
    .buffer_read = bp_plain_read,
};

/* ---- Executables ---- */

static void executable_unload(bp_device_t *device,
                              bp_executable_t *executable) {
  device->table->graph_close((bp_graph_t *)executable);
}

/* Whether the entry describes the graph and its ops can be run. */
static bp_status_t check(const bp_device_t *device, const bp_graph_t *graph,
                         const bp_executable_info_t *info, bp_error_t *error) {
  bp_graph_info_t found;
  char reason[256];
  bp_status_t status;
  device->table->graph_info(graph, &found);
  if (info->entry_count != 1 ||
      info->entries[0]->binding_count !=
          (uint64_t)found.input_count + found.output_count ||
      info->entries[0]->constant_count != found.symbol_count)
    return ref_error(device->host, error, BP_STATUS_INVALID_ARGUMENT,
                     "the entry does not fit its graph of %u inputs, %u "
                     "outputs and %u symbols",
                     found.input_count, found.output_count, found.symbol_count);
  status = ref_check(device->table, graph, reason, sizeof(reason));
  return status ? ref_error(device->host, error, status, "%s", reason)
                : BP_STATUS_OK;
}

static bp_status_t executable_load(bp_device_t *device,
                                   const bp_executable_info_t *info,
                                   bp_executable_t **out_executable,
                                   bp_error_t *error) {
  bp_graph_t *graph;
  bp_status_t status;
  if (!bp_text_is(info->format, "wire"))
    return ref_error(device->host, error, BP_STATUS_INVALID_ARGUMENT,
                     "ref loads the format 'wire', found '%.*s'",
                     (int)info->format.size, info->format.data);
  if (device->table->graph_open(info->blob, &graph, error))
    return BP_STATUS_INVALID_ARGUMENT; /* the error says what is damaged */
  status = check(device, graph, info, error);
  if (status)
    device->table->graph_close(graph);
  else
    *out_executable = (bp_executable_t *)graph;
  return status;
}

const bp_executable_table_t ref_executable_table = {
    .header = BP_HEADER(bp_executable_table_t),
    .executable_load = executable_load,
    .executable_unload = executable_unload,
};

/* ---- Queues ---- */

static bp_status_t queue_create(bp_device_t *device, uint32_t queue_class,
                                bp_queue_t **out_queue, bp_error_t *error) {
  /* work of both classes is done at once, by the caller */
  if (queue_class > BP_QUEUE_TRANSFER)
    return ref_error(device->host, error, BP_STATUS_UNIMPLEMENTED,
                     "ref has no queue of class %u", queue_class);
  *out_queue = (bp_queue_t *)device;
  return BP_STATUS_OK;
}

static void queue_destroy(bp_device_t *device, bp_queue_t *queue) {
  (void)device;
  (void)queue;
}

static bp_status_t run(const bp_device_t *device, const bp_header_t *command,
                       char *message, uint64_t size) {
  const bp_command_dispatch_t *dispatch = (const void *)command;
  if (command->type == bp_command_dispatch_t_TYPE)
    return ref_dispatch(device, (const bp_graph_t *)dispatch->executable,
                        dispatch, message, size);
  if (bp_plain_run(command)) /* commands never overlap here */
    return BP_STATUS_OK;
  snprintf(message, size, "ref has no command of type %u", command->type);
  return BP_STATUS_UNIMPLEMENTED;
}

static bp_status_t queue_execute(bp_queue_t *queue,
                                 const bp_header_t *const *commands,
                                 uint64_t count,
                                 const bp_completion_t *completion,
                                 bp_error_t *error) {
  char message[512] = "";
  bp_status_t status = BP_STATUS_OK;
  uint64_t i;
  (void)error; /* every failure is one of work that runs */
  for (i = 0; i < count && status == BP_STATUS_OK; ++i)
    status =
        run((const bp_device_t *)queue, commands[i], message, sizeof(message));
  completion->done(completion->context, status, bp_text(message));
  return BP_STATUS_OK;
}

const bp_queue_table_t ref_queue_table = {
    .header = BP_HEADER(bp_queue_table_t),
    .queue_create = queue_create,
    .queue_destroy = queue_destroy,
    .queue_execute = queue_execute,
};
