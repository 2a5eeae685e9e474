// SPDX-License-Identifier: Apache-2.0
#include "sdk/lower/Fuse.h"

#include "sdk/lower/MergeResults.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace {

/// Bodies that only convert: as cheap to repeat as a load.
bool isCheap(linalg::GenericOp op) {
  return llvm::all_of(op.getBody()->getOperations(), [](Operation &inner) {
    return isa<arith::ExtFOp, arith::TruncFOp, arith::ExtSIOp, arith::ExtUIOp,
               arith::TruncIOp, arith::SIToFPOp, arith::UIToFPOp,
               arith::ConstantOp, linalg::YieldOp>(inner);
  });
}

bool mayFuse(OpOperand *operand) {
  auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
  auto consumer = dyn_cast<linalg::GenericOp>(operand->getOwner());
  if (!producer || !consumer || !isMemoryEffectFree(producer))
    return false;
  bool isOnlyUser = llvm::all_of(producer->getUsers(), [&](Operation *user) {
    return user == consumer.getOperation();
  });
  if (!isOnlyUser)
    return false;
  AffineMap map = consumer.getMatchingIndexingMap(operand);
  if (map.isPermutation())
    return true;
  return map.isProjectedPermutation() && consumer.getNumReductionLoops() == 0 &&
         isCheap(producer);
}

/// Whether each iteration is of other elements of the result.
bool hasNoReduction(Operation *op) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  return generic && generic.getNumReductionLoops() == 0;
}

/// Elementwise ops take on the shape in which a reduction or contraction
/// computes, so that nothing stands between the two.
bool mayExpand(OpOperand *operand) {
  auto collapse = operand->get().getDefiningOp<tensor::CollapseShapeOp>();
  return collapse && hasNoReduction(operand->getOwner()) &&
         llvm::all_of(collapse->getUsers(),
                      [](Operation *user) {
                        return hasNoReduction(user) ||
                               isa<func::ReturnOp>(user);
                      }) &&
         collapse.getSrc().getDefiningOp<linalg::LinalgOp>();
}

/// What only others needed that are not needed either.
void eraseUnused(IRRewriter &rewriter, func::FuncOp function) {
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(function.front())))
    if (isOpTriviallyDead(&op))
      rewriter.eraseOp(&op);
}

} // namespace

LogicalResult bp::lower::fuseElementwise(func::FuncOp function) {
  RewritePatternSet patterns(function.getContext());
  linalg::populateElementwiseOpsFusionPatterns(patterns, mayFuse);
  linalg::populateFoldReshapeOpsByExpansionPatterns(patterns, mayExpand);
  linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
  // A size of what an op computes is no use of it.
  memref::populateResolveRankedShapedTypeResultDimsPatterns(patterns);
  function.getContext()
      ->getLoadedDialect<arith::ArithDialect>()
      ->getCanonicalizationPatterns(patterns);
  IRRewriter rewriter(function.getContext());
  DominanceInfo dominance;
  eraseUnused(rewriter, function);
  // Equal ops first become one, which may then have only one consumer.
  eliminateCommonSubExpressions(rewriter, dominance, function);
  mergeResults(function);
  if (failed(applyPatternsGreedily(function, std::move(patterns))))
    return failure();
  eliminateCommonSubExpressions(rewriter, dominance, function);
  return success();
}
