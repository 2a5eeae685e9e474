/* SPDX-License-Identifier: Apache-2.0 */
/*
 * acme.c: a set of kernels for CPUs with AVX2, in C99: attention in one pass
 * over the keys. The text below is all that the compiler needs to find it in a
 * model, and all that the suite needs to test it.
 */
#include <backplane/compiler.h>
#include <backplane/helpers.h>
#include <backplane/plugin.h>

#include <math.h>
#include <string.h>

#define TEXT(literal) {(literal), sizeof(literal) - 1}

/* One batch and head is q (m rows of d) times the rows of k (n of d), a softmax
 * along n, times v (n rows of d). */
static const char attention_text[] =
    "kernel attention version 1\n"
    "where d <= 256\n"
    "{\n"
    "  symbol b, h, m, n, d\n"
    "  %q = input f32[b, h, m, d]\n"
    "  %k = input f32[b, h, n, d]\n"
    "  %v = input f32[b, h, n, d]\n"
    "  %scale = optional input f32[]\n"
    "  %kt = transpose(%k) {permutation = [0, 1, 3, 2]}\n"
    "  %s = matmul(%q, %kt)\n"
    "  %scales = broadcast(%scale) {dims = [b, h, m, n], axes = []}\n"
    "  %scaled = mul(%s, %scales)\n"
    "  %p = softmax(%scaled) {axis = 3}\n"
    "  %o = matmul(%p, %v)\n"
    "  output %o\n"
    "}\n";

enum {
  ROWS = 6,
  BLOCKS = 8,
  KEYS = 64,
  MOST_D = 256,
  LANES = 8,
  WIDE = 2 * LANES
};

typedef float lanes_t __attribute__((vector_size(LANES * sizeof(float))));

/* Some rows of q, and what has been added up for them. */
typedef struct block_t {
  float rows[MOST_D][ROWS]; /* rows[i][r]; those that are not: 0 */
  float sums[ROWS][MOST_D]; /* of values, weighted */
  float greatest[ROWS], total[ROWS];
  int64_t count; /* of rows */
} block_t;

/* What a worker needs of its own. */
typedef struct scratch_t {
  block_t blocks[BLOCKS];
  float columns[MOST_D][KEYS]; /* of k: columns[i][j] */
  float values[KEYS][MOST_D];  /* of v */
  float scores[ROWS][KEYS];
  float weights[KEYS][ROWS]; /* of the values */
} scratch_t;

/* c[r][j] += sum of a[i][r] b[i][j] over i, for ROWS rows and WIDE columns,
 * which stay in registers. */
static void multiply(const float (*a)[ROWS], const float *b, int64_t stride,
                     int64_t terms, float *c, int64_t row) {
  lanes_t sums[ROWS][2] = {{{0}}};
  for (int64_t i = 0; i < terms; ++i) {
    lanes_t low, high;
    memcpy(&low, b + i * stride, sizeof(low));
    memcpy(&high, b + i * stride + LANES, sizeof(high));
    for (int r = 0; r < ROWS; ++r) {
      sums[r][0] += a[i][r] * low;
      sums[r][1] += a[i][r] * high;
    }
  }
  for (int r = 0; r < ROWS; ++r)
    for (int half = 0; half < 2; ++half) {
      lanes_t old;
      memcpy(&old, c + r * row + half * LANES, sizeof(old));
      old += sums[r][half];
      memcpy(c + r * row + half * LANES, &old, sizeof(old));
    }
}

/* 2^n for n in [-126, 127]. */
static float power_of_two(int32_t n) {
  union {
    uint32_t bits;
    float value;
  } power;
  power.bits = (uint32_t)(n + 127) << 23;
  return power.value;
}

/* e^x for x <= 0, with an error of 2 units in the last place, down to the
 * smallest subnormal; NaN stays. Cody and Waite's reduction, then a polynomial
 * by Remez. */
