// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/LaneLoops.h"

#include "sdk/emit/cpu/LaneAccess.h"
#include "sdk/emit/cpu/LaneEmitter.h"
#include "sdk/emit/cpu/LaneGather.h"
#include "sdk/emit/cpu/MultiplyAdd.h"
#include "sdk/lower/Marks.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace backplane {

Value LaneEmitter::indexOf(unsigned number, const Lanes &at) {
  if (number != loop)
    return ivs[number];
  auto type = width.of(builder.getIndexType());
  Value step = vector::StepOp::create(builder, loc, type);
  return arith::AddIOp::create(
      builder, loc, broadcastTo(builder, loc, at.start, width), step);
}

/// The factors of a product that result `number` adds to its accumulator.
static std::optional<std::pair<Value, Value>> addedProduct(linalg::GenericOp op,
                                                           unsigned number) {
  auto sum = dyn_cast_or_null<arith::AddFOp>(findCombiner(op, number));
  if (!sum)
    return std::nullopt;
  bool first = isa<BlockArgument>(sum.getLhs()) &&
               cast<BlockArgument>(sum.getLhs()).getArgNumber() ==
                   op.getNumDpsInputs() + number;
  auto product = (first ? sum.getRhs() : sum.getLhs()).getDefiningOp();
  auto multiply = dyn_cast_or_null<arith::MulFOp>(product);
  if (!multiply || multiply.getLhs() == multiply.getRhs())
    return std::nullopt;
  return std::pair(multiply.getLhs(), multiply.getRhs());
}

SmallVector<Value> LaneEmitter::loadInputs(const Lanes &at) {
  SmallVector<Value> arguments;
  for (auto [i, operand] : llvm::enumerate(op.getDpsInputOperands())) {
    bool used = !op.getBody()->getArgument(i).use_empty();
    arguments.push_back(
        used ? load(*operand, at)
             : arith::ConstantOp::create(
                   builder, loc,
                   builder.getZeroAttr(op.getBody()->getArgument(i).getType()))
                   .getResult());
  }
  ivs[loop] = at.start;
  return arguments;
}

/// Loads the inputs and runs the body once.
SmallVector<Value> LaneEmitter::compute(const Lanes &at,
                                        ValueRange accumulators) {
  SmallVector<Value> arguments = loadInputs(at), wanted;
  llvm::append_range(arguments, accumulators);
  if (loadsElements(op))
    return cloneLoadingBody(builder, op, loop, at, arguments, ivs, width);
  Operation *yield = op.getBody()->getTerminator();
  bool reduces = op.getNumReductionLoops() > 0;
  for (unsigned i = 0; i < yield->getNumOperands(); ++i) {
    auto product = reduces ? addedProduct(op, i) : std::nullopt;
    wanted.push_back(product ? product->first : yield->getOperand(i));
    wanted.push_back(product ? product->second : Value());
  }
  llvm::erase(wanted, Value());
  SmallVector<Value> found = cloneBody(
      builder, loc, *op.getBody(), arguments, width,
      [&](unsigned number) { return indexOf(number, at); }, wanted);
  SmallVector<Value> results;
  ArrayRef<Value> rest(found);
  for (unsigned i = 0; i < yield->getNumOperands(); ++i) {
    if (!reduces || !addedProduct(op, i)) {
      results.push_back(rest.consume_front());
      continue;
    }
    Value a = broadcastTo(builder, loc, rest.consume_front(), width);
    Value b = broadcastTo(builder, loc, rest.consume_front(), width);
    Value sum = broadcastTo(builder, loc, accumulators[i], width);
    results.push_back(multiplyAdd(builder, loc, a, b, sum));
  }
  return results;
}

/// Nested loops that carry values.
SmallVector<Value>
LaneEmitter::carryLoops(ArrayRef<unsigned> loops, SmallVector<Value> carried,
                        function_ref<SmallVector<Value>(ValueRange)> body) {
  if (loops.empty())
    return body(carried);
  auto created = scf::ForOp::create(builder, loc, index(0),
                                    bounds[loops.front()], index(1), carried);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(created.getBody());
  ivs[loops.front()] = created.getInductionVar();
  SmallVector<Value> inner(created.getRegionIterArgs());
  SmallVector<Value> results = carryLoops(loops.drop_front(), inner, body);
  scf::YieldOp::create(builder, loc, results);
  return SmallVector<Value>(created.getResults());
}

