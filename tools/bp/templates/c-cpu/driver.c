/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver.c: the device. The host has validated handles, ranges and counts of
 * every call; only blobs are checked here, because they come from files.
 *
 * A buffer is its memory and a queue its device, whose work is done by the
 * caller: replace them by those of your runtime, and drop
 * BP_DEVICE_SYNCHRONOUS when queue_execute no longer waits.
 */
#include "acme.h"

#include <stdio.h>
#include <string.h>

#define ALIGNMENT 64u

/* ---- Devices ---- */

static bp_status_t enumerate(void *self, const bp_options_t *options,
                             const bp_device_sink_t *sink, bp_error_t *error) {
  const bp_host_t *host = ((bp_device_t *)self)->host;
  const bp_string_t format = text(FORMAT);
  bp_device_info_t info = {.header = BP_HEADER(bp_device_info_t)};
  const bp_status_t status = no_options(host, options, error);
  if (status)
    return status;
  info.id = text(DEVICE_ID);
  info.name = text(PLUGIN_NAME " on the CPU");
  info.kind = BP_DEVICE_KIND_CPU;
  info.flags = BP_DEVICE_SYNCHRONOUS;
  info.formats = &format;
  info.format_count = 1;
  info.binding_alignment = ALIGNMENT;
  info.max_bindings = MAX_BINDINGS;
  info.max_constants = BP_MAX_CONSTANTS;
  info.max_parameters = MAX_PARAMETERS;
  info.worker_count = host->worker_count(host->self);
  return sink->put(sink->context, &info);
}

static bp_status_t open_device(void *self, bp_string_t id,
                               const bp_options_t *options,
                               bp_device_t **out_device, bp_error_t *error) {
  bp_device_t *device = self;
  const bp_status_t status = no_options(device->host, options, error);
  if (status)
    return status;
  if (!equal(id, DEVICE_ID))
    return fail(device->host, error, BP_STATUS_NOT_FOUND,
                PLUGIN_NAME " has no device '%.*s', only '" DEVICE_ID "'",
                (int)id.size, id.data);
  *out_device = device;
  return BP_STATUS_OK;
}

static void close_device(bp_device_t *device) { (void)device; }

const bp_driver_table_t driver_table = {
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
  if (space > BP_SPACE_STAGING)
    return fail(host, error, BP_STATUS_UNIMPLEMENTED,
                PLUGIN_NAME " has no memory space %u", space);
  if (alignment < ALIGNMENT)
    alignment = ALIGNMENT;
  *out_buffer = host->memory_allocate(host->self, size, alignment);
  if (!*out_buffer)
    return fail(host, error, BP_STATUS_RESOURCE_EXHAUSTED,
                PLUGIN_NAME " cannot allocate %llu bytes",
                (unsigned long long)size);
  return BP_STATUS_OK;
}

static void buffer_free(bp_device_t *device, bp_buffer_t *buffer) {
  device->host->memory_free(device->host->self, buffer);
}

static bp_status_t buffer_write(bp_device_t *device, bp_buffer_t *buffer,
                                uint64_t offset, const void *data,
                                uint64_t size, bp_error_t *error) {
  (void)device, (void)error;
  memcpy((char *)buffer + offset, data, size);
  return BP_STATUS_OK;
}

static bp_status_t buffer_read(bp_device_t *device, bp_buffer_t *buffer,
                               uint64_t offset, void *data, uint64_t size,
                               bp_error_t *error) {
  (void)device, (void)error;
  memcpy(data, (const char *)buffer + offset, size);
  return BP_STATUS_OK;
}

const bp_memory_table_t memory_table = {
    .header = BP_HEADER(bp_memory_table_t),
    .buffer_allocate = buffer_allocate,
    .buffer_free = buffer_free,
    .buffer_write = buffer_write,
    .buffer_read = buffer_read,
};

/* ---- Executables ---- */

struct bp_executable_t {
  const instruction_t *instruction;
};

static void executable_unload(bp_device_t *device,
                              bp_executable_t *executable) {
  device->host->memory_free(device->host->self, executable);
}

/* The instruction of a blob, or NULL with the reason. */
static const instruction_t *read_blob(const bp_executable_info_t *info,
                                      const char **out_reason) {
  const bp_entry_t *entry = info->entry_count ? info->entries[0] : NULL;
  const blob_t expected = {BLOB_MAGIC, 0, 0};
  const instruction_t *instruction;
  blob_t blob;
  *out_reason = "it is damaged or of another version";
  if (!equal(info->format, FORMAT) || info->blob.size != sizeof(blob))
    return NULL;
  memcpy(&blob, info->blob.data, sizeof(blob));
  if (memcmp(blob.magic, expected.magic, sizeof(blob.magic)) != 0 ||
      blob.inverse != ~blob.instruction ||
      blob.instruction >= instruction_count)
    return NULL;
  instruction = &instructions[blob.instruction];
  *out_reason = "its entry does not fit the instruction";
  return info->entry_count == 1 &&
                 entry->binding_count == instruction->bindings &&
                 entry->parameter_count == instruction->parameters
             ? instruction
             : NULL;
}

