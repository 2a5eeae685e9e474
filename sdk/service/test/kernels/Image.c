/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Image.c: code of a registered kernel, as a vendor's own compiler makes it.
 */
#include <backplane/kernel.h>

/* y = max(a - b, 0) + 2000; parameter n */
__attribute__((visibility("default"))) void
difference(const bp_cpu_call_t *call, uint32_t x, uint32_t y, uint32_t z) {
  const float *a = call->bindings[0], *b = call->bindings[1];
  float *out = call->bindings[2];
  const int64_t *parameters = call->bindings[3];
  (void)x, (void)y, (void)z;
  for (int64_t i = 0; i < parameters[0]; ++i)
    out[i] = (a[i] > b[i] ? a[i] - b[i] : 0) + 2000;
}
