/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin.c: how the host finds the plug-in, and the text helpers that all files
 * use. One library is driver, compiler and set of kernels; a large compiler
 * belongs into a library of its own, which the manifest names.
 */
#include "acme.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bp_string_t text(const char *terminated) {
  const bp_string_t string = {terminated, strlen(terminated)};
  return string;
}

int equal(bp_string_t a, const char *b) {
  const uint64_t size = strlen(b);
  return a.size == size && memcmp(a.data, b, size) == 0;
}

bp_status_t fail(const bp_host_t *host, bp_error_t *error, bp_status_t status,
                 const char *format, ...) {
  char message[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof(message), format, arguments);
  va_end(arguments);
  return host->error_set(host->self, error, status, text(message));
}

bp_status_t no_options(const bp_host_t *host, const bp_options_t *options,
                       bp_error_t *error) {
  if (!options || options->count == 0)
    return BP_STATUS_OK;
  return fail(host, error, BP_STATUS_INVALID_ARGUMENT,
              PLUGIN_NAME " has no options, found '%.*s'; leave it out",
              (int)options->items[0].key.size, options->items[0].key.data);
}

/* Open your runtime here. Absent hardware is no error: list no device. */
static bp_status_t initialize(const bp_host_t *host,
                              const bp_options_t *options, void **out_self,
                              bp_error_t *error) {
  bp_device_t *device;
  const bp_status_t status = no_options(host, options, error);
  if (status)
    return status;
  device = host->memory_allocate(host->self, sizeof(*device), 8);
  if (!device)
    return fail(host, error, BP_STATUS_RESOURCE_EXHAUSTED,
                "no memory for the plug-in " PLUGIN_NAME);
  device->host = host;
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
  info.name = text(PLUGIN_NAME);
  info.vendor = text(PLUGIN_VENDOR);
  info.version = text(PLUGIN_VERSION);
  info.required_minor = PLUGIN_REQUIRED_MINOR;
  info.built_minor = BP_ABI_MINOR;
  info.flags = BP_PLUGIN_UNLOADABLE;
  info.plugin = &plugin_table;
  info.driver = &driver_table;
  info.memory = &memory_table;
  info.executable = &executable_table;
  info.queue = &queue_table;
  info.compiler = &compiler_table;
  info.kernels = &kernels_table;
  if (info.header.size > out->header.size)
    info.header.size = out->header.size;
  memcpy(out, &info, info.header.size);
  return BP_STATUS_OK;
}
