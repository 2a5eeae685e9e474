// SPDX-License-Identifier: Apache-2.0
//
// BlockedWeight.h: a weight of 8 or 32 bits that a kernel reads in another
// order than the model has it.
#ifndef BACKPLANE_LAYOUT_BLOCKEDWEIGHT_H
#define BACKPLANE_LAYOUT_BLOCKEDWEIGHT_H

#include "sdk/dialect/Graph.h"
#include "sdk/graph/Model.h"
#include "sdk/layout/Layout.h"

namespace bp {

/// How a weight lies in memory, and how an op takes it from there.
struct BlockedLayout {
  /// The weight, a matrix then, with zeros behind its rows and columns up to
  /// these; empty: as it is. For devices that do not keep weights.
  backplane::Dims padded;
  /// That, reshaped to `split` and transposed to `order`, is what lies in
  /// memory.
  backplane::Dims split;
  llvm::SmallVector<int64_t> order;
  /// That, transposed to `view` and reshaped to `whole`, is what the op takes.
  llvm::SmallVector<int64_t> view;
  backplane::Dims whole;
};

/// The weight that the value is, reshaped or not, or is widened from bytes of;
/// or null.
WeightOp storedWeight(mlir::Value value);

/// How many elements of the sum over two factors that are widened from bytes an
/// instruction of the device multiplies at once; 1: none does.
int64_t bytesAtOnce(mlir::Value left, mlir::Value right,
                    const LayoutOptions &device);

/// Has `operand`, of a known weight, read it in blocks. These are bytes
/// that are added to the pool, and the weight goes where nobody else reads it;
/// for a device that keeps weights they are computed from it by an op that
/// stands alone.
mlir::LogicalResult storeInBlocks(mlir::OpOperand &operand,
                                  const BlockedLayout &layout,
                                  const LayoutOptions &device,
                                  backplane::WeightPool &pool);

} // namespace bp

#endif // BACKPLANE_LAYOUT_BLOCKEDWEIGHT_H
