// SPDX-License-Identifier: Apache-2.0
//
// NarrowCompares.h: comparisons of widened integers with constants, done in
// the width that the integers had. 64 bits cost a GPU several instructions,
// and Mesa's compiler takes `0 >= i64(x)` for false when x is an unsigned
// number of 32 bits (seen in 22.3). Private to this folder.
#ifndef BACKPLANE_EMIT_SPIRV_NARROWCOMPARES_H
#define BACKPLANE_EMIT_SPIRV_NARROWCOMPARES_H

#include "mlir/IR/PatternMatch.h"

namespace backplane {

/// Adds patterns for arith.cmpi of extensions and of indices, which have 32
/// bits in shaders. Constants stand on the right, where arith folds them to.
void addNarrowCompares(mlir::RewritePatternSet &patterns);

} // namespace backplane

#endif // BACKPLANE_EMIT_SPIRV_NARROWCOMPARES_H
