// SPDX-License-Identifier: Apache-2.0
//
// FenceExtensions.h: narrow floats that are widened, and stay it. Private to
// this folder.
#ifndef BACKPLANE_EMIT_CPU_FENCEEXTENSIONS_H
#define BACKPLANE_EMIT_CPU_FENCEEXTENSIONS_H

#include "mlir/IR/BuiltinOps.h"

namespace backplane {

/// Puts a fence behind vectors of f16 and bf16 that are widened to be compared
/// or to lose their sign. LLVM does both on the narrow ones otherwise, which
/// machines without such arithmetic widen again, and which makes masks of 16
/// bits for lanes of 32.
void fenceExtensions(mlir::ModuleOp module);

} // namespace backplane

#endif // BACKPLANE_EMIT_CPU_FENCEEXTENSIONS_H
