// SPDX-License-Identifier: Apache-2.0
//
// ContractOperands.h: the operands of a contraction as linear memory. Private
// to this folder.
#ifndef BACKPLANE_EMIT_CPU_CONTRACTOPERANDS_H
#define BACKPLANE_EMIT_CPU_CONTRACTOPERANDS_H

#include "sdk/emit/cpu/Contraction.h"
#include "sdk/emit/cpu/VectorBuilder.h"

namespace backplane {

/// A loop in mixed radix, last part fastest: elements from one index of the
/// part to the next (null: 0), and how many there are.
struct AxisPart {
  mlir::Value stride, size;
};

/// An outer loop in whose parts, not in itself, the index of an element is
/// linear.
struct SplitLoop {
  unsigned loop;
  llvm::SmallVector<AxisPart> parts;
};

/// An operand as one run of elements: the index of an element is linear in the
/// loops.
struct FlatOperand {
  mlir::Value memref;                     ///< rank 1
  llvm::SmallVector<mlir::Value> strides; ///< per loop; null: 0
  mlir::Value origin = {}; ///< index where all loops are 0; null: 0
  llvm::SmallVector<SplitLoop, 1> splits = {};
  bool unitStride(unsigned loop) const;
};

/// An axis of B whose index may lie in the padding.
struct PaddedAxis {
  llvm::SmallVector<int64_t> factors; ///< of the index, per loop
  mlir::Value low, size;
};

/// What a contraction reads and writes, and how large it is.
struct ContractOperands {
  llvm::SmallVector<mlir::Value> sizes; ///< per loop
  mlir::Value sizeM, sizeN, sizeK;      ///< of the merged loops
  FlatOperand a, b;
  llvm::SmallVector<FlatOperand> destinations; ///< per result
  llvm::SmallVector<FlatOperand> epilogue;     ///< null where it is C
  llvm::SmallVector<PaddedAxis> padded;
};

/// The factor of a loop in a linear expression.
int64_t factorOf(mlir::AffineExpr expr, unsigned loop);

/// The elements of a dense memref as rank 1.
mlir::Value flatMemref(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value memref);

ContractOperands readOperands(const VectorBuilder &builder, Contraction c);

} // namespace backplane

#endif // BACKPLANE_EMIT_CPU_CONTRACTOPERANDS_H
