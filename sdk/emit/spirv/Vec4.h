// SPDX-License-Identifier: Apache-2.0
//
// Vec4.h: four neighbours in memory at once. Private to this folder.
#ifndef BACKPLANE_EMIT_SPIRV_VEC4_H
#define BACKPLANE_EMIT_SPIRV_VEC4_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"

namespace backplane {

/// Quotients and rests of neighbours by a multiple of four: x + 1, x + 2 and x
/// + 3 have the quotient of x when that is a multiple of four, and rests that
/// follow its own.
void addVec4Patterns(mlir::RewritePatternSet &patterns);

/// In the code of one invocation (bp-to-gpu-entry) whose indices are plain
/// arithmetic: loads of the elements 4i, 4i + 1, 4i + 2 and 4i + 3 of a line of
/// 32-bit elements, with `halves` of 16-bit ones too, become one load of a
/// vector, and so do stores. The line gets a second argument of the same
/// binding, `memref<?xvector<4xT>>`. What cannot be shown to be such a vec4,
/// without an access in between that may touch the same memory, stays as it is.
void mergeVec4(mlir::func::FuncOp func, bool halves);

} // namespace backplane

#endif // BACKPLANE_EMIT_SPIRV_VEC4_H
