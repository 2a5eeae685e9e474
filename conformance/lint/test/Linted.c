/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linted.c: a plug-in "acme" with a compiler that keeps all rules, for
 * run_lint.py, which breaks it by macros: BESIDE is text at file scope,
 * AT_QUERY, AT_INITIALIZE, AT_TARGETS and AT_DESCRIBE are statements in a
 * function, IN_INFO changes what the query is about to give, WRITTEN how many
 * bytes of it.
 */
#include <backplane/compiler.h>
#include <backplane/plugin.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef AT_QUERY
#define AT_QUERY
#endif
#ifndef AT_INITIALIZE
#define AT_INITIALIZE
#endif
#ifndef AT_TARGETS
#define AT_TARGETS
#endif
#ifndef AT_DESCRIBE
#define AT_DESCRIBE
#endif
#ifndef IN_INFO
#define IN_INFO
#endif
#ifndef WRITTEN
#define WRITTEN(bytes) (bytes)
#endif
#define CRASH (void)(*(volatile int *)8 = 1);
#define HANG                                                                   \
  for (;;)                                                                     \
    pause();

#ifdef BESIDE
BESIDE
#endif

static bp_string_t text(const char *chars) {
  bp_string_t string = {chars, strlen(chars)};
  return string;
}

static bp_status_t initialize(const bp_host_t *host,
                              const bp_options_t *options, void **self,
                              bp_error_t *error) {
  AT_INITIALIZE
  *self = NULL;
  if (options->count)
    return host->error_set(host->self, error, BP_STATUS_INVALID_ARGUMENT,
                           text("acme has no options; leave them out"));
  return BP_STATUS_OK;
}

static void shut_down(void *self) { (void)self; }

static bp_status_t targets(void *self, const bp_target_sink_t *sink,
                           bp_error_t *error) {
  bp_target_t target = {BP_HEADER(bp_target_t)};
  (void)self, (void)error;
  target.name = text("acme-one");
  target.driver = target.format = text("acme");
  AT_TARGETS
  return sink->put(sink->context, &target);
}

static bp_status_t describe(void *self, const bp_kernel_sink_t *sink,
                            bp_error_t *error) {
  bp_kernel_t kernel = {BP_HEADER(bp_kernel_t)};
  (void)self, (void)error;
  kernel.text = text("kernel neg version 1\n{\n  symbol n\n"
                     "  %x = input f32[n]\n  %y = neg(%x)\n  output %y\n}");
  kernel.target = text("acme-*");
  kernel.ir = text("module {}");
  AT_DESCRIBE
  return sink->put(sink->context, &kernel);
}

static bp_plugin_table_t plugin_table = {BP_HEADER(bp_plugin_table_t),
                                         initialize, shut_down, NULL};
static bp_compiler_table_t compiler_table = {BP_HEADER(bp_compiler_table_t),
                                             targets};
static bp_kernels_table_t kernels_table = {BP_HEADER(bp_kernels_table_t),
                                           describe, NULL};

BP_PLUGIN_EXPORT int32_t bp_plugin_query_v0(const bp_host_info_t *host,
                                            bp_plugin_info_t *out);
BP_PLUGIN_EXPORT int32_t bp_plugin_query_v0(const bp_host_info_t *host,
                                            bp_plugin_info_t *out) {
  bp_plugin_info_t info = {BP_HEADER(bp_plugin_info_t)};
  (void)host;
  AT_QUERY
  info.name = text("acme");
  info.vendor = text("Acme");
  info.version = text("1.0.0");
  info.required_minor = 1;
  info.built_minor = BP_ABI_MINOR;
  info.plugin = &plugin_table;
  info.compiler = &compiler_table;
  (void)kernels_table;
  IN_INFO
  if (info.header.size > out->header.size)
    info.header.size = out->header.size;
  memcpy(out, &info, WRITTEN(info.header.size));
  return BP_STATUS_OK;
}
