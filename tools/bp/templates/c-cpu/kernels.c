/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels.c: a registered kernel. The text is the graph that the kernel equals:
 * the compiler looks for it in models and runs the kernel in its place, which
 * is an instruction of instructions.c.
 */
#include "acme.h"

static const char linear_text[] =
    "kernel linear version 1\n"
    "{\n"
    "  symbol m, k, n\n"
    "  %x = input f32[m, k]\n"
    "  %w = input f32[k, n]\n"
    "  %b = input f32[n]\n"
    "  %product = matmul(%x, %w)\n"
    "  %all = broadcast(%b) {dims = [m, n], axes = [1]}\n"
    "  %y = add(%product, %all)\n"
    "  output %y\n"
    "}\n";

static bp_status_t describe(void *self, const bp_kernel_sink_t *sink,
                            bp_error_t *error) {
  static const uint8_t access[] = {BP_ACCESS_READ, BP_ACCESS_READ,
                                   BP_ACCESS_READ, BP_ACCESS_WRITE};
  const bp_string_t parameters[] = {text("k"), text("n")};
  bp_entry_t entry = {.header = BP_HEADER(bp_entry_t)};
  bp_launch_t launch = {.header = BP_HEADER(bp_launch_t)};
  const bp_launch_t *launches[] = {&launch};
  bp_compiled_t body = {.header = BP_HEADER(bp_compiled_t)};
  bp_kernel_t kernel = {.header = BP_HEADER(bp_kernel_t)};
  const blob_t blob = blob_of(text("linear"));
  (void)self, (void)error;
  entry.name = text("linear");
  entry.binding_access = access;
  entry.binding_count = sizeof(access);
  entry.parameter_count = 2;
  launch.entry = &entry;
  launch.grid[0] = text("m");
  launch.grid[1] = launch.grid[2] = text("1");
  launch.parameters = parameters;
  body.blob.data = &blob;
  body.blob.size = sizeof(blob);
  body.launches = launches;
  body.launch_count = 1;
  kernel.text = text(linear_text);
  kernel.target = text(PLUGIN_NAME);
  kernel.body = &body;
  return sink->put(sink->context, &kernel);
}

const bp_kernels_table_t kernels_table = {
    .header = BP_HEADER(bp_kernels_table_t),
    .describe = describe,
};
