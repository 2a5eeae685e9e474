// SPDX-License-Identifier: Apache-2.0
//
// RegisterLoops.h: the loops of an attention whose scores stay in registers,
// and its products. Private to this folder.
#ifndef BACKPLANE_EMIT_GPU_REGISTERLOOPS_H
#define BACKPLANE_EMIT_GPU_REGISTERLOOPS_H

#include "sdk/emit/gpu/RegisterPlan.h"
#include "sdk/emit/gpu/RegisterRows.h"

namespace backplane {

struct RegisterLoops {
  using Value = mlir::Value;
  using Values = llvm::SmallVector<mlir::Value>;

  mlir::ImplicitLocOpBuilder &b;
  GpuAttention &attention;
  const RegisterPlan &plan;
  MatrixScope scores, sums;
  llvm::SmallVector<MatrixScope::Fragments>
      queries; ///< per k of an instruction
  Value end;   ///< of the blocks of columns that rows see

  RegisterLoops(mlir::ImplicitLocOpBuilder &b, GpuAttention &attention,
                const RegisterPlan &plan)
      : b(b), attention(attention), plan(plan),
        scores(b, attention.scores, plan.scores),
        sums(b, attention.product, plan.product) {}

  mlir::LogicalResult emit();
  mlir::FailureOr<Values> run(RegisterRows &rows);
  mlir::FailureOr<Values> runAhead(RegisterRows &rows);
  void findEnd(const RegisterRows &rows);
  mlir::LogicalResult begin();
  mlir::LogicalResult fillQueries();
  void makeBarriers();
  void arrive(int64_t open);
  void waitForKeys(Value first);
  void waitForValues(Value first);
  mlir::LogicalResult fillKeysIfAny(Value first);
  mlir::LogicalResult fillValuesIfAny(Value first);
  mlir::LogicalResult fillKeys(Value first);
  mlir::LogicalResult fillValues(Value first);
  mlir::FailureOr<Values> addBlock(Value first, mlir::ValueRange carried,
                                   RegisterRows &rows);
  mlir::FailureOr<Values> addBlockAhead(Value first, mlir::ValueRange carried,
                                        RegisterRows &rows);
  Values scoresOf(Value first);
  Values beginScores(Value first);
  Values beginWeighted(Value first, mlir::ValueRange words, int64_t parts,
                       mlir::ValueRange old);
  Values weightWords(llvm::ArrayRef<Value> weights);
  Values addFragments(Value first, mlir::ValueRange words, int64_t parts,
                      mlir::ValueRange old);
  mlir::FailureOr<Values> addHidden(Value first, mlir::ValueRange old);
  mlir::FailureOr<Values> runHidden(Value first, mlir::ValueRange old);
  Values waitForProducts(mlir::ValueRange values, int64_t open) {
    return plan.product.products->finish(b, values, open);
  }
  void endGroup();
  void waitForGroups(int64_t open);
  Value stageOf(Value first, int64_t start, int64_t words);
  Value keysAt(Value first) {
    return stageOf(first, plan.scores.a.words(), plan.scores.b.words());
  }
  Value valuesAt(Value first) {
    return stageOf(first, plan.valuesAt(), plan.product.b.words());
  }
  size_t sumCount() const { return size_t(RegisterPlan::sumsOf(plan.product)); }
};

} // namespace backplane

#endif // BACKPLANE_EMIT_GPU_REGISTERLOOPS_H
