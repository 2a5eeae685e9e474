// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/common/MergeOutputs.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace backplane {

static bool isElementwise(linalg::GenericOp op) {
  return op && op.getNumReductionLoops() == 0 && isMemoryEffectFree(op);
}

/// Whether the op states a result, or joins axes of what others state.
static bool isResult(Operation *op) {
  if (isa<tensor::CollapseShapeOp>(op))
    return llvm::all_of(op->getUsers(), [](Operation *user) {
      return isa<bufferization::MaterializeInDestinationOp>(user);
    });
  return isa<bufferization::MaterializeInDestinationOp>(op);
}

/// Moves what joins axes of results behind the op that makes them.
static void placeJoins(Operation *op) {
  for (Operation *user : op->getUsers())
    if (isa<tensor::CollapseShapeOp>(user))
      user->moveAfter(op);
}

/// Whether each element of the operand is read at all: a loop of the op that it
/// does not follow may have no iterations, unless its size is known.
static bool readsAll(OpOperand &operand) {
  auto op = cast<linalg::GenericOp>(operand.getOwner());
  AffineMap map = op.getMatchingIndexingMap(&operand);
  for (auto [loop, size] : llvm::enumerate(op.getStaticLoopRanges()))
    if (!map.isFunctionOfDim(unsigned(loop)) &&
        (ShapedType::isDynamic(size) || size == 0))
      return false;
  return true;
}

/// Whether the op that feeds this operand can be computed by its consumer:
/// nothing but results of the dispatch needs it besides. A second operand of
/// the consumer that it feeds would become a use of the merged op by itself.
static bool canMerge(OpOperand &operand) {
  auto producer = operand.get().getDefiningOp<linalg::GenericOp>();
  Operation *consumer = operand.getOwner();
  if (!isElementwise(producer) || producer->hasOneUse() || !readsAll(operand) ||
      !linalg::areElementwiseOpsFusable(&operand))
    return false;
  return llvm::all_of(producer->getUses(), [&](OpOperand &use) {
    return &use == &operand ||
           (use.getOwner() != consumer && isResult(use.getOwner()));
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
      placeJoins(merged->fusedOp);
      rewriter.eraseOp(consumer);
      if (producer->use_empty())
        rewriter.eraseOp(producer);
      return true;
    }
  }
  return false;
}

/// The input of `op` that is this value, read in the order of the loops.
static OpOperand *readInOrder(linalg::GenericOp op, Value value) {
  for (OpOperand *input : op.getDpsInputOperands())
    if (input->get() == value && op.getMatchingIndexingMap(input).isIdentity())
      return input;
  return nullptr;
}

static bool givesResultsOnly(linalg::GenericOp op) {
  return llvm::all_of(op->getUsers(), isResult);
}

static bool writesInOrder(linalg::GenericOp op) {
  return isElementwise(op) && givesResultsOnly(op) &&
         llvm::all_of(op.getDpsInitsMutable(), [&](OpOperand &init) {
           return op.getMatchingIndexingMap(&init).isIdentity();
         });
}

/// Whether both make results of the dispatch from one reduction or
/// contraction, element by element.
static bool areSiblings(linalg::GenericOp first, linalg::GenericOp second) {
  if (!writesInOrder(first) || !writesInOrder(second))
    return false;
  return llvm::any_of(first.getDpsInputOperands(), [&](OpOperand *input) {
    auto producer = input->get().getDefiningOp<linalg::LinalgOp>();
    return producer && producer.getNumReductionLoops() != 0 &&
           readInOrder(first, input->get()) &&
           readInOrder(second, input->get());
  });
}

namespace {

/// What two ops become together.
struct Merged {
  SmallVector<Value> inputs, outputs;
  SmallVector<AffineMap> inputMaps, outputMaps;
  SmallVector<std::pair<linalg::GenericOp, SmallVector<unsigned>>> parts;

  unsigned inputOf(Value value, AffineMap map) {
    for (auto [i, input] : llvm::enumerate(inputs))
      if (input == value && inputMaps[i] == map)
        return unsigned(i);
    inputs.push_back(value);
    inputMaps.push_back(map);
    return unsigned(inputs.size() - 1);
  }

  void add(linalg::GenericOp op) {
    SmallVector<unsigned> from;
    for (OpOperand *input : op.getDpsInputOperands())
      from.push_back(inputOf(input->get(), op.getMatchingIndexingMap(input)));
    for (OpOperand &init : op.getDpsInitsMutable()) {
      outputs.push_back(init.get());
      outputMaps.push_back(op.getMatchingIndexingMap(&init));
    }
    parts.emplace_back(op, std::move(from));
  }

  /// The bodies one after the other.
  void build(OpBuilder &builder, Location loc, ValueRange args) {
    SmallVector<Value> yielded;
    size_t output = inputs.size();
    for (auto &[op, from] : parts) {
      IRMapping mapping;
      Block &body = *op.getBody();
      for (auto [i, number] : llvm::enumerate(from))
        mapping.map(body.getArgument(unsigned(i)), args[number]);
      for (size_t i = from.size(); i < body.getNumArguments(); ++i)
        mapping.map(body.getArgument(unsigned(i)), args[output++]);
      for (Operation &inner : body.without_terminator())
        builder.clone(inner, mapping);
      for (Value value : body.getTerminator()->getOperands())
        yielded.push_back(mapping.lookupOrDefault(value));
    }
    linalg::YieldOp::create(builder, loc, yielded);
  }
};

} // namespace

/// In the place of the second, behind all that either reads.
static void mergePair(linalg::GenericOp first, linalg::GenericOp second) {
  Merged merged;
  merged.add(first);
  merged.add(second);
  SmallVector<AffineMap> maps(merged.inputMaps);
  llvm::append_range(maps, merged.outputMaps);
  OpBuilder builder(second);
  auto both = linalg::GenericOp::create(
      builder, second.getLoc(), ValueRange(merged.outputs).getTypes(),
      merged.inputs, merged.outputs, maps, second.getIteratorTypesArray(),
      [&](OpBuilder &nested, Location loc, ValueRange args) {
        merged.build(nested, loc, args);
      });
  size_t next = 0;
  for (auto &[op, from] : merged.parts) {
    for (Value result : op.getResults())
      result.replaceAllUsesWith(both.getResult(unsigned(next++)));
    op.erase();
  }
  placeJoins(both);
}

static bool mergeSiblings(func::FuncOp func) {
  SmallVector<linalg::GenericOp> ops(func.getOps<linalg::GenericOp>());
  for (size_t i = 0; i < ops.size(); ++i)
    for (size_t j = i + 1; j < ops.size(); ++j)
      if (areSiblings(ops[i], ops[j])) {
        mergePair(ops[i], ops[j]);
        return true;
      }
  return false;
}

void mergeElementwiseOutputs(func::FuncOp func) {
  while (mergeOne(func) || mergeSiblings(func)) {
  }
}

} // namespace backplane