/// The largest multiple of the lanes of `vectors` vectors up to `value`.
Value LaneEmitter::roundDown(Value value, int64_t vectors) {
  if (width.scalable) {
    Value step = lanesOf(vectors);
    Value times = arith::DivUIOp::create(builder, loc, value, step);
    return arith::MulIOp::create(builder, loc, times, step);
  }
  int64_t step = width.count * vectors;
  AffineExpr s0 = builder.getAffineSymbolExpr(0);
  auto map = AffineMap::get(0, 1, s0.floorDiv(step) * step);
  OpFoldResult result =
      affine::makeComposedFoldedAffineApply(builder, loc, map, {value});
  return getValueOrCreateConstantIndexOp(builder, loc, result);
}

Lanes LaneEmitter::maskedLanes(Value start) {
  Value left = arith::SubIOp::create(builder, loc, bounds[loop], start);
  Value count = arith::MinSIOp::create(builder, loc, left, laneCount);
  return {start, maskOf(count), count};
}

/// Runs the vectorised loop: `unroll` whole vectors at a time, by the loop that
/// is returned, if any; then the rest one vector at a time under a mask.
scf::ForOp LaneEmitter::forLanes(int64_t unroll,
                                 function_ref<void(ArrayRef<Lanes>)> body) {
  Value bound = bounds[loop];
  std::optional<int64_t> size = getConstantIntValue(bound);
  if (width.scalable)
    size = std::nullopt;
  int64_t step = width.count * unroll;
  Value whole = roundDown(bound, unroll);
  scf::ForOp main;
  if (!size || *size >= step) {
    main = scf::ForOp::create(builder, loc, index(0), whole, lanesOf(unroll));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(main.getBody());
    SmallVector<Lanes> positions;
    for (int64_t i = 0; i < unroll; ++i)
      positions.push_back({addVectors(main.getInductionVar(), i), {}, {}});
    body(positions);
  }
  if (size && *size % step == 0)
    return main;
  auto rest = scf::ForOp::create(builder, loc, whole, bound, laneCount);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(rest.getBody());
  body(maskedLanes(rest.getInductionVar()));
  return main;
}

/// Loads what is the same in all iterations of a loop without others inside.
/// What the loop stores is never read at another place.
void LaneEmitter::loadShared() {
  ivs[loop] = index(0);
  for (OpOperand *operand : op.getDpsInputOperands())
    if (isa<MemRefType>(operand->get().getType()) &&
        laneAccess(op, *operand, loop) == LaneAccess::Uniform &&
        op.payloadUsesValueFromOperand(operand))
      shared[operand] = memref::LoadOp::create(builder, loc, operand->get(),
                                               indices(*operand));
}

/// No loop is a reduction.
void LaneEmitter::emitParallel() {
  loadShared();
  scf::ForOp main = forLanes(1, [&](ArrayRef<Lanes> positions) {
    const Lanes &at = positions.front();
    SmallVector<Value> carried;
    for (OpOperand &init : op.getDpsInitsMutable())
      carried.push_back(
          op.payloadUsesValueFromOperand(&init)
              ? broadcastTo(builder, loc, load(init, at), width)
              : passThrough(width.of(getElementTypeOrSelf(init.get()))));
    SmallVector<Value> results = compute(at, carried);
    for (auto [k, init] : llvm::enumerate(op.getDpsInitsMutable()))
      store(init, results[k], at);
  });
  if (main)
    main->setAttr(bp::lower::independentMark, builder.getUnitAttr());
}

SmallVector<Value> LaneEmitter::startOf(ValueRange values) {
  return splitsExtremes() ? startExtreme(values[0])
                          : SmallVector<Value>(values);
}

SmallVector<Value> LaneEmitter::extend(const Lanes &at, ValueRange carried) {
  return splitsExtremes() ? extendExtreme(at, carried) : compute(at, carried);
}

SmallVector<Value> LaneEmitter::finished(ValueRange carried) {
  return splitsExtremes() ? SmallVector<Value>{finishExtreme(carried)}
                          : SmallVector<Value>(carried);
}

/// One step of partial results: lanes outside keep what they have.
SmallVector<Value> LaneEmitter::combineStep(const Lanes &at,
                                            ValueRange accumulators) {
  SmallVector<Value> next = extend(at, accumulators);
  for (auto [value, old] : llvm::zip(next, accumulators)) {
    value = broadcastTo(builder, loc, value, width);
    if (at.mask && !splitsExtremes())
      value = arith::SelectOp::create(builder, loc, at.mask, value, old);
  }
  return next;
}

