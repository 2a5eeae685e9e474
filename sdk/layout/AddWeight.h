// SPDX-License-Identifier: Apache-2.0
//
// AddWeight.h: weights that layouts make of others.
#ifndef BACKPLANE_LAYOUT_ADDWEIGHT_H
#define BACKPLANE_LAYOUT_ADDWEIGHT_H

#include "sdk/dialect/Graph.h"
#include "sdk/graph/Model.h"

#include "mlir/IR/Builders.h"

namespace bp {

/// Keeps the bytes in the pool and reads them where the builder is, in the name
/// of `origin`.
mlir::FailureOr<mlir::Value> addWeight(mlir::OpBuilder &builder,
                                       mlir::Operation *origin,
                                       const backplane::TensorType &type,
                                       backplane::Bytes bytes,
                                       backplane::WeightPool &pool);

} // namespace bp

#endif // BACKPLANE_LAYOUT_ADDWEIGHT_H
