/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels.c: a product of matrices in two launches, as a vendor's own compiler
 * might make it: each work-group of the first adds up one part of k for one row
 * into scratch, the second adds up the parts. The sizes are parameters.
 */
#include <backplane/kernel.h>

#define ENTRY __attribute__((visibility("default"))) void

/* scratch[y][x][j] = sum of a[x][i] b[i][j] over part y of i;
 * parameters m, k, n, bytes of a part's rows */
ENTRY partial(const bp_cpu_call_t *call, uint32_t x, uint32_t y, uint32_t z) {
  const float *a = call->bindings[0], *b = call->bindings[1];
  char *scratch = call->bindings[2];
  const int64_t *parameters = call->bindings[3];
  const int64_t k = parameters[1], n = parameters[2];
  const int64_t begin = k * y / call->grid[1];
  const int64_t end = k * (y + 1) / call->grid[1];
  float *out = (float *)(void *)(scratch + y * parameters[3]) + x * n;
  (void)z;
  for (int64_t j = 0; j < n; ++j) {
    float sum = 0;
    for (int64_t i = begin; i < end; ++i)
      sum += a[x * k + i] * b[i * n + j];
    out[j] = sum;
  }
}

/* Once per session: packed[j][i] = b[i][j]; parameters k, n */
ENTRY pack(const bp_cpu_call_t *call, uint32_t x, uint32_t y, uint32_t z) {
  const float *b = call->bindings[0];
  float *packed = call->bindings[1];
  const int64_t *parameters = call->bindings[2];
  (void)y, (void)z;
  for (int64_t i = 0; i < parameters[0]; ++i)
    packed[x * parameters[0] + i] = b[i * parameters[1] + x];
}

/* c[x][j] = sum of a[x][i] packed[j][i] over i; parameters k, n */
ENTRY packed(const bp_cpu_call_t *call, uint32_t x, uint32_t y, uint32_t z) {
  const float *a = call->bindings[0], *packed = call->bindings[1];
  float *c = call->bindings[2];
  const int64_t *parameters = call->bindings[3];
  const int64_t k = parameters[0], n = parameters[1];
  (void)y, (void)z;
  for (int64_t j = 0; j < n; ++j) {
    float total = 0;
    for (int64_t i = 0; i < k; ++i)
      total += a[x * k + i] * packed[j * k + i];
    c[x * n + j] = total;
  }
}

/* c[x][j] = value times the sum of a[x][i] over i; parameters k, n, value */
ENTRY baked(const bp_cpu_call_t *call, uint32_t x, uint32_t y, uint32_t z) {
  const float *a = call->bindings[0];
  float *c = call->bindings[1];
  const int64_t *parameters = call->bindings[2];
  (void)y, (void)z;
  float total = 0;
  for (int64_t i = 0; i < parameters[0]; ++i)
    total += a[x * parameters[0] + i];
  for (int64_t j = 0; j < parameters[1]; ++j)
    c[x * parameters[1] + j] = total * (float)parameters[2];
}

/* c[x][j] = sum of scratch[y][x][j] over y; parameters n, bytes of a part's
 * rows, parts */
ENTRY sum(const bp_cpu_call_t *call, uint32_t x, uint32_t y, uint32_t z) {
  const char *scratch = call->bindings[0];
  float *c = call->bindings[1];
  const int64_t *parameters = call->bindings[2];
  const int64_t n = parameters[0];
  (void)y, (void)z;
  for (int64_t j = 0; j < n; ++j) {
    float total = 0;
    for (int64_t part = 0; part < parameters[2]; ++part)
      total += ((const float *)(const void *)(scratch +
                                              part * parameters[1]))[x * n + j];
    c[x * n + j] = total;
  }
}
