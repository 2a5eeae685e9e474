/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels.c: kernels for tests of the runtime, built into an ELF image without
 * any compiler of ours. Each work-group handles one element.
 */
#include <backplane/kernel.h>

#define ENTRY __attribute__((visibility("default"))) void

/* out[x] = in[x] + constant 0 */
ENTRY add(const bp_cpu_call_t *call, uint32_t x, uint32_t y, uint32_t z) {
  const float *in = (const float *)call->bindings[0];
  float *out = (float *)call->bindings[1];
  (void)y;
  (void)z;
  out[x] = in[x] + (float)call->constants[0];
}

/* out[x] = a[x] * b[x mod constant 0] */
ENTRY multiply(const bp_cpu_call_t *call, uint32_t x, uint32_t y, uint32_t z) {
  const float *a = (const float *)call->bindings[0];
  const float *b = (const float *)call->bindings[1];
  float *out = (float *)call->bindings[2];
  (void)y;
  (void)z;
  out[x] = a[x] * b[x % call->constants[0]];
}

/* out[0] = counter[0] += in[0]; reports an index error when in[0] < 0 */
ENTRY count(const bp_cpu_call_t *call, uint32_t x, uint32_t y, uint32_t z) {
  const float *in = (const float *)call->bindings[0];
  float *counter = (float *)call->bindings[1];
  float *out = (float *)call->bindings[2];
  (void)x;
  (void)y;
  (void)z;
  if (in[0] < 0 && *call->error == 0)
    *call->error = BP_KERNEL_ERROR(BP_KERNEL_ERROR_INDEX, 0);
  counter[0] += in[0];
  out[0] = counter[0];
}

/*
 * in[0] and in[1] hold the address of a counter: adds 1 and waits, for some
 * time, until it is 2. out[0] = whether that came about.
 */
ENTRY meet(const bp_cpu_call_t *call, uint32_t x, uint32_t y, uint32_t z) {
  uint32_t *counter = *(uint32_t *const *)call->bindings[0];
  float *out = (float *)call->bindings[1];
  uint64_t spins = 4000000000u;
  (void)x;
  (void)y;
  (void)z;
  __atomic_add_fetch(counter, 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(counter, __ATOMIC_SEQ_CST) < 2 && --spins)
    ;
  out[0] = spins ? 1.f : 0.f;
}
