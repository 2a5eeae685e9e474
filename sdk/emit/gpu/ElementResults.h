// SPDX-License-Identifier: Apache-2.0
//
// ElementResults.h: results of a dispatch by a parallel loop over their
// elements. Private to this folder.
#ifndef BACKPLANE_EMIT_GPU_ELEMENTRESULTS_H
#define BACKPLANE_EMIT_GPU_ELEMENTRESULTS_H

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"

namespace backplane {

/// Writes a loop whose iterations compute an element of each result from the
/// inputs alone. The results have the same sizes; there is at least one.
mlir::LogicalResult computeResults(
    mlir::OpBuilder &builder,
    llvm::ArrayRef<mlir::bufferization::MaterializeInDestinationOp> results);

} // namespace backplane

#endif // BACKPLANE_EMIT_GPU_ELEMENTRESULTS_H
