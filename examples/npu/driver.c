/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver.c: the plug-in, and the device as the host sees it. Work is handed to
 * the command processor of the device, modelled by a thread, and completes when
 * that has done it: queue_execute never waits. Faults come on demand,
 * npu://0?fault=F:
 *
 *   memory    no buffer is allocated
 *   load      no program is taken
 *   dispatch  a program ends with a parity error
 *   lost      the device is gone at its first work
 *   hang      the command processor stops at a program
 */
#include "npu.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bp_string_t npu_text(const char *terminated) {
  const bp_string_t string = {terminated, strlen(terminated)};
  return string;
}

int npu_equal(bp_string_t a, const char *b) {
  return a.size == strlen(b) && memcmp(a.data, b, a.size) == 0;
}

static const bp_host_t *host; /* there is one in a process */

bp_status_t npu_fail(bp_error_t *error, bp_status_t status, const char *text) {
  return host->error_set(host->self, error, status, npu_text(text));
}

/* ---- The command processor ---- */

typedef struct command_t {
  uint32_t type;
  uint32_t pattern, pattern_size; /* of a fill */
  const bp_executable_t *program; /* of a dispatch */
  npu_memory_t *memory;           /* target, source; or of a program */
  int64_t parameters[BP_MAX_PARAMETERS];
} command_t;

/* What one call of queue_execute asks for. */
typedef struct batch_t {
  struct batch_t *next;
  bp_completion_t completion;
  uint64_t count;
  command_t commands[];
} batch_t;

struct bp_device_t {
  const char *fault;
  pthread_t processor;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  batch_t *first, **last;
  int stops, is_lost;
};

static int is(const bp_device_t *device, const char *fault) {
  return strcmp(device->fault, fault) == 0;
}

static void free_batch(batch_t *batch) {
  uint64_t i;
  for (i = 0; i < batch->count; ++i)
    free(batch->commands[i].memory);
  free(batch);
}

static const char *run(bp_device_t *device, const command_t *command) {
  const npu_memory_t *memory = command->memory;
  uint64_t i;
  switch (command->type) {
  case bp_command_copy_t_TYPE:
    memcpy(memory[0].data, memory[1].data, memory[0].size);
    return NULL;
  case bp_command_fill_t_TYPE:
    for (i = 0; i < memory[0].size; ++i)
      memory[0].data[i] =
          (char)(command->pattern >> (8 * (i % command->pattern_size)));
    return NULL;
  case bp_command_barrier_t_TYPE: /* commands never overlap here */
    return NULL;
  default:
    break;
  }
  if (is(device, "dispatch"))
    return "npu: a parity error in the memory of the device";
  while (is(device, "hang"))
    pause();
  return npu_run(command->program, memory, command->parameters);
}

static void run_batch(bp_device_t *device, const batch_t *batch) {
  const char *problem = NULL;
  bp_status_t status = BP_STATUS_DATA_LOSS;
  uint64_t i;
  for (i = 0; i < batch->count && !problem; ++i) {
    device->is_lost |= is(device, "lost");
    problem = device->is_lost ? "npu: the device does not answer any more"
                              : run(device, &batch->commands[i]);
    if (device->is_lost)
      status = BP_STATUS_UNAVAILABLE;
  }
  batch->completion.done(batch->completion.context,
                         problem ? status : BP_STATUS_OK,
                         npu_text(problem ? problem : ""));
}

static void *processor(void *context) {
  bp_device_t *device = context;
  pthread_mutex_lock(&device->mutex);
  while (!device->stops || device->first) {
    batch_t *batch = device->first;
    if (!batch) {
      pthread_cond_wait(&device->changed, &device->mutex);
      continue;
    }
    device->first = batch->next;
    if (!device->first)
      device->last = &device->first;
    pthread_mutex_unlock(&device->mutex);
    run_batch(device, batch);
    free_batch(batch);
    pthread_mutex_lock(&device->mutex);
  }
  pthread_mutex_unlock(&device->mutex);
  return NULL;
}

/* ---- Devices ---- */

static bp_status_t enumerate(void *self, const bp_options_t *options,
                             const bp_device_sink_t *sink, bp_error_t *error) {
  const bp_string_t format = npu_text("npu");
  bp_device_info_t info = {.header = BP_HEADER(bp_device_info_t)};
  (void)self, (void)options, (void)error;
  info.id = npu_text("0");
  info.name = npu_text("example NPU, in software");
  info.kind = BP_DEVICE_KIND_NPU;
  info.flags = BP_DEVICE_EMULATED;
  info.formats = &format;
  info.format_count = 1;
  info.binding_alignment = NPU_ALIGNMENT;
  info.max_bindings = NPU_VALUES;
  info.max_grid[0] = info.max_grid[1] = info.max_grid[2] = 1;
  info.max_parameters = BP_MAX_PARAMETERS;
  info.worker_count = 1;
  return sink->put(sink->context, &info);
}

