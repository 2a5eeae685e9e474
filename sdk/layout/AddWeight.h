// SPDX-License-Identifier: Apache-2.0
//
// AddWeight.h: weights whose bytes are known, and those that layouts make of
// them.
#ifndef BACKPLANE_LAYOUT_ADDWEIGHT_H
#define BACKPLANE_LAYOUT_ADDWEIGHT_H

#include "sdk/dialect/Graph.h"
#include "sdk/graph/Model.h"

#include "mlir/IR/Builders.h"

namespace bp {

/// The bytes of the weight; null: there is none, or they are not known.
const backplane::Weight *knownWeight(WeightOp weight,
                                     const backplane::WeightPool &pool);

/// Keeps the bytes in the pool and reads them where the builder is, in the name
/// of `origin`.
mlir::FailureOr<mlir::Value> addWeight(mlir::OpBuilder &builder,
                                       mlir::Operation *origin,
                                       const backplane::TensorType &type,
                                       backplane::Bytes bytes,
                                       backplane::WeightPool &pool);

} // namespace bp

#endif // BACKPLANE_LAYOUT_ADDWEIGHT_H
