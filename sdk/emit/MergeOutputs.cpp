// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/MergeOutputs.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"

using namespace mlir;

namespace backplane {

static bool isElementwise(linalg::GenericOp op) {
  return op && op.getNumReductionLoops() == 0 && isMemoryEffectFree(op);
}

/// Whether the op that feeds this operand can be computed by its consumer:
/// nothing but results of the dispatch needs it besides. A second operand of
/// the consumer that it feeds would become a use of the merged op by itself.
static bool canMerge(OpOperand &operand) {
  auto producer = operand.get().getDefiningOp<linalg::GenericOp>();
  Operation *consumer = operand.getOwner();
  if (!isElementwise(producer) || producer->hasOneUse() ||
      !linalg::areElementwiseOpsFusable(&operand))
    return false;
  return llvm::all_of(producer->getUses(), [&](OpOperand &use) {
    return &use == &operand ||
           (use.getOwner() != consumer &&
            isa<bufferization::MaterializeInDestinationOp>(use.getOwner()));
  });
}

static bool mergeOne(func::FuncOp func) {
  IRRewriter rewriter(func.getContext());
  for (auto consumer : func.getOps<linalg::GenericOp>()) {
    if (!isElementwise(consumer))
      continue;
    for (OpOperand *operand : consumer.getDpsInputOperands()) {
      if (!canMerge(*operand))
        continue;
      Operation *producer = operand->get().getDefiningOp();
      rewriter.setInsertionPoint(consumer);
      auto merged = linalg::fuseElementwiseOps(rewriter, operand);
      if (failed(merged))
        continue;
      for (auto [from, to] : merged->replacements)
        rewriter.replaceAllUsesWith(from, to);
      rewriter.eraseOp(consumer);
      if (producer->use_empty())
        rewriter.eraseOp(producer);
      return true;
    }
  }
  return false;
}

void mergeElementwiseOutputs(func::FuncOp func) {
  while (mergeOne(func)) {
  }
}

} // namespace backplane
