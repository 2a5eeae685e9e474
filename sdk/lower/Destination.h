// SPDX-License-Identifier: Apache-2.0
//
// Destination.h: results computed into the destination arguments.
#ifndef BACKPLANE_LOWER_DESTINATION_H
#define BACKPLANE_LOWER_DESTINATION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace bp {

/// Makes result i of a function in the form of README.md be computed into its
/// destination i: the tensor.empty that the result grows from is replaced by
/// the argument, and a result that does not grow from one (an input, a value
/// returned twice) is copied by a linalg.generic. Does nothing to results that
/// are in place, so it may run again, as after a canonicalization that removed
/// a copy.
void assignDestinations(mlir::func::FuncOp function);

} // namespace bp

#endif // BACKPLANE_LOWER_DESTINATION_H
