// SPDX-License-Identifier: Apache-2.0
//
// LaneLoops.h: the loops of one linalg.generic on memrefs, one of them on
// vectors. Private to this folder.
#ifndef BACKPLANE_EMIT_CPU_LANELOOPS_H
#define BACKPLANE_EMIT_CPU_LANELOOPS_H

#include "sdk/emit/cpu/VectorBody.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Builders.h"

namespace backplane {

/// How an operand is accessed by consecutive iterations of a loop.
enum class LaneAccess {
  Uniform,    ///< the same element
  Contiguous, ///< neighbours in memory
  Alternate,  ///< every other element in memory
  Strided,    ///< anything else
};
LaneAccess laneAccess(mlir::linalg::GenericOp op, mlir::OpOperand &operand,
                      unsigned loop);

/// Whether the op reduces by combiners that may be applied in any order, so
/// that a reduction loop can be spread over lanes.
bool canReduceLanes(mlir::linalg::GenericOp op);

/// Whether the loops of `op` around `loop` can be emitted for vectors of a
/// length that is known at run time only: lanes are neighbours in memory or
/// the same element, and no horizontal product is taken.
bool canScaleLanes(mlir::linalg::GenericOp op, unsigned loop);

/// Emits the loops of `op` with `loop` in steps of the lanes of `width`, which
/// is scalable only if canScaleLanes.
void emitLaneLoops(mlir::OpBuilder &builder, mlir::linalg::GenericOp op,
                   unsigned loop, VectorWidth width);

} // namespace backplane

#endif // BACKPLANE_EMIT_CPU_LANELOOPS_H
