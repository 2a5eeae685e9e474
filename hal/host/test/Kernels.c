/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels.c: CPU entries for tests and for the dispatch benchmark, compiled to
 * an image as the compiler would emit it: no library, no initialiser.
 */
#include <backplane/kernel.h>

#define ENTRY __attribute__((visibility("default"))) void

/* A table of pointers, so that the image has relocations. */
static uint32_t twice(uint32_t x) { return 2 * x; }
static uint32_t thrice(uint32_t x) { return 3 * x; }
uint32_t (*const factors[])(uint32_t) = {twice, thrice};

/* Does nothing: what remains is the cost of dispatching. */
ENTRY empty(const bp_cpu_call_t *call, uint32_t x, uint32_t y, uint32_t z) {
  (void)call, (void)x, (void)y, (void)z;
}

/* out[x] = factor(in[x]) + constant */
ENTRY scale(const bp_cpu_call_t *call, uint32_t x, uint32_t y, uint32_t z) {
  const uint32_t *in = call->bindings[0];
  uint32_t *out = call->bindings[1];
  (void)y, (void)z;
  out[x] = factors[call->constants[0] & 1](in[x]) + call->constants[1];
}

/* Writes the linear index of each work-group of a 3-D grid, by way of the
 * worker's scratch. */
ENTRY number(const bp_cpu_call_t *call, uint32_t x, uint32_t y, uint32_t z) {
  uint32_t *out = call->bindings[0];
  volatile uint32_t *scratch = call->workspace;
  uint32_t index = x + call->grid[0] * (y + call->grid[1] * z);
  for (int i = 0; i < 100; ++i)
    scratch[i] = index;
  out[index] = scratch[99] + scratch[0] - index;
}

/* out[x] = x * parameter 0 + parameter 1, by the pointer behind its bindings.
 */
ENTRY affine(const bp_cpu_call_t *call, uint32_t x, uint32_t y, uint32_t z) {
  int64_t *out = call->bindings[0];
  const int64_t *parameters = call->bindings[1];
  (void)y, (void)z;
  out[x] = x * parameters[0] + parameters[1];
}

/* Group 3 meets bad data. */
ENTRY fails(const bp_cpu_call_t *call, uint32_t x, uint32_t y, uint32_t z) {
  (void)y, (void)z;
  if (x == 3 && *call->error == 0)
    *call->error = BP_KERNEL_ERROR(BP_KERNEL_ERROR_INDEX, call->constants[0]);
}