static bp_status_t open_device(void *self, bp_string_t id,
                               const bp_options_t *options,
                               bp_device_t **out_device, bp_error_t *error) {
  static const char *const faults[] = {"",         "memory", "load",
                                       "dispatch", "lost",   "hang"};
  const uint64_t count = options ? options->count : 0;
  bp_device_t *device;
  size_t fault = 0;
  (void)self;
  if (!npu_equal(id, "0"))
    return npu_fail(error, BP_STATUS_NOT_FOUND, "npu has one device, '0'");
  for (; count == 1 && fault < 6; ++fault)
    if (npu_equal(options->items[0].key, "fault") &&
        npu_equal(options->items[0].value, faults[fault]))
      break;
  if (count > 1 || fault == 6)
    return npu_fail(error, BP_STATUS_INVALID_ARGUMENT,
                    "npu has one option, fault=memory, load, dispatch, lost or "
                    "hang");
  device = calloc(1, sizeof(*device));
  if (!device)
    return npu_fail(error, BP_STATUS_RESOURCE_EXHAUSTED, "no memory for npu");
  device->fault = faults[fault];
  device->last = &device->first;
  pthread_mutex_init(&device->mutex, NULL);
  pthread_cond_init(&device->changed, NULL);
  if (pthread_create(&device->processor, NULL, processor, device) != 0) {
    free(device);
    return npu_fail(error, BP_STATUS_RESOURCE_EXHAUSTED,
                    "npu cannot start its command processor");
  }
  *out_device = device;
  return BP_STATUS_OK;
}

static void close_device(bp_device_t *device) {
  pthread_mutex_lock(&device->mutex);
  device->stops = 1;
  pthread_cond_signal(&device->changed);
  pthread_mutex_unlock(&device->mutex);
  pthread_join(device->processor, NULL);
  free(device);
}

static const bp_driver_table_t npu_driver_table = {
    .header = BP_HEADER(bp_driver_table_t),
    .enumerate = enumerate,
    .open = open_device,
    .close = close_device,
};

/* ---- Memory ---- */

/* A buffer is its memory. */
static bp_status_t buffer_allocate(bp_device_t *device, uint32_t space,
                                   uint64_t size, uint64_t alignment,
                                   bp_buffer_t **out_buffer,
                                   bp_error_t *error) {
  void *memory = NULL;
  (void)space;
  if (!is(device, "memory"))
    memory = host->memory_allocate(host->self, size,
                                   alignment < NPU_ALIGNMENT ? NPU_ALIGNMENT
                                                             : alignment);
  *out_buffer = memory;
  return memory ? BP_STATUS_OK
                : npu_fail(error, BP_STATUS_RESOURCE_EXHAUSTED,
                           "npu has no memory left");
}

