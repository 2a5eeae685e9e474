// SPDX-License-Identifier: Apache-2.0
//
// LaneTranspose.h: elementwise ops whose operands lie in another order than
// their results. Private to this folder.
#ifndef BACKPLANE_EMIT_CPU_LANETRANSPOSE_H
#define BACKPLANE_EMIT_CPU_LANETRANSPOSE_H

#include "sdk/emit/cpu/VectorBody.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Builders.h"

#include <optional>

namespace backplane {

/// Two loops: results are contiguous along one, operands along the other.
struct Transposition {
  unsigned along, across;
  /// The operand has to be transposed.
  bool applies(mlir::linalg::GenericOp op, mlir::OpOperand &operand) const;
};

/// Element j of vector i becomes element i of vector j, of as many vectors as
/// each has lanes, a power of two.
void transposeVectors(mlir::OpBuilder &builder, mlir::Location loc,
                      llvm::SmallVector<mlir::Value> &vectors);

/// What transposes operands of `op`, or none: there is nothing to transpose, or
/// an access is of yet another kind.
std::optional<Transposition> findTransposition(mlir::linalg::GenericOp op);

/// Emits the loops of `op` in tiles of `lanes` by `lanes` elements (a power of
/// two) that are transposed in registers.
void emitTransposition(mlir::OpBuilder &builder, mlir::linalg::GenericOp op,
                       Transposition loops, int64_t lanes);

} // namespace backplane

#endif // BACKPLANE_EMIT_CPU_LANETRANSPOSE_H
