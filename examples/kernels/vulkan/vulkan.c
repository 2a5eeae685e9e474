/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vulkan.c: a set of kernels for Vulkan, in C99: attention in one pass over the
 * keys, for rows of 32 and of 64 numbers. The code is attention.comp, compiled
 * to SPIR-V; artifacts hold it, so that where a model runs nothing of this set
 * is needed.
 */
#include <backplane/compiler.h>
#include <backplane/helpers.h>
#include <backplane/plugin.h>

#include <string.h>

#include "attention32.h"
#include "attention64.h"

#define TEXT(literal) {(literal), sizeof(literal) - 1}

#define ATTENTION_TEXT(d)                                                      \
  "kernel attention_" #d " version 1\n"                                        \
  "{\n"                                                                        \
  "  symbol b, h, m, n\n"                                                      \
  "  %q = input f32[b, h, m, " #d "]\n"                                        \
  "  %k = input f32[b, h, n, " #d "]\n"                                        \
  "  %v = input f32[b, h, n, " #d "]\n"                                        \
  "  %scale = optional input f32[]\n"                                          \
  "  %kt = transpose(%k) {permutation = [0, 1, 3, 2]}\n"                       \
  "  %s = matmul(%q, %kt)\n"                                                   \
  "  %scales = broadcast(%scale) {dims = [b, h, m, n], axes = []}\n"           \
  "  %scaled = mul(%s, %scales)\n"                                             \
  "  %p = softmax(%scaled) {axis = 3}\n"                                       \
  "  %o = matmul(%p, %v)\n"                                                    \
  "  output %o\n"                                                              \
  "}\n"

enum { ROWS = 64, HEADER_WORDS = 5, MOST_WORDS = 1 << 14 };

/* One module as the format "spirv" has it (backends/vulkan/README.md): magic,
 * version, number of modules, where the first starts and how long it is. */
static bp_bytes_t blob_of(const uint32_t *words, uint32_t count,
                          uint32_t *blob) {
  const uint32_t header[HEADER_WORDS] = {0x56505342u, 1, 1, HEADER_WORDS,
                                         count};
  bp_bytes_t bytes = {blob, (HEADER_WORDS + count) * sizeof(uint32_t)};
  memcpy(blob, header, sizeof(header));
  memcpy(blob + HEADER_WORDS, words, count * sizeof(uint32_t));
  return bytes;
}

static bp_status_t put(const bp_kernel_sink_t *sink, bp_string_t text,
                       const uint32_t *words, size_t count) {
  static const uint8_t access[] = {BP_ACCESS_READ, BP_ACCESS_READ,
                                   BP_ACCESS_READ, BP_ACCESS_READ,
                                   BP_ACCESS_WRITE};
  static const bp_string_t parameters[] = {TEXT("b * h"), TEXT("m"), TEXT("n"),
                                           TEXT("has_scale")};
  static const bp_string_t grid[] = {TEXT("min(m ceildiv 64, 65535)"),
                                     TEXT("min(b * h, 65535)"), TEXT("1")};
  uint32_t blob[HEADER_WORDS + MOST_WORDS];
  bp_entry_t entry = {.header = BP_HEADER(bp_entry_t)};
  bp_launch_t launch = {.header = BP_HEADER(bp_launch_t)};
  const bp_launch_t *launches[] = {&launch};
  bp_compiled_t body = {.header = BP_HEADER(bp_compiled_t)};
  bp_kernel_t kernel = {.header = BP_HEADER(bp_kernel_t)};
  const bp_string_t name = TEXT("main"), target = TEXT("vulkan*");
  if (count > MOST_WORDS)
    return BP_STATUS_RESOURCE_EXHAUSTED;
  entry.name = name;
  entry.binding_access = access;
  entry.binding_count = sizeof(access);
  entry.parameter_count = sizeof(parameters) / sizeof(parameters[0]);
  entry.workgroup_size[0] = ROWS;
  entry.workgroup_size[1] = entry.workgroup_size[2] = 1;
  launch.entry = &entry;
  memcpy(launch.grid, grid, sizeof(grid));
  launch.parameters = parameters;
  body.blob = blob_of(words, (uint32_t)count, blob);
  body.launches = launches;
  body.launch_count = 1;
  kernel.text = text;
  kernel.target = target;
  kernel.body = &body;
  return sink->put(sink->context, &kernel);
}

static bp_status_t describe(void *self, const bp_kernel_sink_t *sink,
                            bp_error_t *error) {
  const bp_string_t text32 = TEXT(ATTENTION_TEXT(32));
  const bp_string_t text64 = TEXT(ATTENTION_TEXT(64));
  bp_status_t status = put(sink, text32, attention32,
                           sizeof(attention32) / sizeof(attention32[0]));
  (void)self, (void)error;
  if (status)
    return status;
  return put(sink, text64, attention64,
             sizeof(attention64) / sizeof(attention64[0]));
}

static bp_status_t initialize(const bp_host_t *host,
                              const bp_options_t *options, void **out_self,
                              bp_error_t *error) {
  (void)host, (void)options, (void)error;
  *out_self = NULL;
  return BP_STATUS_OK;
}

static void shutdown(void *self) { (void)self; }

static const bp_plugin_table_t plugin_table = {BP_HEADER(bp_plugin_table_t),
                                               initialize, shutdown, NULL};
static const bp_kernels_table_t kernels_table = {BP_HEADER(bp_kernels_table_t),
                                                 describe, NULL};

BP_PLUGIN_EXPORT int32_t bp_plugin_query_v0(const bp_host_info_t *host,
                                            bp_plugin_info_t *out) {
  bp_plugin_info_t info = {.header = BP_HEADER(bp_plugin_info_t)};
  (void)host;
  info.name = bp_text("acme-vulkan");
  info.vendor = bp_text("Acme");
  info.version = bp_text("1.0.0");
  info.required_minor = 2;
  info.built_minor = BP_ABI_MINOR;
  info.plugin = &plugin_table;
  info.kernels = &kernels_table;
  return bp_plugin_info_give(&info, out);
}
