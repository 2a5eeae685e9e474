// SPDX-License-Identifier: Apache-2.0
//
// VectorBody.h: the scalar body of a linalg.generic, computed on vectors. Used
// by bp-vectorize for whole ops and by bp-contract for epilogues in registers.
// Private to this folder.
#ifndef BACKPLANE_EMIT_CPU_VECTORBODY_H
#define BACKPLANE_EMIT_CPU_VECTORBODY_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace backplane {

/// Lanes of a vector: `count`, times vscale when it is scalable.
struct VectorWidth {
  int64_t count;
  bool scalable;
  VectorWidth(int64_t count, bool scalable = false)
      : count(count), scalable(scalable) {}

  mlir::VectorType of(mlir::Type element) const {
    return mlir::VectorType::get({count}, element, {scalable});
  }
  /// The number of lanes as an index.
  mlir::Value lanes(mlir::OpBuilder &builder, mlir::Location loc) const;
};

/// Whether an op on elements can be one on vectors of them.
bool isLaneByLane(mlir::Operation &op);

/// Whether every op of the body works lane by lane.
bool canVectorizeBody(mlir::Block &body);

/// Bits of the widest element that the op reads, writes or computes.
unsigned widestElementBits(mlir::linalg::GenericOp op);

/// `value`, or a vector of copies when it is a scalar.
mlir::Value broadcastTo(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value value, VectorWidth width);

/// Copies one elementwise op, on vectors when one of its operands is a vector.
void cloneOp(mlir::OpBuilder &builder, mlir::Location loc, mlir::Operation &op,
             mlir::IRMapping &map, VectorWidth width);

/// Copies the body to the insertion point with its arguments replaced by
/// `arguments` (scalars where they are the same for all lanes, else vectors)
/// and gives what becomes of `wanted`, values of the body. `indexOf` gives loop
/// indices.
llvm::SmallVector<mlir::Value>
cloneBody(mlir::OpBuilder &builder, mlir::Location loc, mlir::Block &body,
          mlir::ValueRange arguments, VectorWidth width,
          llvm::function_ref<mlir::Value(unsigned loop)> indexOf,
          mlir::ValueRange wanted);

/// The same with what the body yields.
llvm::SmallVector<mlir::Value>
cloneBody(mlir::OpBuilder &builder, mlir::Location loc, mlir::Block &body,
          mlir::ValueRange arguments, VectorWidth width,
          llvm::function_ref<mlir::Value(unsigned loop)> indexOf);

/// Copies what `value` is computed from, up to `argument`, which is replaced by
/// `replacement` (a scalar or a vector).
mlir::Value cloneValue(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value value, mlir::BlockArgument argument,
                       mlir::Value replacement, VectorWidth width);

} // namespace backplane

#endif // BACKPLANE_EMIT_CPU_VECTORBODY_H
