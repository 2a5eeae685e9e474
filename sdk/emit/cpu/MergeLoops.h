// SPDX-License-Identifier: Apache-2.0
//
// MergeLoops.h: loops of an op that are one loop. Private to this folder.
#ifndef BACKPLANE_EMIT_CPU_MERGELOOPS_H
#define BACKPLANE_EMIT_CPU_MERGELOOPS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace backplane {

/// `op` on tensors with loops that are of one kind, and next to each other in
/// every operand, as one loop; `op` itself where there are none.
mlir::Operation *mergeLoops(mlir::RewriterBase &rewriter, mlir::Operation *op);

/// The same of an op on memrefs, for loops whose elements lie one after the
/// other in each of them.
mlir::linalg::GenericOp mergeContiguousLoops(mlir::linalg::GenericOp op);

} // namespace backplane

#endif // BACKPLANE_EMIT_CPU_MERGELOOPS_H