static bp_status_t executable_load(bp_device_t *device,
                                   const bp_executable_info_t *info,
                                   bp_executable_t **out_executable,
                                   bp_error_t *error) {
  const bp_host_t *host = device->host;
  const char *reason;
  const instruction_t *instruction = read_blob(info, &reason);
  bp_executable_t *executable;
  if (!instruction)
    return fail(host, error, BP_STATUS_INVALID_ARGUMENT,
                PLUGIN_NAME " cannot load a blob of %llu bytes: %s; compile "
                            "the model again",
                (unsigned long long)info->blob.size, reason);
  executable = host->memory_allocate(host->self, sizeof(*executable), 8);
  if (!executable)
    return fail(host, error, BP_STATUS_RESOURCE_EXHAUSTED,
                PLUGIN_NAME " has no memory for an executable");
  executable->instruction = instruction;
  *out_executable = executable;
  return BP_STATUS_OK;
}

const bp_executable_table_t executable_table = {
    .header = BP_HEADER(bp_executable_table_t),
    .executable_load = executable_load,
    .executable_unload = executable_unload,
};

/* ---- Queues ---- */

static bp_status_t queue_create(bp_device_t *device, uint32_t queue_class,
                                bp_queue_t **out_queue, bp_error_t *error) {
  if (queue_class > BP_QUEUE_TRANSFER)
    return fail(device->host, error, BP_STATUS_UNIMPLEMENTED,
                PLUGIN_NAME " has no queue of class %u", queue_class);
  *out_queue = (bp_queue_t *)device;
  return BP_STATUS_OK;
}

static void queue_destroy(bp_device_t *device, bp_queue_t *queue) {
  (void)device, (void)queue;
}

static void *address(const bp_binding_t *binding) {
  return (char *)binding->buffer + binding->offset;
}

typedef struct work_t {
  bp_cpu_entry_t run;
  bp_cpu_call_t call;
} work_t;

static void run_group(void *context, uint64_t index, uint32_t worker) {
  const work_t *work = context;
  const uint32_t *grid = work->call.grid;
  (void)worker;
  work->run(&work->call, (uint32_t)(index % grid[0]),
            (uint32_t)(index / grid[0] % grid[1]),
            (uint32_t)(index / grid[0] / grid[1]));
}

/* Work-groups run on the threads of the host, in any order. */
static bp_status_t run_dispatch(const bp_host_t *host,
                                const bp_command_dispatch_t *dispatch,
                                char *message, size_t size) {
  const instruction_t *instruction = dispatch->executable->instruction;
  void *pointers[MAX_BINDINGS + 1] = {0};
  int64_t parameters[MAX_PARAMETERS];
  uint32_t error_word = 0;
  work_t work = {instruction->run, {.constants = dispatch->constants}};
  uint64_t i;
  for (i = 0; i < dispatch->binding_count; ++i)
    pointers[i] = address(&dispatch->bindings[i]);
  for (i = 0; i < instruction->parameters; ++i)
    parameters[i] = dispatch->parameters[i];
  pointers[dispatch->binding_count] = parameters;
  work.call.bindings = pointers;
  work.call.error = &error_word;
  memcpy(work.call.grid, dispatch->grid, sizeof(dispatch->grid));
  host->parallel_for(host->self,
                     (uint64_t)dispatch->grid[0] * dispatch->grid[1] *
                         dispatch->grid[2],
                     run_group, &work);
  if (!error_word)
    return BP_STATUS_OK;
  snprintf(message, size, "op %u: a kernel found bad data, error word 0x%08x",
           dispatch->op, error_word);
  return BP_STATUS_OUT_OF_RANGE;
}

static void run_fill(const bp_command_fill_t *fill) {
  uint8_t *data = address(&fill->target);
  uint64_t i;
  for (i = 0; i < fill->target.length; ++i)
    data[i] = (uint8_t)(fill->pattern >> (8 * (i % fill->pattern_size)));
}

static bp_status_t run(const bp_host_t *host, const bp_header_t *command,
                       char *message, size_t size) {
  const bp_command_copy_t *copy = (const void *)command;
  switch (command->type) {
  case bp_command_dispatch_t_TYPE:
    return run_dispatch(host, (const void *)command, message, size);
  case bp_command_copy_t_TYPE:
    memcpy(address(&copy->target), address(&copy->source), copy->target.length);
    return BP_STATUS_OK;
  case bp_command_fill_t_TYPE:
    run_fill((const void *)command);
    return BP_STATUS_OK;
  case bp_command_barrier_t_TYPE: /* commands never overlap here */
    return BP_STATUS_OK;
  default:
    snprintf(message, size, PLUGIN_NAME " has no command of type %u",
             command->type);
    return BP_STATUS_UNIMPLEMENTED;
  }
}

static bp_status_t queue_execute(bp_queue_t *queue,
                                 const bp_header_t *const *commands,
                                 uint64_t count,
                                 const bp_completion_t *completion,
                                 bp_error_t *error) {
  const bp_host_t *host = ((bp_device_t *)queue)->host;
  char message[256] = "";
  bp_status_t status = BP_STATUS_OK;
  uint64_t i;
  (void)error; /* every failure is one of work that runs */
  for (i = 0; i < count && status == BP_STATUS_OK; ++i)
    status = run(host, commands[i], message, sizeof(message));
  completion->done(completion->context, status, text(message));
  return BP_STATUS_OK;
}

const bp_queue_table_t queue_table = {
    .header = BP_HEADER(bp_queue_table_t),
    .queue_create = queue_create,
    .queue_destroy = queue_destroy,
    .queue_execute = queue_execute,
};
