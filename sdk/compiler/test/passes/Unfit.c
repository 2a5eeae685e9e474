/* SPDX-License-Identifier: Apache-2.0 */
/* A library with the functions of one of passes, built as the variable says,
 * that sees no MLIR at all. */
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT const char *bp_mlir_build_v0(void) { return getenv("BP_TEST_BUILD"); }

EXPORT void bp_mlir_identity_v0(void *op, void *identity) {
  (void)op;
  (void)identity;
}

EXPORT void bp_mlir_passes_v0(void *sink) {
  (void)sink;
  abort();
}
