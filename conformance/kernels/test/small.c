/* SPDX-License-Identifier: Apache-2.0 */
/*
 * small.c: a set of small kernels that run_kernel_mutants.py breaks: one that
 * works on vectors, one on rows, one that packs a weight, one of integers.
 */
#include <backplane/compiler.h>
#include <backplane/helpers.h>
#include <backplane/plugin.h>

#include <math.h>
#include <string.h>

#define TEXT(literal) {(literal), sizeof(literal) - 1}
enum { LANES = 8, ROWS = 4, K = 24, N = 10 };

/* Behind the bindings: the parameters. */
static const int64_t *sizes_of(const bp_cpu_call_t *call, int bindings) {
  return call->bindings[bindings];
}

static const char product_text[] = "kernel product version 1 {\n"
                                   "  symbol n\n"
                                   "  %a = input f32[n]\n"
                                   "  %b = input f32[n]\n"
                                   "  %c = optional input f32[n]\n"
                                   "  %p = mul(%a, %b)\n"
                                   "  %s = add(%p, %c)\n"
                                   "  %y = relu(%s)\n"
                                   "  output %y\n"
                                   "}\n";

/* LANES elements; parameters n and has_c. */
static void product(const bp_cpu_call_t *call, uint32_t x, uint32_t y,
                    uint32_t z) {
  const int64_t *sizes = sizes_of(call, 4);
  const float *a = call->bindings[0], *b = call->bindings[1];
  const float *c = call->bindings[2];
  float *out = call->bindings[3];
  const int64_t first = (int64_t)x * LANES;
  const int64_t end = first + LANES < sizes[0] ? first + LANES : sizes[0];
  (void)y, (void)z;
  for (int64_t i = first; i < end; ++i) {
    float sum = a[i] * b[i];
    if (sizes[1])
      sum += c[i];
    out[i] = sum > 0 || sum != sum ? sum : 0;
  }
}

static const char softmax_text[] = "kernel softmax version 2\n"
                                   "where n >= 1, n <= 1000 {\n"
                                   "  symbol m, n\n"
                                   "  %x = input f32[m, n]\n"
                                   "  %y = softmax(%x) {axis = 1}\n"
                                   "  output %y\n"
                                   "}\n";

/* ROWS rows; parameters m, n. */
static void softmax(const bp_cpu_call_t *call, uint32_t x, uint32_t y,
                    uint32_t z) {
  const int64_t *sizes = sizes_of(call, 2);
  const int64_t m = sizes[0], n = sizes[1], first = (int64_t)x * ROWS;
  (void)y, (void)z;
  for (int64_t r = first; r < m && r < first + ROWS; ++r) {
    const float *row = (const float *)call->bindings[0] + r * n;
    float *out = (float *)call->bindings[1] + r * n;
    float greatest = -INFINITY;
    double total = 0;
    for (int64_t i = 0; i < n; ++i)
      greatest = row[i] > greatest ? row[i] : greatest;
    for (int64_t i = 0; i < n; ++i)
      total += exp((double)row[i] - (double)greatest);
    for (int64_t i = 0; i < n; ++i)
      out[i] = (float)(exp((double)row[i] - (double)greatest) / total);
  }
}

static const char linear_text[] = "kernel linear version 1\n"
                                  "where k == 24, n == 10 {\n"
                                  "  symbol m, k, n\n"
                                  "  %x = input f32[m, k]\n"
                                  "  %w = input f32[k, n]\n"
                                  "  %y = matmul(%x, %w)\n"
                                  "  output %y\n"
                                  "}\n";

/* Once per session: packed[j][i] = w[i][j]. */
static void pack(const bp_cpu_call_t *call, uint32_t x, uint32_t y,
                 uint32_t z) {
  const float *w = call->bindings[0];
  float *packed = call->bindings[1];
  (void)x, (void)y, (void)z;
  for (int64_t j = 0; j < N; ++j)
    for (int64_t i = 0; i < K; ++i)
      packed[j * K + i] = w[i * N + j];
}

/* A row. */
static void linear(const bp_cpu_call_t *call, uint32_t x, uint32_t y,
                   uint32_t z) {
  const float *row = (const float *)call->bindings[0] + (int64_t)x * K;
  const float *packed = call->bindings[1];
  float *out = (float *)call->bindings[2] + (int64_t)x * N;
  (void)y, (void)z;
  for (int64_t j = 0; j < N; ++j) {
    float sum = 0;
    for (int64_t i = 0; i < K; ++i)
      sum += row[i] * packed[j * K + i];
    out[j] = sum;
  }
}

static const char rows_text[] = "kernel rows version 1\n"
                                "where m > d, v > 0 {\n"
                                "  symbol m, d, v\n"
                                "  %table = input i32[v, d]\n"
                                "  %which = input i64[m]\n"
                                "  %y = gather(%table, %which) {axis = 0}\n"
                                "  output %y\n"
                                "}\n";

/* A row; parameter d. */
static void rows(const bp_cpu_call_t *call, uint32_t x, uint32_t y,
                 uint32_t z) {
  const int64_t d = sizes_of(call, 3)[0];
  const int32_t *table = call->bindings[0];
  const int64_t *which = call->bindings[1];
  (void)y, (void)z;
  memcpy((int32_t *)call->bindings[2] + x * d, table + which[x] * d,
         (size_t)d * sizeof(int32_t));
}

/* A launch of `count` bindings, the last of which is written. */
typedef struct one_t {
  uint8_t access[4];
  bp_entry_t entry;
  bp_launch_t launch;
} one_t;