static void buffer_free(bp_device_t *device, bp_buffer_t *buffer) {
  (void)device;
  host->memory_free(host->self, buffer);
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

static const bp_memory_table_t npu_memory_table = {
    .header = BP_HEADER(bp_memory_table_t),
    .buffer_allocate = buffer_allocate,
    .buffer_free = buffer_free,
    .buffer_write = buffer_write,
    .buffer_read = buffer_read,
};

/* ---- Programs ---- */

static bp_status_t executable_load(bp_device_t *device,
                                   const bp_executable_info_t *info,
                                   bp_executable_t **out_executable,
                                   bp_error_t *error) {
  const bp_entry_t *entry = info->entry_count == 1 ? info->entries[0] : NULL;
  char *blob = malloc(sizeof(bp_executable_t) + info->blob.size);
  bp_executable_t *program = (void *)blob;
  const char *problem = "there is no memory for it";
  char message[256];
  if (program) { /* the program follows the struct */
    blob += sizeof(*program);
    memcpy(blob, info->blob.data, info->blob.size);
    problem = is(device, "load") ? "the program memory does not answer"
                                 : npu_read(blob, info->blob.size, program);
  }
  if (!problem &&
      (!entry || entry->parameter_count != program->header.parameters ||
       entry->binding_count !=
           program->header.bindings + (program->header.slots > 0)))
    problem = "its entry is that of another program";
  if (!problem) {
    *out_executable = program;
    return BP_STATUS_OK;
  }
  free(program);
  snprintf(message, sizeof(message), "npu cannot load a program: %s", problem);
  return npu_fail(error, BP_STATUS_INVALID_ARGUMENT, message);
}

static void executable_unload(bp_device_t *device,
                              bp_executable_t *executable) {
  (void)device;
  free(executable);
}

static const bp_executable_table_t npu_executable_table = {
    .header = BP_HEADER(bp_executable_table_t),
    .executable_load = executable_load,
    .executable_unload = executable_unload,
};

/* ---- Queues ---- */

static bp_status_t queue_create(bp_device_t *device, uint32_t queue_class,
                                bp_queue_t **out_queue, bp_error_t *error) {
  (void)queue_class, (void)error;
  *out_queue = (bp_queue_t *)device; /* all feed the one processor */
  return BP_STATUS_OK;
}

static void queue_destroy(bp_device_t *device, bp_queue_t *queue) {
  (void)device, (void)queue;
}

/* Commands are the host's during the call only: this keeps a copy. */
static int copy_command(const bp_header_t *from, command_t *to) {
  const bp_command_dispatch_t *dispatch = (const void *)from;
  const bp_command_copy_t *copy = (const void *)from;
  const bp_command_fill_t *fill = (const void *)from;
  const bp_binding_t *bindings[2] = {&copy->target, &copy->source};
  uint64_t i, count = from->type == bp_command_copy_t_TYPE ? 2 : 1;
  to->type = from->type;
  if (from->type == bp_command_barrier_t_TYPE)
    return 1;
  if (from->type == bp_command_fill_t_TYPE) {
    to->pattern = fill->pattern;
    to->pattern_size = fill->pattern_size;
    bindings[0] = &fill->target;
  } else if (from->type == bp_command_dispatch_t_TYPE) {
    to->program = dispatch->executable;
    memcpy(to->parameters, dispatch->parameters,
           dispatch->parameter_count * sizeof(int64_t));
    count = dispatch->binding_count;
  }
  to->memory = calloc(count, sizeof(*to->memory));
  for (i = 0; to->memory && i < count; ++i) {
    const bp_binding_t *one = from->type == bp_command_dispatch_t_TYPE
                                  ? &dispatch->bindings[i]
                                  : bindings[i];
    to->memory[i].data = (char *)one->buffer + one->offset;
    to->memory[i].size = one->length;
  }
  return to->memory != NULL;
}

static bp_status_t queue_execute(bp_queue_t *queue,
                                 const bp_header_t *const *commands,
                                 uint64_t count,
                                 const bp_completion_t *completion,
                                 bp_error_t *error) {
  bp_device_t *device = (bp_device_t *)queue;
  batch_t *batch = calloc(1, sizeof(*batch) + count * sizeof(command_t));
  int is_copied = batch != NULL;
  if (batch) {
    batch->completion = *completion;
    while (is_copied && batch->count < count) {
      is_copied =
          copy_command(commands[batch->count], &batch->commands[batch->count]);
      ++batch->count;
    }
  }
  if (!is_copied) {
    if (batch)
      free_batch(batch);
    return npu_fail(error, BP_STATUS_RESOURCE_EXHAUSTED,
                    "npu has no memory for its command queue");
  }
  pthread_mutex_lock(&device->mutex);
  *device->last = batch;
  device->last = &batch->next;
  pthread_cond_signal(&device->changed);
  pthread_mutex_unlock(&device->mutex);
  return BP_STATUS_OK;
}

static const bp_queue_table_t npu_queue_table = {
    .header = BP_HEADER(bp_queue_table_t),
    .queue_create = queue_create,
    .queue_destroy = queue_destroy,
    .queue_execute = queue_execute,
};

/* ---- The plug-in ---- */

static bp_status_t initialize(const bp_host_t *its_host,
                              const bp_options_t *options, void **out_self,
                              bp_error_t *error) {
  host = its_host;
  *out_self = NULL;
  return options && options->count
             ? npu_fail(error, BP_STATUS_INVALID_ARGUMENT,
                        "the plug-in npu has no options, its device does")
             : BP_STATUS_OK;
}

static void shut_down(void *self) { (void)self; }

static const bp_plugin_table_t plugin_table = {
    .header = BP_HEADER(bp_plugin_table_t),
    .initialize = initialize,
    .shutdown = shut_down,
};

BP_PLUGIN_EXPORT int32_t bp_plugin_query_v0(const bp_host_info_t *host_info,
                                            bp_plugin_info_t *out);

int32_t bp_plugin_query_v0(const bp_host_info_t *host_info,
                           bp_plugin_info_t *out) {
  bp_plugin_info_t info = {.header = BP_HEADER(bp_plugin_info_t)};
  (void)host_info;
  info.name = npu_text("npu");
  info.vendor = npu_text("Backplane examples");
  info.version = npu_text("0.1.0");
  info.required_minor = 3; /* partitions */
  info.built_minor = BP_ABI_MINOR;
  info.flags = BP_PLUGIN_UNLOADABLE;
  info.plugin = &plugin_table;
  info.driver = &npu_driver_table;
  info.memory = &npu_memory_table;
  info.executable = &npu_executable_table;
  info.queue = &npu_queue_table;
  info.compiler = &npu_compiler_table;
  if (info.header.size > out->header.size)
    info.header.size = out->header.size;
  memcpy(out, &info, info.header.size);
  return BP_STATUS_OK;
}
