/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver.c: the plug-in, and the device as the host sees it. Work is handed to
 * the command processor of the device, modelled by a thread, and completes when
 * that has done it: queue_execute never waits. Faults come on demand,
 * npu://sim?fault=F:
 *
 *   memory    no buffer is allocated
 *   load      no program is taken
 *   dispatch  a program ends with a parity error
 *   lost      the device is gone at its first work
 *   hang      the command processor stops at a program
 */
#include "npu.h"

#include <backplane/thread_queue.h>
#include <stdio.h>
#include <unistd.h>

static const bp_host_t *host; /* there is one in a process */

bp_status_t npu_fail(bp_error_t *error, bp_status_t status, const char *text) {
  return host->error_set(host->self, error, status, bp_text(text));
}

/* ---- Devices ---- */

/* The device is known by what is wrong with it. */
struct bp_device_t {
  const char *fault;
};

static bp_device_t devices[] = {{""},         {"memory"}, {"load"},
                                {"dispatch"}, {"lost"},   {"hang"}};

static int is(const bp_device_t *device, const char *fault) {
  return strcmp(device->fault, fault) == 0;
}

/* NULL: the options are not ours. */
static bp_device_t *find_device(const bp_options_t *options) {
  const uint64_t count = options ? options->count : 0;
  const bp_string_t fault = count ? options->items[0].value : bp_text("");
  size_t i;
  for (i = 0; i < sizeof(devices) / sizeof(devices[0]); ++i)
    if (bp_text_is(fault, devices[i].fault) && count == (i > 0) &&
        (!count || bp_text_is(options->items[0].key, "fault")))
      return &devices[i];
  return NULL;
}

static bp_status_t refuse_options(bp_error_t *error) {
  return npu_fail(error, BP_STATUS_INVALID_ARGUMENT,
                  "npu has one option, fault=memory, load, dispatch, lost or "
                  "hang");
}

static bp_status_t enumerate(void *self, const bp_options_t *options,
                             const bp_device_sink_t *sink, bp_error_t *error) {
  const bp_string_t format = bp_text("npu");
  bp_device_info_t info = {.header = BP_HEADER(bp_device_info_t)};
  (void)self;
  if (!find_device(options))
    return refuse_options(error);
  info.id = bp_text("sim");
  info.name = bp_text("example NPU, in software");
  info.kind = BP_DEVICE_KIND_NPU;
  info.flags = BP_DEVICE_EMULATED;
  info.formats = &format;
  info.format_count = 1;
  info.binding_alignment = sizeof(float);
  info.max_bindings = NPU_VALUES;
  info.max_grid[0] = info.max_grid[1] = info.max_grid[2] = 1;
  info.max_parameters = BP_MAX_PARAMETERS;
  info.worker_count = 1;
  return sink->put(sink->context, &info);
}

static bp_status_t open_device(void *self, bp_string_t id,
                               const bp_options_t *options,
                               bp_device_t **out_device, bp_error_t *error) {
  (void)self;
  if (!bp_text_is(id, "sim"))
    return npu_fail(error, BP_STATUS_NOT_FOUND, "npu has one device, 'sim'");
  *out_device = find_device(options);
  return *out_device ? BP_STATUS_OK : refuse_options(error);
}

static void close_device(bp_device_t *device) { (void)device; }

static const bp_driver_table_t npu_driver_table = {
    .header = BP_HEADER(bp_driver_table_t),
    .enumerate = enumerate,
    .open = open_device,
    .close = close_device,
};

/* ---- Memory: a buffer is its memory ---- */

static bp_status_t buffer_allocate(bp_device_t *device, uint32_t space,
                                   uint64_t size, uint64_t alignment,
                                   bp_buffer_t **out_buffer,
                                   bp_error_t *error) {
  (void)space;
  *out_buffer = NULL;
  if (!is(device, "memory"))
    *out_buffer = host->memory_allocate(host->self, size, alignment);
  return *out_buffer ? BP_STATUS_OK
                     : npu_fail(error, BP_STATUS_RESOURCE_EXHAUSTED,
                                "npu has no memory left");
}

