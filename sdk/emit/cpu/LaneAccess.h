// SPDX-License-Identifier: Apache-2.0
//
// LaneAccess.h: whether and how the iterations of a loop can be the lanes of
// vectors. Private to this folder.
#ifndef BACKPLANE_EMIT_CPU_LANEACCESS_H
#define BACKPLANE_EMIT_CPU_LANEACCESS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <optional>

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

/// The combiner of result `number`: yield = combine(accumulator, x), where x
/// does not depend on any accumulator. Null: there is none.
mlir::Operation *findCombiner(mlir::linalg::GenericOp op, unsigned number);

/// What a combiner is called for vectors.
std::optional<mlir::vector::CombiningKind> combiningKind(mlir::Operation *op);

/// Whether the op reduces by combiners that may be applied in any order, so
/// that a reduction loop can be spread over lanes.
bool canReduceLanes(mlir::linalg::GenericOp op);

/// Whether lanes of `loop` sum in f64 what is f32 before: runs of a length that
/// bounds the error are then summed in f32.
bool sumsInRuns(mlir::linalg::GenericOp op, unsigned loop);

/// Whether the loops of `op` around `loop` can be emitted for vectors of a
/// length that is known at run time only: lanes are neighbours in memory or
/// the same element, and no horizontal product is taken.
bool canScaleLanes(mlir::linalg::GenericOp op, unsigned loop);

} // namespace backplane

#endif // BACKPLANE_EMIT_CPU_LANEACCESS_H
