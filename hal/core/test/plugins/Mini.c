/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mini.c: the least that a driver can be: the fourteen required functions in
 * C99, none of the optional tables. Its "executables" name built-in functions,
 * so that every fallback of the host can be tested without a compiler. With
 * MINI_LAUNCHES its devices have all that a launch can ask for; with
 * MINI_DISCRETE their kernels fail on memory of the host.
 */
#include <backplane/hal.h>
#include <backplane/kernel.h>

#include <stdlib.h>
#include <string.h>

struct bp_device_t {
  int lost;
};

struct bp_buffer_t {
  unsigned char *data;
  uint32_t space;
};

typedef void (*body_t)(const bp_command_dispatch_t *dispatch);

#define MAX_ENTRIES 8

/* What executable_load was told of an entry. */
struct told_t {
  uint64_t driver_bytes, driver_sum, subgroup_size;
};

struct bp_executable_t {
  body_t bodies[MAX_ENTRIES];
  struct told_t told[MAX_ENTRIES];
};

struct bp_queue_t {
  bp_device_t *device;
  bp_completion_t late; /* of what waits for the next work of the queue */
};

static const bp_host_t *host;
/* Why the device "broken" cannot be used. */
static char refusal[64] = "it has no power";

static bp_string_t text(const char *chars) {
  bp_string_t string;
  string.data = chars;
  string.size = strlen(chars);
  return string;
}

static bp_status_t fail(bp_error_t *error, bp_status_t status,
                        const char *message) {
  return host->error_set(host->self, error, status, text(message));
}

/* ---- Life cycle and devices ---- */

static bp_status_t initialize(const bp_host_t *given,
                              const bp_options_t *options, void **out_self,
                              bp_error_t *error) {
  uint64_t i;
  host = given;
  *out_self = NULL;
  for (i = 0; i < options->count; ++i) {
    bp_option_t option = options->items[i];
    if (option.key.size != 7 || memcmp(option.key.data, "refusal", 7) != 0 ||
        option.value.size >= sizeof(refusal))
      return fail(error, BP_STATUS_INVALID_ARGUMENT,
                  "the one option is refusal");
    memcpy(refusal, option.value.data, option.value.size);
    refusal[option.value.size] = 0;
  }
  return BP_STATUS_OK;
}

static void shutdown_plugin(void *self) { (void)self; }

static bp_status_t list_device(const bp_device_sink_t *sink, const char *id,
                               uint32_t flags, const char *refusal) {
  bp_string_t format = text("mini");
  bp_property_t properties[3] = {
      {.kind = BP_PROPERTY_I64, .i64 = 4},
      {.kind = BP_PROPERTY_I64, .i64 = 32768},
      {.kind = BP_PROPERTY_F64, .f64 = 1.5},
  };
  bp_device_info_t info = {BP_HEADER(bp_device_info_t)};
  properties[0].key = text("mini.tiles");
  properties[1].key = text("shared_bytes");
  properties[2].key = text("mini.clock");
  info.properties = properties;
  info.property_count = 3;
  info.id = text(id);
  info.name = text("test device");
  info.kind = BP_DEVICE_KIND_OTHER;
  info.flags = flags;
#ifdef MINI_DISCRETE
  info.flags |= BP_DEVICE_DISCRETE;
#endif
  info.formats = &format;
  info.format_count = 1;
  info.max_buffer_size = 1 << 20;
  info.max_binding_range = 1 << 16;
  info.binding_alignment = 16;
  info.max_bindings = 4;
  info.max_constants = 4;
  info.max_grid[0] = 1000;
#ifdef MINI_LAUNCHES
  info.max_parameters = 3;
  info.max_cluster = 8;
  info.max_shared_bytes = 1024;
  info.max_driver_data = 16;
  info.subgroup_sizes = 8 | 32;
#endif
  info.refusal = text(refusal);
  return sink->put(sink->context, &info);
}

static bp_status_t enumerate(void *self, const bp_options_t *options,
                             const bp_device_sink_t *sink, bp_error_t *error) {
  (void)self;
  (void)options;
  (void)error;
  list_device(sink, "broken", 0, refusal);
  list_device(sink, "plain", 0, "");
  return list_device(sink, "waiting", BP_DEVICE_SYNCHRONOUS, "");
}

static bp_status_t open_device(void *self, bp_string_t id,
                               const bp_options_t *options,
                               bp_device_t **out_device, bp_error_t *error) {
  (void)self;
  (void)id;
  if (options->count)
    return fail(error, BP_STATUS_INVALID_ARGUMENT, "no option is known");
  *out_device = calloc(1, sizeof(bp_device_t));
  return *out_device ? BP_STATUS_OK : BP_STATUS_RESOURCE_EXHAUSTED;
}

