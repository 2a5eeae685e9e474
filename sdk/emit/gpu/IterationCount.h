// SPDX-License-Identifier: Apache-2.0
//
// IterationCount.h: how many turns the loops of an invocation have, as far as
// known before they begin. Private to this folder.
#ifndef BACKPLANE_EMIT_GPU_ITERATIONCOUNT_H
#define BACKPLANE_EMIT_GPU_ITERATIONCOUNT_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace backplane {

/// Of scf.for, without results: each iteration is for other invocations, so
/// that what is inside counts as if there were one.
inline constexpr llvm::StringLiteral inTurnMark = "bp.in_turn";

/// How many iterations of a loop bp-to-gpu-entry does at once.
uint64_t iterationsAtOnce(mlir::scf::ForOp loop);

/// Turns of loops: what is known of them, plus a value.
struct IterationCount {
  double known = 0;
  mlir::Value more; ///< f32, null: nothing
};

/// Counts where its builder stands.
class IterationCounter {
public:
  explicit IterationCounter(mlir::ImplicitLocOpBuilder &builder)
      : b_(builder) {}

  mlir::Value number(double value);
  mlir::Value total(IterationCount count);
  IterationCount sum(IterationCount a, IterationCount b);
  /// The iterations of a loop and of those inside, in front of `outermost`. A
  /// loop whose bounds are made behind that counts as one iteration.
  IterationCount iterations(mlir::scf::ForOp loop, mlir::Operation *outermost);
  /// The same for all loops of a block.
  IterationCount inside(mlir::Block &block, mlir::Operation *outermost);

private:
  IterationCount product(IterationCount a, IterationCount b);
  IterationCount trips(mlir::scf::ForOp loop, mlir::Operation *outermost);
  mlir::Value toFloat(mlir::Value index);

  mlir::ImplicitLocOpBuilder &b_;
};

} // namespace backplane

#endif // BACKPLANE_EMIT_GPU_ITERATIONCOUNT_H