static void buffer_free(bp_device_t *device, bp_buffer_t *buffer) {
  (void)device;
  host->memory_free(host->self, buffer);
}

static const bp_memory_table_t npu_memory_table = {
    .header = BP_HEADER(bp_memory_table_t),
    .buffer_allocate = buffer_allocate,
    .buffer_free = buffer_free,
    .buffer_write = bp_plain_write,
    .buffer_read = bp_plain_read,
};

/* ---- Programs ---- */

static bp_status_t executable_load(bp_device_t *device,
                                   const bp_executable_info_t *info,
                                   bp_executable_t **out_executable,
                                   bp_error_t *error) {
  const bp_entry_t *entry = info->entry_count == 1 ? info->entries[0] : NULL;
  bp_executable_t *program = malloc(sizeof(*program) + info->blob.size);
  const char *problem = "there is no memory for it";
  char message[256];
  if (program) {
    memcpy(program + 1, info->blob.data, info->blob.size);
    problem = is(device, "load")
                  ? "the program memory does not answer"
                  : npu_read(program + 1, info->blob.size, program);
  }
  if (!problem &&
      (!entry || entry->parameter_count != program->header.parameters ||
       entry->binding_count != program->header.bindings))
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

/* ---- Queues: the command processor ---- */

static bp_status_t run(void *context, const bp_header_t *command,
                       bp_string_t *out_message) {
  const bp_command_dispatch_t *dispatch = (const void *)command;
  const bp_device_t *device = context;
  const char *problem;
  if (is(device, "lost")) {
    *out_message = bp_text("npu: the device does not answer any more");
    return BP_STATUS_UNAVAILABLE;
  }
  if (bp_plain_run(command))
    return BP_STATUS_OK;
  if (command->type != bp_command_dispatch_t_TYPE) {
    *out_message = bp_text("npu: a newer host has sent an unknown command");
    return BP_STATUS_UNIMPLEMENTED;
  }
  while (is(device, "hang"))
    pause();
  problem = is(device, "dispatch")
                ? "npu: a parity error in the memory of the device"
                : npu_run(dispatch->executable, dispatch->bindings,
                          dispatch->parameters);
  if (!problem)
    return BP_STATUS_OK;
  *out_message = bp_text(problem);
  return BP_STATUS_DATA_LOSS;
}

static bp_status_t queue_create(bp_device_t *device, uint32_t queue_class,
                                bp_queue_t **out_queue, bp_error_t *error) {
  if (queue_class > BP_QUEUE_TRANSFER)
    return npu_fail(error, BP_STATUS_UNIMPLEMENTED,
                    "npu has no queue of this class");
  *out_queue = bp_thread_queue_create(host, run, device);
  return *out_queue ? BP_STATUS_OK
                    : npu_fail(error, BP_STATUS_RESOURCE_EXHAUSTED,
                               "npu cannot start its command processor");
}

static const bp_queue_table_t npu_queue_table = {
    .header = BP_HEADER(bp_queue_table_t),
    .queue_create = queue_create,
    .queue_destroy = bp_thread_queue_destroy,
    .queue_execute = bp_thread_queue_execute,
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
                                            bp_plugin_info_t *out) {
  bp_plugin_info_t info = {.header = BP_HEADER(bp_plugin_info_t)};
  (void)host_info;
  info.name = bp_text("npu");
  info.vendor = bp_text("Backplane examples");
  info.version = bp_text("0.1.0");
  info.required_minor = 3; /* partitions */
  info.built_minor = BP_ABI_MINOR;
  info.flags = BP_PLUGIN_UNLOADABLE;
  info.plugin = &plugin_table;
  info.driver = &npu_driver_table;
  info.memory = &npu_memory_table;
  info.executable = &npu_executable_table;
  info.queue = &npu_queue_table;
  info.compiler = &npu_compiler_table;
  return bp_plugin_info_give(&info, out);
}