static void close_device(bp_device_t *device) { free(device); }

/* ---- Memory ---- */

static bp_status_t buffer_allocate(bp_device_t *device, uint32_t space,
                                   uint64_t size, uint64_t alignment,
                                   bp_buffer_t **out_buffer,
                                   bp_error_t *error) {
  (void)device;
  *out_buffer = calloc(1, sizeof(bp_buffer_t));
  if (!*out_buffer)
    return BP_STATUS_RESOURCE_EXHAUSTED;
  (*out_buffer)->space = space;
  (*out_buffer)->data = host->memory_allocate(host->self, size, alignment);
  if ((*out_buffer)->data)
    return BP_STATUS_OK;
  free(*out_buffer);
  return fail(error, BP_STATUS_RESOURCE_EXHAUSTED, "no memory");
}

static void buffer_free(bp_device_t *device, bp_buffer_t *buffer) {
  (void)device;
  host->memory_free(host->self, buffer->data);
  free(buffer);
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

/* ---- Executables ---- */

static unsigned char *start(const bp_binding_t *binding) {
  return binding->buffer->data + binding->offset;
}

/* binding 1 = binding 0 + constant 0, in elements of 32 bits */
static void add(const bp_command_dispatch_t *dispatch) {
  uint64_t count = dispatch->bindings[0].length / 4, i;
  for (i = 0; i < count; ++i) {
    uint32_t value;
    memcpy(&value, start(&dispatch->bindings[0]) + 4 * i, 4);
    value += dispatch->constants[0];
    memcpy(start(&dispatch->bindings[1]) + 4 * i, &value, 4);
  }
}

/* binding 0 = what the entry and the dispatch say */
static void echo(const bp_command_dispatch_t *dispatch) {
  const struct told_t *told = &dispatch->executable->told[dispatch->entry];
  int64_t *out = (int64_t *)(void *)start(&dispatch->bindings[0]);
  uint32_t i;
  *out++ = (int64_t)told->driver_bytes;
  *out++ = (int64_t)told->driver_sum;
  *out++ = (int64_t)told->subgroup_size;
  *out++ = (int64_t)dispatch->shared_bytes;
  for (i = 0; i < 3; ++i)
    *out++ = dispatch->cluster[i];
  for (i = 0; i < dispatch->parameter_count; ++i)
    *out++ = dispatch->parameters[i];
}

static void tell(const bp_entry_t *entry, struct told_t *told) {
  const unsigned char *data = entry->driver_data.data;
  uint64_t i;
  told->driver_bytes = entry->driver_data.size;
  for (i = 0; i < entry->driver_data.size; ++i)
    told->driver_sum += data[i];
  told->subgroup_size = entry->subgroup_size;
}

/* from then on the device is gone */
static void lose(const bp_command_dispatch_t *dispatch) { (void)dispatch; }

static bp_status_t executable_load(bp_device_t *device,
                                   const bp_executable_info_t *info,
                                   bp_executable_t **out_executable,
                                   bp_error_t *error) {
  uint64_t i;
  (void)device;
  if (info->entry_count > MAX_ENTRIES)
    return fail(error, BP_STATUS_INVALID_ARGUMENT, "too many entries");
  *out_executable = calloc(1, sizeof(bp_executable_t));
  if (!*out_executable)
    return BP_STATUS_RESOURCE_EXHAUSTED;
  for (i = 0; i < info->entry_count; ++i) {
    bp_string_t name = info->entries[i]->name;
    tell(info->entries[i], &(*out_executable)->told[i]);
    if (name.size == 3 && memcmp(name.data, "add", 3) == 0)
      (*out_executable)->bodies[i] = add;
    else if (name.size == 4 && memcmp(name.data, "lose", 4) == 0)
      (*out_executable)->bodies[i] = lose;
    else if (name.size == 4 && memcmp(name.data, "echo", 4) == 0)
      (*out_executable)->bodies[i] = echo;
    else if (!(name.size == 4 && memcmp(name.data, "fail", 4) == 0)) {
      free(*out_executable);
      return fail(error, BP_STATUS_INVALID_ARGUMENT, "no such function");
    }
  }
  return BP_STATUS_OK;
}

static void executable_unload(bp_device_t *device,
                              bp_executable_t *executable) {
  (void)device;
  free(executable);
}

/* ---- Queues ---- */

static bp_status_t queue_create(bp_device_t *device, uint32_t queue_class,
                                bp_queue_t **out_queue, bp_error_t *error) {
  (void)queue_class;
  (void)error;
  *out_queue = calloc(1, sizeof(bp_queue_t));
  if (!*out_queue)
    return BP_STATUS_RESOURCE_EXHAUSTED;
  (*out_queue)->device = device;
  return BP_STATUS_OK;
}

static void queue_destroy(bp_device_t *device, bp_queue_t *queue) {
  (void)device;
  free(queue);
}

static void copy(const bp_command_copy_t *command) {
  memcpy(start(&command->target), start(&command->source),
         command->source.length);
}

static void fill(const bp_command_fill_t *command) {
  uint64_t i;
  for (i = 0; i < command->target.length; ++i)
    start(&command->target)[i] =
        (unsigned char)(command->pattern >> (i % command->pattern_size * 8));
}

static int is_far(const bp_command_dispatch_t *dispatch) {
#ifdef MINI_DISCRETE
  uint64_t i;
  for (i = 0; i < dispatch->binding_count; ++i)
    if (dispatch->bindings[i].buffer->space != BP_SPACE_DEVICE)
      return 1;
#endif
  (void)dispatch;
  return 0;
}

/* Whether the work is to complete with the next one of its queue. */
static int is_late(const bp_header_t *const *commands, uint64_t count) {
#ifdef MINI_LATE
  return count && commands[0]->type == bp_command_fill_t_TYPE;
#endif
  (void)commands;
  (void)count;
  return 0;
}

static bp_status_t queue_execute(bp_queue_t *queue,
                                 const bp_header_t *const *commands,
                                 uint64_t count,
                                 const bp_completion_t *completion,
                                 bp_error_t *error) {
  uint64_t i;
  if (queue->device->lost)
    return fail(error, BP_STATUS_UNAVAILABLE, "the device is gone");
  for (i = 0; i < count; ++i) {
    const bp_command_dispatch_t *dispatch =
        (const bp_command_dispatch_t *)(const void *)commands[i];
    if (commands[i]->type == bp_command_copy_t_TYPE)
      copy((const bp_command_copy_t *)(const void *)commands[i]);
    else if (commands[i]->type == bp_command_fill_t_TYPE)
      fill((const bp_command_fill_t *)(const void *)commands[i]);
    else if (commands[i]->type == bp_command_dispatch_t_TYPE) {
      if (!dispatch->executable->bodies[dispatch->entry]) {
        completion->done(completion->context, BP_STATUS_OUT_OF_RANGE,
                         text("op 7: it always fails"));
        return BP_STATUS_OK;
      }
      if (is_far(dispatch)) {
        completion->done(completion->context, BP_STATUS_INTERNAL,
                         text("a kernel was given memory of the host"));
        return BP_STATUS_OK;
      }
      dispatch->executable->bodies[dispatch->entry](dispatch);
      if (dispatch->executable->bodies[dispatch->entry] == lose) {
        queue->device->lost = 1;
        completion->done(completion->context, BP_STATUS_UNAVAILABLE,
                         text("somebody pulled the plug"));
        return BP_STATUS_OK;
      }
    }
  }
  if (queue->late.done)
    queue->late.done(queue->late.context, BP_STATUS_OK, text(""));
  memset(&queue->late, 0, sizeof(queue->late));
  if (is_late(commands, count))
    queue->late = *completion;
  else
    completion->done(completion->context, BP_STATUS_OK, text(""));
  return BP_STATUS_OK;
}

static const bp_plugin_table_t plugin_table = {
    BP_HEADER(bp_plugin_table_t), initialize, shutdown_plugin, NULL};
static const bp_driver_table_t driver_table = {
    BP_HEADER(bp_driver_table_t), enumerate, open_device, close_device};
static const bp_memory_table_t memory_table = {BP_HEADER(bp_memory_table_t),
                                               buffer_allocate, buffer_free,
                                               buffer_write, buffer_read};
static const bp_executable_table_t executable_table = {
    BP_HEADER(bp_executable_table_t), executable_load, executable_unload};
static const bp_queue_table_t queue_table = {
    BP_HEADER(bp_queue_table_t), queue_create, queue_destroy, queue_execute};

BP_PLUGIN_EXPORT int32_t bp_plugin_query_v0(const bp_host_info_t *info,
                                            bp_plugin_info_t *out);
BP_PLUGIN_EXPORT int32_t bp_plugin_query_v0(const bp_host_info_t *info,
                                            bp_plugin_info_t *out) {
  (void)info;
  out->name = text("mini");
  out->vendor = text("test");
  out->version = text("1.0.0");
  out->required_minor = 1;
  out->built_minor = BP_ABI_MINOR;
  out->plugin = &plugin_table;
  out->driver = &driver_table;
  out->memory = &memory_table;
  out->executable = &executable_table;
  out->queue = &queue_table;
  return BP_STATUS_OK;
}
