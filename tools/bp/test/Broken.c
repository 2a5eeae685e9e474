/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Broken.c: a plug-in "acme" with a driver and a compiler that do nothing, for
 * run_broken.py, which breaks it by macros of statements: AT_LOADING, AT_QUERY,
 * AT_INITIALIZE, AT_ENUMERATE, AT_OPEN and AT_TARGETS run at the start of a
 * function, IN_INFO, IN_DEVICE and IN_TARGET change what it is about to give.
 */
#include <backplane/compiler.h>
#include <backplane/hal.h>
#include <backplane/plugin.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CRASH (void)(*(volatile int *)8 = 1);
#define EXIT exit(0);
#define HANG                                                                   \
  for (;;)                                                                     \
    pause();

static bp_string_t text(const char *chars) {
  bp_string_t string = {chars, strlen(chars)};
  return string;
}

__attribute__((constructor)) static void loading(void) {
#ifdef AT_LOADING
  AT_LOADING
#endif
}

static bp_status_t initialize(const bp_host_t *host,
                              const bp_options_t *options, void **self,
                              bp_error_t *error) {
#ifdef AT_INITIALIZE
  AT_INITIALIZE
#endif
      (void)
  host, (void)options, (void)error;
  *self = NULL;
  return BP_STATUS_OK;
}

static void shut_down(void *self) { (void)self; }

static bp_status_t enumerate(void *self, const bp_options_t *options,
                             const bp_device_sink_t *sink, bp_error_t *error) {
  bp_device_info_t device = {BP_HEADER(bp_device_info_t)};
  const bp_device_info_t *given = &device;
  bp_string_t format = text("acme");
  (void)self, (void)options, (void)error;
#ifdef AT_ENUMERATE
  AT_ENUMERATE
#endif
  device.id = device.name = text("one");
  device.kind = BP_DEVICE_KIND_OTHER;
  device.formats = &format;
  device.format_count = 1;
#ifdef IN_DEVICE
  IN_DEVICE
#endif
  return sink->put(sink->context, given);
}

static bp_status_t open_device(void *self, bp_string_t id,
                               const bp_options_t *options, bp_device_t **out,
                               bp_error_t *error) {
  (void)self, (void)id, (void)options, (void)out, (void)error;
#ifdef AT_OPEN
  AT_OPEN
#endif
  return BP_STATUS_OK;
}

/* Stands for every function that is never called. */
static void *nothing(void) { return NULL; }

static bp_status_t targets(void *self, const bp_target_sink_t *sink,
                           bp_error_t *error) {
  bp_target_t target = {BP_HEADER(bp_target_t)};
  const bp_target_t *given = &target;
  (void)self, (void)error;
#ifdef AT_TARGETS
  AT_TARGETS
#endif
  target.name = text("acme-one");
  target.driver = target.format = text("acme");
#ifdef IN_TARGET
  IN_TARGET
#endif
  return sink->put(sink->context, given);
}

static bp_plugin_table_t plugin_table = {BP_HEADER(bp_plugin_table_t),
                                         initialize, shut_down, NULL};
static bp_driver_table_t driver_table = {
    BP_HEADER(bp_driver_table_t), enumerate, open_device, (void *)nothing};
static bp_memory_table_t memory_table = {BP_HEADER(bp_memory_table_t),
                                         (void *)nothing, (void *)nothing,
                                         (void *)nothing, (void *)nothing};
static bp_executable_table_t executable_table = {
    BP_HEADER(bp_executable_table_t), (void *)nothing, (void *)nothing};
static bp_queue_table_t queue_table = {BP_HEADER(bp_queue_table_t),
                                       (void *)nothing, (void *)nothing,
                                       (void *)nothing};
static bp_compiler_table_t compiler_table = {BP_HEADER(bp_compiler_table_t),
                                             targets, NULL, NULL, NULL};

BP_PLUGIN_EXPORT int32_t bp_plugin_query_v0(const bp_host_info_t *host,
                                            bp_plugin_info_t *out);
BP_PLUGIN_EXPORT int32_t bp_plugin_query_v0(const bp_host_info_t *host,
                                            bp_plugin_info_t *out) {
  (void)host;
#ifdef AT_QUERY
  AT_QUERY
#endif
  out->name = text("acme");
  out->vendor = text("Acme");
  out->version = text("1.0.0");
  out->required_minor = 1;
  out->built_minor = BP_ABI_MINOR;
  out->plugin = &plugin_table;
  out->driver = &driver_table;
  out->memory = &memory_table;
  out->executable = &executable_table;
  out->queue = &queue_table;
  out->compiler = &compiler_table;
#ifdef IN_INFO
  IN_INFO
#endif
  return BP_STATUS_OK;
}
