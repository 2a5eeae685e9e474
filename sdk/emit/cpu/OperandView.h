// SPDX-License-Identifier: Apache-2.0
//
// OperandView.h: a tensor that is an argument or a constant in another order:
// sliced, transposed, with axes split or removed, scaled. It is read where the
// argument lies. Private to this folder.
#ifndef BACKPLANE_EMIT_CPU_OPERANDVIEW_H
#define BACKPLANE_EMIT_CPU_OPERANDVIEW_H

#include "sdk/emit/cpu/ContractOperands.h"

#include <optional>

namespace backplane {

struct OperandView {
  mlir::Value memref; ///< dense
  mlir::Value origin; ///< number of the first element
  /// Per axis of the tensor: the axes of the argument that it merges.
  llvm::SmallVector<llvm::SmallVector<AxisPart, 1>> axes;
  /// Each makes an element from the one before, in this order.
  llvm::SmallVector<mlir::linalg::GenericOp> bodies;

  mlir::Value sizeOf(const VectorBuilder &builder, size_t axis) const;
  /// The elements, as loops read the tensor: each axis by one loop.
  FlatOperand flat(const VectorBuilder &builder, mlir::AffineMap map) const;
};

/// A dense memref in its own order.
OperandView wholeView(const VectorBuilder &builder, mlir::Value memref);

/// None where `tensor` is anything else. Makes index arithmetic at the
/// insertion point, behind all that the tensor is made of.
std::optional<OperandView> viewOperand(const VectorBuilder &builder,
                                       mlir::Value tensor);

} // namespace backplane

#endif // BACKPLANE_EMIT_CPU_OPERANDVIEW_H