static const bp_launch_t *launch_of(one_t *one, bp_string_t name,
                                    uint32_t count, bp_string_t grid,
                                    const bp_string_t *parameters,
                                    uint32_t parameter_count) {
  const bp_entry_t entry = {BP_HEADER(bp_entry_t)};
  const bp_launch_t launch = {BP_HEADER(bp_launch_t)};
  const bp_string_t single = TEXT("1");
  memset(one->access, BP_ACCESS_READ, sizeof(one->access));
  one->access[count - 1] = BP_ACCESS_WRITE;
  one->entry = entry;
  one->launch = launch;
  one->entry.name = name;
  one->entry.binding_access = one->access;
  one->entry.binding_count = count;
  one->entry.parameter_count = parameter_count;
  one->launch.entry = &one->entry;
  one->launch.grid[0] = grid;
  one->launch.grid[1] = one->launch.grid[2] = single;
  one->launch.parameters = parameters;
  return &one->launch;
}

static bp_status_t put(const bp_kernel_sink_t *sink, const char *text,
                       const bp_compiled_t *body) {
  bp_kernel_t kernel = {BP_HEADER(bp_kernel_t)};
  const bp_string_t target = TEXT("*");
  kernel.text.data = text;
  kernel.text.size = strlen(text);
  kernel.target = target;
  kernel.body = body;
  return sink->put(sink->context, &kernel);
}

static bp_status_t put_one(const bp_kernel_sink_t *sink, const char *text,
                           const bp_launch_t *launch) {
  bp_compiled_t body = {BP_HEADER(bp_compiled_t)};
  body.launches = &launch;
  body.launch_count = 1;
  return put(sink, text, &body);
}

static bp_status_t put_linear(const bp_kernel_sink_t *sink) {
  static const bp_launch_binding_t once[] = {
      {1, 0, {NULL, 0}, {NULL, 0}},
      {BP_LAUNCH_PERSISTENT, 0, {NULL, 0}, {NULL, 0}}};
  static const bp_launch_binding_t each[] = {
      {0, 0, {NULL, 0}, {NULL, 0}},
      {BP_LAUNCH_PERSISTENT, 0, {NULL, 0}, {NULL, 0}},
      {2, 0, {NULL, 0}, {NULL, 0}}};
  const bp_string_t pack_name = TEXT("pack"), name = TEXT("linear");
  const bp_string_t single = TEXT("1"), grid = TEXT("m");
  one_t packs, multiplies;
  const bp_launch_t *init = launch_of(&packs, pack_name, 2, single, NULL, 0);
  const bp_launch_t *launch = launch_of(&multiplies, name, 3, grid, NULL, 0);
  bp_compiled_t body = {BP_HEADER(bp_compiled_t)};
  packs.launch.bindings = once;
  multiplies.launch.bindings = each;
  body.launches = &launch;
  body.launch_count = 1;
  body.init_launches = &init;
  body.init_launch_count = 1;
  body.persistent_bytes = sizeof(float) * K * N;
  return put(sink, linear_text, &body);
}

static bp_status_t describe(void *self, const bp_kernel_sink_t *sink,
                            bp_error_t *error) {
  static const bp_string_t n_and_c[] = {TEXT("n"), TEXT("has_c")};
  static const bp_string_t m_and_n[] = {TEXT("m"), TEXT("n")};
  static const bp_string_t d[] = {TEXT("d")};
  const bp_string_t names[] = {TEXT("product"), TEXT("softmax"), TEXT("rows")};
  const bp_string_t grids[] = {TEXT("n ceildiv 8"), TEXT("m ceildiv 4"),
                               TEXT("m")};
  one_t one;
  bp_status_t status = put_one(
      sink, product_text, launch_of(&one, names[0], 4, grids[0], n_and_c, 2));
  (void)self, (void)error;
  if (status == BP_STATUS_OK)
    status = put_one(sink, softmax_text,
                     launch_of(&one, names[1], 2, grids[1], m_and_n, 2));
  if (status == BP_STATUS_OK)
    status =
        put_one(sink, rows_text, launch_of(&one, names[2], 3, grids[2], d, 1));
  return status == BP_STATUS_OK ? put_linear(sink) : status;
}

static bp_status_t resolve(void *self, bp_string_t kernel, uint32_t version,
                           bp_string_t entry, const bp_device_info_t *device,
                           bp_native_function_t *out, bp_error_t *error) {
  static const struct {
    const char *name;
    bp_cpu_entry_t function;
  } entries[] = {{"product", product},
                 {"softmax", softmax},
                 {"pack", pack},
                 {"linear", linear},
                 {"rows", rows}};
  (void)self, (void)kernel, (void)version, (void)device, (void)error;
  for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); ++i)
    if (entry.size == strlen(entries[i].name) &&
        !memcmp(entry.data, entries[i].name, entry.size))
      out->cpu = entries[i].function;
  return out->cpu ? BP_STATUS_OK : BP_STATUS_NOT_FOUND;
}

static bp_status_t initialize(const bp_host_t *host,
                              const bp_options_t *options, void **out_self,
                              bp_error_t *error) {
  (void)host, (void)options, (void)out_self, (void)error;
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
  info.name = bp_text("small");
  info.vendor = bp_text("test");
  info.version = bp_text("1.0.0");
  info.required_minor = 2;
  info.built_minor = BP_ABI_MINOR;
  info.plugin = &plugin_table;
  info.kernels = &kernels_table;
  return bp_plugin_info_give(&info, out);
}