static float exp_of(float x) {
  const float n = nearbyintf(x * 1.44269504f);
  const float r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  const int32_t whole = (int32_t)(n < -152.0f ? -152.0f : n);
  float y = 1.9875691500e-4f;
  y = y * r + 1.3981999507e-3f;
  y = y * r + 8.3334519073e-3f;
  y = y * r + 4.1665795894e-2f;
  y = y * r + 1.6666665459e-1f;
  y = y * r + 5.0000001201e-1f;
  y = y * r * r + r + 1.0f;
  y = y * power_of_two(whole / 2) * power_of_two(whole - whole / 2);
  y = x < -104.0f ? 0.0f : y;
  return x != x ? x : y;
}

static void begin(block_t *block, const float *q, int64_t count, int64_t d) {
  memset(block, 0, sizeof(*block));
  block->count = count;
  for (int64_t r = 0; r < count; ++r) {
    block->greatest[r] = -INFINITY;
    for (int64_t i = 0; i < d; ++i)
      block->rows[i][r] = q[r * d + i];
  }
}

/* Copies `keys` rows of k and v to where `multiply` wants them. */
static void take_keys(scratch_t *s, const float *k, const float *v,
                      int64_t keys, int64_t d) {
  if (keys < KEYS)
    memset(s->columns, 0, sizeof(s->columns));
  for (int64_t j = 0; j < keys; ++j) {
    memcpy(s->values[j], v + j * d, (size_t)d * sizeof(float));
    for (int64_t i = 0; i < d; ++i)
      s->columns[i][j] = k[j * d + i];
  }
}

/* Turns scores of a row into weights relative to the greatest so far. The scale
 * comes now: earlier, a product of it may overflow where the score does not. */
static void weigh(scratch_t *s, block_t *block, int64_t r, int64_t keys,
                  int64_t d, float scale) {
  float *row = s->scores[r], greatest = block->greatest[r], total = 0;
  for (int64_t j = 0; j < keys; ++j)
    row[j] *= scale;
  for (int64_t j = 0; j < keys; ++j)
    greatest = row[j] > greatest ? row[j] : greatest;
  const float earlier = block->greatest[r] == -INFINITY
                            ? 0
                            : exp_of(block->greatest[r] - greatest);
  for (int64_t j = 0; j < keys; ++j)
    row[j] = exp_of(row[j] - greatest);
  for (int64_t j = 0; j < keys; ++j) {
    total += row[j];
    s->weights[j][r] = row[j];
  }
  for (int64_t i = 0; i < d; ++i)
    block->sums[r][i] *= earlier;
  block->total[r] = block->total[r] * earlier + total;
  block->greatest[r] = greatest;
}

static void add_keys(scratch_t *s, block_t *block, int64_t keys, int64_t d,
                     float scale) {
  memset(s->scores, 0, sizeof(s->scores));
  for (int64_t j = 0; j < keys; j += WIDE)
    multiply((const float (*)[ROWS])block->rows, &s->columns[0][j], KEYS, d,
             &s->scores[0][j], KEYS);
  memset(s->weights, 0, sizeof(s->weights));
  for (int64_t r = 0; r < block->count; ++r)
    weigh(s, block, r, keys, d, scale);
  for (int64_t i = 0; i < d; i += WIDE)
    multiply((const float (*)[ROWS])s->weights, &s->values[0][i], MOST_D, keys,
             &block->sums[0][i], MOST_D);
}

static void end(const block_t *block, float *o, int64_t n, int64_t d) {
  for (int64_t r = 0; r < block->count; ++r)
    for (int64_t i = 0; i < d; ++i)
      o[r * d + i] = n ? block->sums[r][i] / block->total[r] : 0;
}

/* ROWS * BLOCKS rows of one head; parameters m, n, d and whether there is a
 * scale. Bindings q, k, v, scale, o. */
