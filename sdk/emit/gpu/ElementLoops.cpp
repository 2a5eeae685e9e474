// SPDX-License-Identifier: Apache-2.0
//
// Elements of linalg.generic: its body for one point of its loops, within
// loops of its own over those that the result does not name.
#include "sdk/emit/gpu/ElementReader.h"
#include "sdk/emit/gpu/Reduction.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace backplane;

ElementReader::Values ElementReader::loopSizes(linalg::GenericOp op) {
  Values sizes(op.getNumLoops());
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (auto [axis, expr] : llvm::enumerate(map.getResults()))
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        if (!sizes[dim.getPosition()])
          sizes[dim.getPosition()] =
              size(op.getLoc(), operand.get(), int64_t(axis));
  }
  return sizes;
}

static Value apply(OpBuilder &builder, Location loc, AffineMap map,
                   unsigned result, ValueRange loops) {
  AffineExpr expr = map.getResult(result);
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return loops[dim.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return arith::ConstantIndexOp::create(builder, loc, constant.getValue());
  return affine::AffineApplyOp::create(builder, loc, map.getSubMap({result}),
                                       loops);
}

Value ElementReader::operand(linalg::GenericOp op, OpOperand &operand,
                             ValueRange loops) {
  if (!isa<RankedTensorType>(operand.get().getType()))
    return operand.get();
  AffineMap map = op.getMatchingIndexingMap(&operand);
  Values at;
  for (unsigned i = 0; i < map.getNumResults(); ++i)
    at.push_back(apply(builder, op.getLoc(), map, i, loops));
  return read(operand.get(), at);
}

/// Replaces what stands for indices and elements within a copied op.
LogicalResult ElementReader::rewriteInner(Operation *root, ValueRange loops) {
  SmallVector<Operation *> inner;
  root->walk([&](Operation *op) {
    if (isa<linalg::IndexOp, tensor::ExtractOp>(op))
      inner.push_back(op);
  });
  for (Operation *op : inner) {
    OpBuilder::InsertionGuard guard(builder);
    Scope scope(*this);
    builder.setInsertionPoint(op);
    Value value;
    if (auto index = dyn_cast<linalg::IndexOp>(op))
      value = loops[index.getDim()];
    else if (auto extract = cast<tensor::ExtractOp>(op))
      value = read(extract.getTensor(), extract.getIndices());
    if (!value)
      return failure();
    op->replaceAllUsesWith(ValueRange(value));
    op->erase();
  }
  return success();
}

FailureOr<ElementReader::Values> ElementReader::runBody(linalg::GenericOp op,
                                                        ValueRange loops,
                                                        ValueRange outputs) {
  IRMapping map;
  Block *body = op.getBody();
  for (OpOperand *input : op.getDpsInputOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(input);
    if (argument.use_empty())
      continue;
    Value element = operand(op, *input, loops);
    if (!element)
      return failure();
    map.map(argument, element);
  }
  for (auto [argument, value] : llvm::zip(op.getRegionOutputArgs(), outputs))
    map.map(argument, value);
  for (Operation &inner : body->without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
      map.map(index.getResult(), loops[index.getDim()]);
      continue;
    }
    if (auto extract = dyn_cast<tensor::ExtractOp>(inner)) {
      Values at;
      for (Value i : extract.getIndices())
        at.push_back(map.lookupOrDefault(i));
      Value element = read(extract.getTensor(), at);
      if (!element)
        return failure();
      map.map(extract.getResult(), element);
      continue;
    }
    Operation *copy = builder.clone(inner, map);
    if (copy->getNumRegions() && failed(rewriteInner(copy, loops)))
      return failure();
  }
  Values results;
  for (Value value : body->getTerminator()->getOperands())
    results.push_back(map.lookupOrDefault(value));
  return results;
}

/// What adds up the sums of an op in floating point; null for any other op.
static Operation *findSum(linalg::GenericOp op, unsigned &sumOperand) {
  Type type = getElementTypeOrSelf(op.getDpsInits().front().getType());
  if (op.getNumDpsInits() != 1 || !isa<FloatType>(type))
    return nullptr;
  return dyn_cast_if_present<arith::AddFOp>(
      findCombiner(op, FloatAttr::get(type, 0.0), sumOperand));
}

/// Loops over those that are not known yet. Of several the innermost adds up
/// from zero: one chain over all would round as often as there are terms.
Value ElementReader::reduce(OpResult result, linalg::GenericOp op, Values loops,
                            Values outputs) {
  OpBuilder::InsertionGuard guard(builder);
  Scope scope(*this);
  ImplicitLocOpBuilder b(op.getLoc(), builder);
  SmallVector<unsigned> open;
  for (auto [i, loop] : llvm::enumerate(loops))
    if (!loop)
      open.push_back(unsigned(i));
  unsigned sumOperand = 0;
  Operation *sum = open.size() > 1 ? findSum(op, sumOperand) : nullptr;
  Values sizes = loopSizes(op);
  Value zero = arith::ConstantIndexOp::create(b, 0);
  Value one = arith::ConstantIndexOp::create(b, 1);
  SmallVector<scf::ForOp> nest;
  for (unsigned i : open) {
    if (sum && i == open.back())
      outputs = {arith::ConstantOp::create(
          builder, op.getLoc(), b.getZeroAttr(outputs.front().getType()))};
    nest.push_back(
        scf::ForOp::create(builder, op.getLoc(), zero, sizes[i], one, outputs));
    loops[i] = nest.back().getInductionVar();
    outputs = Values(nest.back().getRegionIterArgs());
    builder.setInsertionPointToStart(nest.back().getBody());
  }
  FailureOr<Values> values = runBody(op, loops, outputs);
  if (failed(values))
    return {};
  for (scf::ForOp loop : llvm::reverse(nest)) {
    scf::YieldOp::create(builder, op.getLoc(), *values);
    values = Values(loop.getResults());
    builder.setInsertionPointAfter(loop);
    if (sum && loop == nest.back())
      values = Values{combinePartial(builder, sum, sumOperand,
                                     nest[nest.size() - 2].getRegionIterArg(0),
                                     loop.getResult(0))};
  }
  return (*values)[result.getResultNumber()];
}

Value ElementReader::ofGeneric(OpResult result, ValueRange at) {
  auto op = cast<linalg::GenericOp>(result.getOwner());
  AffineMap map =
      op.getMatchingIndexingMap(op.getDpsInitOperand(result.getResultNumber()));
  Values loops(op.getNumLoops());
  for (auto [axis, expr] : llvm::enumerate(map.getResults()))
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      loops[dim.getPosition()] = at[axis];
  for (auto [loop, type] : llvm::zip(loops, op.getIteratorTypesArray()))
    if (!loop && type == utils::IteratorType::parallel) {
      op.emitOpError("has a parallel loop that result ")
          << result.getResultNumber() << " does not name";
      return {};
    }
  Values outputs;
  for (OpOperand &init : op.getDpsInitsMutable()) {
    bool used = op.payloadUsesValueFromOperand(&init);
    Builder b(op.getLoc(), builder);
    Type type = getElementTypeOrSelf(init.get().getType());
    Value start = used ? operand(op, init, loops)
                       : Value(arith::ConstantOp::create(
                             b, cast<TypedAttr>(b.getZeroAttr(type))));
    if (!start)
      return {};
    outputs.push_back(start);
  }
  if (!llvm::is_contained(loops, Value())) {
    auto values = runBody(op, loops, outputs);
    return failed(values) ? Value() : (*values)[result.getResultNumber()];
  }
  return reduce(result, op, loops, outputs);
}
