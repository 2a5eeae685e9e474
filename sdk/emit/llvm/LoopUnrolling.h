// SPDX-License-Identifier: Apache-2.0
//
// LoopUnrolling.h: which loops LLVM may unroll. Private to this folder.
#ifndef BACKPLANE_EMIT_LLVM_LOOPUNROLLING_H
#define BACKPLANE_EMIT_LLVM_LOOPUNROLLING_H

#include "mlir/IR/BuiltinOps.h"

namespace backplane {

/// Marks loops with long bodies that would be very long ones without the loop:
/// unrolling them makes compiling slow and no kernel faster. LLVM's own limit
/// counts what it expects to fold, and is four times as high then. Also loops
/// that carry many sums of integers: LLVM adds up what several iterations add
/// first, for which there are no registers.
void keepLoops(mlir::ModuleOp module);

/// Hands the marks on, after loops have become branches, to where LLVM reads
/// them.
void annotateKeptLoops(mlir::ModuleOp module);

} // namespace backplane

#endif // BACKPLANE_EMIT_LLVM_LOOPUNROLLING_H
