// SPDX-License-Identifier: Apache-2.0
//
// AttentionLoops.h: the loops of an attention for a work-group, whoever
// multiplies. Private to this folder.
#ifndef BACKPLANE_EMIT_GPU_ATTENTIONLOOPS_H
#define BACKPLANE_EMIT_GPU_ATTENTIONLOOPS_H

#include "sdk/emit/gpu/AttentionRows.h"

namespace backplane {

/// Tells the scope of the scores where that of the product is, which is within
/// the loop of work-groups.
void enterScores(ContractScope &scores, const ContractScope &product);

class AttentionLoops {
public:
  using Value = mlir::Value;
  using Values = llvm::SmallVector<mlir::Value>;

  /// A block has so many columns of scores.
  AttentionLoops(mlir::ImplicitLocOpBuilder &b, GpuAttention &attention,
                 ContractScope &product, int64_t columns)
      : b(b), attention(attention), product(product), columns(columns) {}
  virtual ~AttentionLoops() = default;

protected:
  /// All of it, within the loop of work-groups.
  mlir::LogicalResult run(AttentionRows &rows);

  /// What comes in front of the last pass.
  virtual mlir::LogicalResult begin() { return mlir::success(); }
  /// Scores of the columns from `first` on to memory; a barrier at the end.
  virtual mlir::LogicalResult computeScores(Value first) = 0;
  /// The sums of an invocation, as they begin.
  virtual Values startSums() = 0;
  virtual void scaleSums(Values &sums, AttentionRows &rows) = 0;
  /// Adds the products of the weights in memory.
  virtual mlir::FailureOr<Values> addWeighted(Value first,
                                              mlir::ValueRange sums) = 0;
  virtual mlir::LogicalResult finish(mlir::ValueRange sums) = 0;

  mlir::ImplicitLocOpBuilder &b;
  GpuAttention &attention;
  ContractScope &product;
  int64_t columns;

private:
  mlir::LogicalResult reduce(const RowReduction &reduction,
                             AttentionRows &rows);
};

} // namespace backplane

#endif // BACKPLANE_EMIT_GPU_ATTENTIONLOOPS_H
