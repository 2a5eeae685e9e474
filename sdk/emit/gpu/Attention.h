// SPDX-License-Identifier: Apache-2.0
//
// Attention.h: a dispatch of two products with ops on rows between them.
// Private to this folder.
//
//   scores[outer, m, t] = sum over d of Q[outer, m, d] * K[outer, t, d]
//   weights = ops that compute each row of scores from itself alone, and masks
//   C[outer, m, e] = epilogue(sum over t of weights[outer, m, t] * V[outer, t,
//   e])
//
// A work-group computes some rows m of one `outer`. Scores are in its memory,
// for some columns t at a time. The ops between run where an element of weights
// is needed; reductions among them are passes over all columns. Those of a
// softmax are none: maximum and sum run along with the last pass, and earlier
// sums are corrected where the maximum changes.
#ifndef BACKPLANE_EMIT_GPU_ATTENTION_H
#define BACKPLANE_EMIT_GPU_ATTENTION_H

#include "sdk/emit/gpu/Contraction.h"

namespace backplane {

/// weights = powers / divisor or times it, powers = exp(rows - shift), where
/// `divisor` depends on the sum of powers, `shift` on the maximum of rows.
struct RunningSoftmax {
  mlir::linalg::GenericOp top, powers, sum, share;
  GpuOperand shift;   ///< in the body of `powers`, of numbers of the row
  GpuOperand divisor; ///< the same of `share`
  bool divides;
  /// Weights that are no numbers are zeros, as models have it that hide whole
  /// rows. None of a row is a number then: its sum is none.
  bool zeroesNan;
};

/// A reduction of rows that is a pass of its own.
struct RowReduction {
  mlir::linalg::GenericOp op;
  mlir::TypedAttr init;      ///< what it starts with
  mlir::Operation *combiner; ///< see findCombiner()
  unsigned sumOperand;
};

/// A number that scores are multiplied with or divided by.
struct ScoreScale {
  mlir::TypedAttr number;
  bool divides;
};

struct GpuAttention {
  /// Their loops m, n and k are one each, and `outer` in the same order.
  GpuContraction scores, product;
  mlir::Value weights; ///< what `product` reads
  /// Among the ops between, in order; not those of `softmax`.
  llvm::SmallVector<RowReduction> reductions;
  std::optional<RunningSoftmax> softmax;
  /// What the sums of `scores` are scaled by, one after the other.
  llvm::SmallVector<ScoreScale> scales;
};

/// The attention that a bound dispatch (bp-bind-buffers) computes its results
/// from, or none when it is anything else.
std::optional<GpuAttention> matchGpuAttention(mlir::func::FuncOp func,
                                              const GpuTarget &target);

/// Whether a bound dispatch multiplies something that is made of products, as
/// an attention does: element by element, these would be computed again for
/// each result.
bool multipliesProducts(mlir::func::FuncOp func, const GpuTarget &target);

/// Takes numbers by which widened 16-bit floats are scaled from the operands of
/// the scores, which are then nothing but widened. They are returned: the
/// scores have to be scaled in their place.
llvm::SmallVector<ScoreScale> takeScales(GpuAttention &attention);

/// A sum of the scores as the ops behind them read it.
mlir::Value scaled(mlir::ImplicitLocOpBuilder &b, const GpuAttention &attention,
                   mlir::Value sum);

/// Writes the loops in front of the function's end. False where the target has
/// too little memory; a failure has been diagnosed.
mlir::FailureOr<bool> emitGpuAttention(mlir::func::FuncOp func,
                                       GpuAttention &attention);

/// The same by matrix instructions, with scores in registers. False where the
/// unit has none whose sums are factors of the next product, registers are too
/// few or rows are, or the ops between are no softmax.
mlir::FailureOr<bool> emitRegisterAttention(mlir::func::FuncOp func,
                                            GpuAttention &attention,
                                            const MatrixUnit &unit);

/// The same with scores in memory of the work-group. False where the unit has
/// no instructions for both products, or the ops between are no softmax.
mlir::FailureOr<bool> emitMatrixAttention(mlir::func::FuncOp func,
                                          GpuAttention &attention,
                                          const MatrixUnit &unit);

} // namespace backplane

#endif // BACKPLANE_EMIT_GPU_ATTENTION_H
