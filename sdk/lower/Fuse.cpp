// SPDX-License-Identifier: Apache-2.0
#include "sdk/lower/Fuse.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
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

// ---- Ops that compute several results ----

/// Whether each iteration computes one element of each result, and nothing else
/// happens.
static bool isElementwise(linalg::GenericOp op) {
  auto isIdentity = [&](OpOperand &init) {
    return op.getMatchingIndexingMap(&init).isIdentity();
  };
  return op.getNumReductionLoops() == 0 && isMemoryEffectFree(op) &&
         llvm::all_of(op.getDpsInitsMutable(), isIdentity);
}

/// Whether `b` reads a result of `a`, each element where it is, or both read
/// one tensor in one order.
static bool sharesElements(linalg::GenericOp a, linalg::GenericOp b) {
  return llvm::any_of(b.getDpsInputOperands(), [&](OpOperand *input) {
    AffineMap map = b.getMatchingIndexingMap(input);
    if (input->get().getDefiningOp() == a)
      return map.isIdentity();
    return llvm::any_of(a.getDpsInputOperands(), [&](OpOperand *other) {
      return other->get() == input->get() && map.isPermutation() &&
             a.getMatchingIndexingMap(other) == map;
    });
  });
}

/// Whether `b` needs `a` in any other way than each element where it is.
static bool needsOthers(linalg::GenericOp a, linalg::GenericOp b) {
  for (OpOperand &operand : b->getOpOperands()) {
    Operation *source = operand.get().getDefiningOp();
    if (source == a.getOperation()) {
      if (!b.isDpsInput(&operand) ||
          !b.getMatchingIndexingMap(&operand).isIdentity())
        return true;
      continue;
    }
    SetVector<Operation *> slice;
    if (source && succeeded(getBackwardSlice(operand.get(), &slice)) &&
        slice.contains(a))
      return true;
  }
  return false;
}

/// Whether `a`, which comes first, can be computed where `b` is, with it.
static bool canMerge(linalg::GenericOp a, linalg::GenericOp b) {
  bool isReadLater = llvm::all_of(a->getUsers(), [&](Operation *user) {
    return user == b.getOperation() || b->isBeforeInBlock(user);
  });
  return isReadLater && sharesElements(a, b) && !needsOthers(a, b) &&
         a.getStaticLoopRanges() == b.getStaticLoopRanges();
}

namespace {

/// Operands of the op that two become.
struct Merged {
  SmallVector<Value> inputs, inits;
  SmallVector<AffineMap> maps, initMaps;
};

} // namespace

static Merged collect(linalg::GenericOp a, linalg::GenericOp b) {
  Merged merged;
  for (linalg::GenericOp op : {a, b}) {
    for (OpOperand *input : op.getDpsInputOperands()) {
      if (op == b && input->get().getDefiningOp() == a)
        continue;
      merged.inputs.push_back(input->get());
      merged.maps.push_back(op.getMatchingIndexingMap(input));
    }
    for (OpOperand &init : op.getDpsInitsMutable()) {
      merged.inits.push_back(init.get());
      merged.initMaps.push_back(op.getMatchingIndexingMap(&init));
    }
  }
  llvm::append_range(merged.maps, merged.initMaps);
  return merged;
}

/// Clones the body of `op`, whose arguments are in `mapping`, and returns what
/// it yields.
static SmallVector<Value> cloneBody(OpBuilder &builder, linalg::GenericOp op,
                                    IRMapping &mapping) {
  Block &body = *op.getBody();
  for (Operation &inner : body.without_terminator())
    builder.clone(inner, mapping);
  return llvm::map_to_vector(
      body.getTerminator()->getOperands(),
      [&](Value value) { return mapping.lookupOrDefault(value); });
}

static linalg::GenericOp merge(RewriterBase &rewriter, linalg::GenericOp a,
                               linalg::GenericOp b) {
  Merged merged = collect(a, b);
  rewriter.setInsertionPoint(b);
  auto fill = [&](OpBuilder &builder, Location, ValueRange args) {
    size_t input = 0, init = merged.inputs.size();
    SmallVector<Value> yields;
    for (linalg::GenericOp op : {a, b}) {
      IRMapping mapping;
      for (OpOperand *operand : op.getDpsInputOperands()) {
        auto result = op == b ? dyn_cast<OpResult>(operand->get()) : OpResult();
        bool isOfA = result && result.getOwner() == a.getOperation();
        mapping.map(op.getMatchingBlockArgument(operand),
                    isOfA ? yields[result.getResultNumber()] : args[input++]);
      }
      for (OpOperand &operand : op.getDpsInitsMutable())
        mapping.map(op.getMatchingBlockArgument(&operand), args[init++]);
      llvm::append_range(yields, cloneBody(builder, op, mapping));
    }
    linalg::YieldOp::create(builder, b.getLoc(), yields);
  };
  auto made = linalg::GenericOp::create(
      rewriter, rewriter.getFusedLoc({a.getLoc(), b.getLoc()}),
      TypeRange(ValueRange(merged.inits)), merged.inputs, merged.inits,
      merged.maps, b.getIteratorTypesArray(), fill);
  unsigned count = a->getNumResults();
  rewriter.replaceOp(b, made->getResults().drop_front(count));
  rewriter.replaceOp(a, made->getResults().take_front(count));
  return made;
}

/// Merges elementwise ops of equal loops whose results the function returns,
/// where one of them reads the other or both read one tensor: they are shared
/// between work-groups as one op is, and read what they share once.
static void mergeResults(func::FuncOp function) {
  IRRewriter rewriter(function.getContext());
  Block &block = function.front();
  SetVector<Operation *> found;
  for (Value result : block.getTerminator()->getOperands())
    if (auto op = result.getDefiningOp<linalg::GenericOp>();
        op && isElementwise(op))
      found.insert(op);
  auto ops = found.takeVector();
  llvm::sort(ops,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  linalg::GenericOp last;
  for (Operation *op : ops) {
    auto next = cast<linalg::GenericOp>(op);
    last = last && canMerge(last, next) ? merge(rewriter, last, next) : next;
  }
}

// ---- All of it ----

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
