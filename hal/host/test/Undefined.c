/* SPDX-License-Identifier: Apache-2.0 */
/* Undefined.c: an image that needs a function from outside. */
#include <backplane/kernel.h>

void missing(void);

__attribute__((visibility("default"))) void
empty(const bp_cpu_call_t *call, uint32_t x, uint32_t y, uint32_t z) {
  (void)call, (void)x, (void)y, (void)z;
  missing();
}