static void attention(const bp_cpu_call_t *call, uint32_t x, uint32_t y,
                      uint32_t z) {
  const int64_t *sizes = call->bindings[5];
  const int64_t m = sizes[0], n = sizes[1], d = sizes[2];
  const int64_t first = (int64_t)x * ROWS * BLOCKS, head = y;
  const int64_t rows = m - first < ROWS * BLOCKS ? m - first : ROWS * BLOCKS;
  const float *q = (const float *)call->bindings[0] + (head * m + first) * d;
  const float *k = (const float *)call->bindings[1] + head * n * d;
  const float *v = (const float *)call->bindings[2] + head * n * d;
  const float scale = sizes[3] ? *(const float *)call->bindings[3] : 1.0f;
  float *o = (float *)call->bindings[4] + (head * m + first) * d;
  scratch_t *s = call->workspace;
  (void)z;
  memset(s->values, 0, sizeof(s->values));
  for (int64_t r = 0; r < rows; r += ROWS)
    begin(&s->blocks[r / ROWS], q + r * d, rows - r < ROWS ? rows - r : ROWS,
          d);
  for (int64_t j = 0; j < n; j += KEYS) {
    const int64_t keys = n - j < KEYS ? n - j : KEYS;
    take_keys(s, k + j * d, v + j * d, keys, d);
    for (int64_t r = 0; r < rows; r += ROWS)
      add_keys(s, &s->blocks[r / ROWS], keys, d, scale);
  }
  for (int64_t r = 0; r < rows; r += ROWS)
    end(&s->blocks[r / ROWS], o + r * d, n, d);
}

static bp_status_t describe(void *self, const bp_kernel_sink_t *sink,
                            bp_error_t *error) {
  static const uint8_t access[] = {BP_ACCESS_READ, BP_ACCESS_READ,
                                   BP_ACCESS_READ, BP_ACCESS_READ,
                                   BP_ACCESS_WRITE};
  static const bp_string_t parameters[] = {TEXT("m"), TEXT("n"), TEXT("d"),
                                           TEXT("has_scale")};
  static const bp_string_t grid[] = {TEXT("m ceildiv 48"), TEXT("b * h"),
                                     TEXT("1")};
  bp_entry_t entry = {.header = BP_HEADER(bp_entry_t)};
  bp_launch_t launch = {.header = BP_HEADER(bp_launch_t)};
  const bp_launch_t *launches[] = {&launch};
  bp_compiled_t body = {.header = BP_HEADER(bp_compiled_t)};
  bp_kernel_t kernel = {.header = BP_HEADER(bp_kernel_t)};
  const bp_string_t name = TEXT("attention");
  const bp_string_t target = TEXT("x86-64-v*");
  (void)self, (void)error;
  entry.name = name;
  entry.binding_access = access;
  entry.binding_count = sizeof(access);
  entry.parameter_count = sizeof(parameters) / sizeof(parameters[0]);
  entry.workspace_bytes = sizeof(scratch_t);
  launch.entry = &entry;
  memcpy(launch.grid, grid, sizeof(grid));
  launch.parameters = parameters;
  body.launches = launches;
  body.launch_count = 1;
  kernel.text.data = attention_text;
  kernel.text.size = sizeof(attention_text) - 1;
  kernel.target = target;
  kernel.body = &body;
  return sink->put(sink->context, &kernel);
}

static bp_status_t resolve(void *self, bp_string_t kernel, uint32_t version,
                           bp_string_t entry, const bp_device_info_t *device,
                           bp_native_function_t *out, bp_error_t *error) {
  const bp_host_t *host = self;
  const bp_string_t message = TEXT("acme has attention version 1 only, for "
                                   "devices with avx2 and fma");
  int avx2 = 0, fma = 0;
  for (uint64_t i = 0; i < device->feature_count; ++i) {
    const bp_string_t feature = device->features[i];
    avx2 |= feature.size == 4 && !memcmp(feature.data, "avx2", 4);
    fma |= feature.size == 3 && !memcmp(feature.data, "fma", 3);
  }
  (void)entry;
  if (kernel.size != 9 || memcmp(kernel.data, "attention", 9) || version != 1 ||
      !avx2 || !fma)
    return host->error_set(host->self, error, BP_STATUS_NOT_FOUND, message);
  out->cpu = attention;
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
  info.name = bp_text("acme-kernels");
  info.vendor = bp_text("Acme");
  info.version = bp_text("1.0.0");
  info.required_minor = 2;
  info.built_minor = BP_ABI_MINOR;
  info.plugin = &plugin_table;
  info.kernels = &kernels_table;
  return bp_plugin_info_give(&info, out);
}
