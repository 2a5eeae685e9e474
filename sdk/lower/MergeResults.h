// SPDX-License-Identifier: Apache-2.0
//
// MergeResults.h: elementwise ops that compute several results of a dispatch
// become one. Internal.
#ifndef BACKPLANE_LOWER_MERGERESULTS_H
#define BACKPLANE_LOWER_MERGERESULTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace bp::lower {

/// Merges elementwise ops of equal loops whose results the function returns,
/// where one of them reads the other or both read one tensor: they are shared
/// between work-groups as one op is, and read what they share once.
void mergeResults(mlir::func::FuncOp function);

} // namespace bp::lower

#endif // BACKPLANE_LOWER_MERGERESULTS_H
