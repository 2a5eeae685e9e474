// SPDX-License-Identifier: Apache-2.0
//
// UseMarks.h: cheaper forms of the vector ops that the lowering marked
// (lower/Marks.h). Used by bp-vectorize when its loops are there.
#ifndef BACKPLANE_EMIT_CPU_USEMARKS_H
#define BACKPLANE_EMIT_CPU_USEMARKS_H

#include "mlir/IR/BuiltinOps.h"

namespace backplane {

/// Marked quotients by one number become products with its reciprocal, put
/// right by what they are off: as exact as a division but for underflow.
void multiplyShares(mlir::ModuleOp module);

/// Marked maxima become a comparison and a selection, which are one instruction
/// of machines whose maximum knows neither NaN nor the signs of zeros.
void compareMaxima(mlir::ModuleOp module);

} // namespace backplane

#endif // BACKPLANE_EMIT_CPU_USEMARKS_H
