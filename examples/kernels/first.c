/* SPDX-License-Identifier: Apache-2.0 */
/*
 * first.c: a set with one kernel for CPUs, the sum of two tensors and its relu
 * in one pass. docs/tutorial/kernel.md builds, tests and breaks it.
 */
#include <backplane/compiler.h>
#include <backplane/helpers.h>
#include <backplane/plugin.h>

static const char add_relu_text[] = "kernel add_relu version 1\n"
                                    "{\n"
                                    "  symbol m, n\n"
                                    "  %a = input f32[m, n]\n"
                                    "  %b = input f32[m, n]\n"
                                    "  %sum = add(%a, %b)\n"
                                    "  %y = relu(%sum)\n"
                                    "  output %y\n"
                                    "}\n";

/* One work-group: 4096 elements, the last one what is left. Bindings a, b, y,
 * behind them the parameters. */
static void add_relu(const bp_cpu_call_t *call, uint32_t x, uint32_t y,
                     uint32_t z) {
  const float *a = call->bindings[0], *b = call->bindings[1];
  float *result = call->bindings[2];
  const int64_t count = ((const int64_t *)call->bindings[3])[0];
  const int64_t first = (int64_t)x * 4096;
  const int64_t end = count - first < 4096 ? count : first + 4096;
  (void)y, (void)z;
  for (int64_t i = first; i < end; ++i) {
    const float sum = a[i] + b[i];
    result[i] = sum <= 0 ? 0 : sum; /* a NaN stays */
  }
}

static bp_status_t describe(void *self, const bp_kernel_sink_t *sink,
                            bp_error_t *error) {
  static const uint8_t access[] = {BP_ACCESS_READ, BP_ACCESS_READ,
                                   BP_ACCESS_WRITE};
  const bp_string_t parameters[] = {bp_text("m * n")};
  bp_entry_t entry = {.header = BP_HEADER(bp_entry_t)};
  bp_launch_t launch = {.header = BP_HEADER(bp_launch_t)};
  const bp_launch_t *launches[] = {&launch};
  bp_compiled_t body = {.header = BP_HEADER(bp_compiled_t)};
  bp_kernel_t kernel = {.header = BP_HEADER(bp_kernel_t)};
  (void)self, (void)error;
  entry.name = bp_text("add_relu");
  entry.binding_access = access;
  entry.binding_count = sizeof(access);
  entry.parameter_count = 1;
  launch.entry = &entry;
  launch.grid[0] = bp_text("(m * n) ceildiv 4096");
  launch.grid[1] = launch.grid[2] = bp_text("1");
  launch.parameters = parameters;
  body.launches = launches;
  body.launch_count = 1;
  kernel.text = bp_text(add_relu_text);
  kernel.target = bp_text("x86-64-v*");
  kernel.body = &body;
  return sink->put(sink->context, &kernel);
}

static bp_status_t resolve(void *self, bp_string_t kernel, uint32_t version,
                           bp_string_t entry, const bp_device_info_t *device,
                           bp_native_function_t *out, bp_error_t *error) {
  const bp_host_t *host = self;
  (void)entry, (void)device;
  if (!bp_text_is(kernel, "add_relu") || version != 1)
    return host->error_set(host->self, error, BP_STATUS_NOT_FOUND,
                           bp_text("acme-first has add_relu version 1 only"));
  out->cpu = add_relu;
  return BP_STATUS_OK;
}

static bp_status_t initialize(const bp_host_t *host,
                              const bp_options_t *options, void **out_self,
                              bp_error_t *error) {
  (void)options, (void)error;
  *out_self = (void *)host;
  return BP_STATUS_OK;
}

static void shutdown(void *self) { (void)self; }

static const bp_plugin_table_t plugin_table = {BP_HEADER(bp_plugin_table_t),
                                               initialize, shutdown, NULL};
static const bp_kernels_table_t kernels_table = {BP_HEADER(bp_kernels_table_t),
                                                 describe, resolve};

BP_PLUGIN_EXPORT int32_t bp_plugin_query_v0(const bp_host_info_t *host,
                                            bp_plugin_info_t *out) {
  bp_plugin_info_t info = {.header = BP_HEADER(bp_plugin_info_t)};
  (void)host;
  info.name = bp_text("acme-first");
  info.vendor = bp_text("Acme");
  info.version = bp_text("1.0.0");
  info.required_minor = 2;
  info.built_minor = BP_ABI_MINOR;
  info.plugin = &plugin_table;
  info.kernels = &kernels_table;
  return bp_plugin_info_give(&info, out);
}
