// SPDX-License-Identifier: Apache-2.0
//
// MergeOutputs.h: preparation of a bound dispatch. Private to this folder.
#ifndef BACKPLANE_EMIT_COMMON_MERGEOUTPUTS_H
#define BACKPLANE_EMIT_COMMON_MERGEOUTPUTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace backplane {

/// Elementwise ops of which one is a result of the dispatch and feeds another
/// become one op with several results, and so do those that make results from
/// one reduction: the dispatch has one last op.
void mergeElementwiseOutputs(mlir::func::FuncOp func);

} // namespace backplane

#endif // BACKPLANE_EMIT_COMMON_MERGEOUTPUTS_H