/// The vectorised reduction loop itself; `carried` holds `unroll` partial
/// results per output.
SmallVector<Value> LaneEmitter::carryLanes(int64_t unroll,
                                           SmallVector<Value> carried) {
  size_t each = carried.size() / size_t(unroll);
  Value whole = roundDown(bounds[loop], unroll);
  auto main = scf::ForOp::create(builder, loc, index(0), whole, lanesOf(unroll),
                                 carried);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(main.getBody());
    SmallVector<Value> next;
    for (int64_t i = 0; i < unroll; ++i) {
      Lanes at{addVectors(main.getInductionVar(), i), {}, {}};
      llvm::append_range(next, combineStep(at, main.getRegionIterArgs().slice(
                                                   i * each, each)));
    }
    scf::YieldOp::create(builder, loc, next);
  }
  SmallVector<Value> results(main.getResults());
  auto rest = scf::ForOp::create(builder, loc, whole, bounds[loop], laneCount,
                                 ValueRange(results).take_front(each));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(rest.getBody());
  Lanes at = maskedLanes(rest.getInductionVar());
  scf::YieldOp::create(builder, loc, combineStep(at, rest.getRegionIterArgs()));
  llvm::copy(rest.getResults(), results.begin());
  return results;
}

static Value neutral(OpBuilder &builder, Location loc, Operation *combiner,
                     VectorWidth width) {
  TypedAttr value = *arith::getNeutralElement(combiner);
  auto type = width.of(value.getType());
  return arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(type, Attribute(value)));
}

/// All lanes of partial results, and `old`. Of numbers no lane is NaN.
Value LaneEmitter::combineParts(Operation *combiner, ArrayRef<Value> parts,
                                Value old) {
  auto kind = *combiningKind(combiner);
  bool ofNumbers = extremesForget && combiner->hasAttr(bp::lower::numbersMark);
  auto combined = [&](Value a, Value b) {
    Value both = vector::makeArithReduction(builder, loc, kind, a, b);
    if (ofNumbers)
      both.getDefiningOp()->setAttr(bp::lower::numbersMark,
                                    builder.getUnitAttr());
    return both;
  };
  Value all = parts.front();
  for (Value part : parts.drop_front())
    all = combined(all, part);
  Value lanes =
      ofNumbers ? vector::ReductionOp::create(
                      builder, loc, vector::CombiningKind::MAXNUMF, all,
                      arith::FastMathFlags::nnan | arith::FastMathFlags::nsz)
                : vector::ReductionOp::create(builder, loc, kind, all);
  return combined(old, lanes);
}

/// The vectorised loop is a reduction: partial results per lane, combined at
/// the end.
void LaneEmitter::emitReduction(ArrayRef<unsigned> reductions) {
  size_t outputs = op.getNumDpsInits();
  int64_t unroll = bodySize() > 8 ? 2 : 4;
  SmallVector<Operation *> combiners;
  SmallVector<Value> start, carried;
  for (size_t i = 0; i < outputs; ++i) {
    combiners.push_back(findCombiner(op, i));
    start.push_back(neutral(builder, loc, combiners.back(), width));
  }
  for (int64_t i = 0; i < unroll; ++i)
    llvm::append_range(carried, startOf(start));
  carried = carryLoops(reductions, carried, [&](ValueRange values) {
    return carryLanes(unroll, SmallVector<Value>(values));
  });
  ivs[loop] = index(0);
  for (auto [k, init] : llvm::enumerate(op.getDpsInitsMutable())) {
    SmallVector<Value> position = indices(init);
    Value old = memref::LoadOp::create(builder, loc, init.get(), position);
    Value scalar;
    if (splitsExtremes()) {
      scalar = finishRow(carried, unroll, old);
    } else {
      SmallVector<Value> parts;
      for (int64_t i = 0; i < unroll; ++i)
        parts.push_back(carried[i * outputs + k]);
      scalar = combineParts(combiners[k], parts, old);
    }
    memref::StoreOp::create(builder, loc, scalar, init.get(), position);
  }
}

void LaneEmitter::run() {
  readBounds();
  SmallVector<unsigned> outer, reductions;
  for (unsigned i = 0; i < op.getNumLoops(); ++i)
    if (i != loop)
      (isReduction(i) ? reductions : outer).push_back(i);
  if (!isReduction(loop) && !reductions.empty())
    return emitBlocks(outer, reductions);
  forLoops(outer, [&] {
    isReduction(loop) ? emitReduction(reductions) : emitParallel();
  });
}

void emitLaneLoops(OpBuilder &builder, linalg::GenericOp op, unsigned loop,
                   VectorWidth width, bool extremesForget,
                   ArrayRef<Padding> paddings) {
  LaneEmitter(builder, op, loop, width, extremesForget, paddings).run();
}

} // namespace backplane
