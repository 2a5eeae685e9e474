// SPDX-License-Identifier: Apache-2.0
//
// LaneRepeat.h: elementwise ops that read an element several times in a row.
// Private to this folder.
#ifndef BACKPLANE_EMIT_CPU_LANEREPEAT_H
#define BACKPLANE_EMIT_CPU_LANEREPEAT_H

#include "sdk/emit/cpu/VectorBody.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Builders.h"

#include <optional>

namespace backplane {

/// Two loops over neighbours in the results, of which the inner one reads the
/// same element of an operand `times` times.
struct Repetition {
  unsigned loop, inner;
  int64_t times;
  /// Whether the operand has an element for each iteration of both loops, in a
  /// row.
  bool covers(mlir::linalg::GenericOp op, mlir::OpOperand &operand) const;
  /// Whether the operand has neighbours for `loop`, each of which is repeated.
  bool repeats(mlir::linalg::GenericOp op, mlir::OpOperand &operand) const;
};

/// What `op` repeats in the innermost axis of its results, or none: nothing, or
/// an operand is accessed in yet another way.
std::optional<Repetition> findRepetition(mlir::linalg::GenericOp op);

/// Emits the loops of `op`: a vector of elements is loaded once, and its lanes
/// are repeated in registers.
void emitRepetition(mlir::OpBuilder &builder, mlir::linalg::GenericOp op,
                    Repetition loops, int64_t lanes);

} // namespace backplane

#endif // BACKPLANE_EMIT_CPU_LANEREPEAT_H
