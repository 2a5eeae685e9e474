/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin.c: how the host finds the backend, and how all files fail. This
 * library is a driver and a compiler at once; a vendor with a large compiler
 * makes two libraries, each with its own query function.
 */
#include "ref.h"

#include <stdarg.h>
#include <stdio.h>

bp_status_t ref_error(const bp_host_t *host, bp_error_t *error,
                      bp_status_t status, const char *format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  return host->error_set(host->self, error, status, bp_text(text));
}

bp_status_t ref_no_options(const bp_host_t *host, const bp_options_t *options,
                           bp_error_t *error) {
  if (!options || options->count == 0)
    return BP_STATUS_OK;
  return ref_error(host, error, BP_STATUS_INVALID_ARGUMENT,
                   "ref has no options, found '%.*s'; leave it out",
                   (int)options->items[0].key.size, options->items[0].key.data);
}

static bp_status_t initialize(const bp_host_t *host,
                              const bp_options_t *options, void **out_self,
                              bp_error_t *error) {
  const bp_graph_table_t *table;
  bp_device_t *device;
  bp_status_t status = ref_no_options(host, options, error);
  if (status)
    return status;
  table = host->get_extension(host->self, bp_text("backplane.graph"), 0);
  if (!table || !BP_HAS(table, bp_graph_table_t, builder_finish))
    return ref_error(host, error, BP_STATUS_FAILED_PRECONDITION,
                     "ref needs the host table backplane.graph version 0 of "
                     "minor version %u; use a newer host",
                     REF_REQUIRED_MINOR);
  device = host->memory_allocate(host->self, sizeof(*device), 8);
  if (!device)
    return ref_error(host, error, BP_STATUS_RESOURCE_EXHAUSTED,
                     "no memory for the plug-in ref");
  device->host = host;
  device->table = table;
  *out_self = device;
  return BP_STATUS_OK;
}

static void shut_down(void *self) {
  const bp_host_t *host = ((bp_device_t *)self)->host;
  host->memory_free(host->self, self);
}

static const bp_plugin_table_t plugin_table = {
    .header = BP_HEADER(bp_plugin_table_t),
    .initialize = initialize,
    .shutdown = shut_down,
};

BP_PLUGIN_EXPORT int32_t bp_plugin_query_v0(const bp_host_info_t *host,
                                            bp_plugin_info_t *out);

int32_t bp_plugin_query_v0(const bp_host_info_t *host, bp_plugin_info_t *out) {
  bp_plugin_info_t info = {.header = BP_HEADER(bp_plugin_info_t)};
  (void)host; /* the host compares required_minor with its own version */
  info.name = bp_text("ref");
  info.vendor = bp_text("Backplane");
  info.version = bp_text("0.1.0");
  info.required_minor = REF_REQUIRED_MINOR;
  info.built_minor = BP_ABI_MINOR;
  info.flags = BP_PLUGIN_UNLOADABLE;
  info.plugin = &plugin_table;
  info.driver = &ref_driver_table;
  info.memory = &ref_memory_table;
  info.executable = &ref_executable_table;
  info.queue = &ref_queue_table;
  info.compiler = &ref_compiler_table;
  return bp_plugin_info_give(&info, out);
}
