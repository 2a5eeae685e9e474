// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/LaneLoops.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace backplane {

LaneAccess laneAccess(linalg::GenericOp op, OpOperand &operand, unsigned loop) {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  auto type = dyn_cast<MemRefType>(operand.get().getType());
  if (!type || !map.isFunctionOfDim(loop))
    return LaneAccess::Uniform;
  for (AffineExpr expr : map.getResults().drop_back())
    if (expr.isFunctionOfDim(loop))
      return LaneAccess::Strided;
  // The expression minus the loop, once or twice, no longer depends on it.
  AffineExpr index = map.getResults().back();
  AffineExpr step = getAffineDimExpr(loop, op.getContext());
  auto independent = [&](AffineExpr expr) {
    return !simplifyAffineExpr(expr, map.getNumDims(), 0).isFunctionOfDim(loop);
  };
  if (!type.isLastDimUnitStride())
    return LaneAccess::Strided;
  if (independent(index - step))
    return LaneAccess::Contiguous;
  return independent(index - step * 2) ? LaneAccess::Alternate
                                       : LaneAccess::Strided;
}

static std::optional<vector::CombiningKind> combiningKind(Operation *op) {
  using Kind = vector::CombiningKind;
  return llvm::TypeSwitch<Operation *, std::optional<Kind>>(op)
      .Case<arith::AddFOp, arith::AddIOp>([](auto) { return Kind::ADD; })
      .Case<arith::MulFOp, arith::MulIOp>([](auto) { return Kind::MUL; })
      .Case<arith::MaximumFOp>([](auto) { return Kind::MAXIMUMF; })
      .Case<arith::MinimumFOp>([](auto) { return Kind::MINIMUMF; })
      .Case<arith::MaxNumFOp>([](auto) { return Kind::MAXNUMF; })
      .Case<arith::MinNumFOp>([](auto) { return Kind::MINNUMF; })
      .Case<arith::MaxSIOp>([](auto) { return Kind::MAXSI; })
      .Case<arith::MinSIOp>([](auto) { return Kind::MINSI; })
      .Case<arith::MaxUIOp>([](auto) { return Kind::MAXUI; })
      .Case<arith::MinUIOp>([](auto) { return Kind::MINUI; })
      .Case<arith::AndIOp>([](auto) { return Kind::AND; })
      .Case<arith::OrIOp>([](auto) { return Kind::OR; })
      .Case<arith::XOrIOp>([](auto) { return Kind::XOR; })
      .Default([](Operation *) { return std::nullopt; });
}

/// The combiner of result `number`: yield = combine(accumulator, x), where x
/// does not depend on any accumulator.
static Operation *findCombiner(linalg::GenericOp op, unsigned number) {
  Block *body = op.getBody();
  BlockArgument accumulator = body->getArgument(op.getNumDpsInputs() + number);
  Operation *combiner =
      body->getTerminator()->getOperand(number).getDefiningOp();
  if (!combiner || combiner->getBlock() != body || !combiner->hasOneUse() ||
      !accumulator.hasOneUse() || *accumulator.user_begin() != combiner ||
      !combiningKind(combiner) || !arith::getNeutralElement(combiner))
    return nullptr;
  return combiner;
}

bool canReduceLanes(linalg::GenericOp op) {
  for (unsigned i = 0; i < op.getNumDpsInits(); ++i)
    if (!findCombiner(op, i))
      return false;
  return op.getNumReductionLoops() > 0;
}

bool canScaleLanes(linalg::GenericOp op, unsigned loop) {
  for (OpOperand &operand : op->getOpOperands()) {
    LaneAccess access = laneAccess(op, operand, loop);
    bool scalar = !isa<MemRefType>(operand.get().getType());
    if (!scalar && access != LaneAccess::Contiguous &&
        access != LaneAccess::Uniform)
      return false;
  }
  if (op.getIteratorTypesArray()[loop] == utils::IteratorType::parallel)
    return llvm::all_of(op.getDpsInitsMutable(), [&](OpOperand &init) {
      return laneAccess(op, init, loop) == LaneAccess::Contiguous;
    });
  for (unsigned i = 0; i < op.getNumDpsInits(); ++i) {
    Operation *combiner = findCombiner(op, i);
    if (combiningKind(combiner) == vector::CombiningKind::MUL ||
        combiner->getResult(0).getType().isInteger(1))
      return false;
  }
  return true;
}

namespace {

/// One vector of iterations of the vectorised loop.
struct Lanes {
  Value start; // index of the first lane
  Value mask;  // null: all lanes are inside
  Value count; // number of lanes inside, with a mask
};

struct LaneEmitter {
  OpBuilder &builder;
  linalg::GenericOp op;
  Location loc;
  unsigned loop;
  VectorWidth width;
  Value laneCount;
  SmallVector<Value> bounds, ivs;
  /// Elements that were loaded before the loop, which all its lanes read.
  llvm::SmallDenseMap<OpOperand *, Value> shared;

  LaneEmitter(OpBuilder &builder, linalg::GenericOp op, unsigned loop,
              VectorWidth width)
      : builder(builder), op(op), loc(op.getLoc()), loop(loop), width(width) {}

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  Value add(Value a, int64_t b) {
    return b == 0 ? a : arith::AddIOp::create(builder, loc, a, index(b));
  }
  /// The lanes of `vectors` vectors.
  Value lanesOf(int64_t vectors) {
    return builder.createOrFold<arith::MulIOp>(loc, laneCount, index(vectors));
  }
  Value addVectors(Value a, int64_t vectors) {
    return vectors == 0
               ? a
               : arith::AddIOp::create(builder, loc, a, lanesOf(vectors))
                     .getResult();
  }
  Value roundDown(Value value, int64_t vectors);
  Lanes maskedLanes(Value start);
  bool isReduction(unsigned i) {
    return op.getIteratorTypesArray()[i] == utils::IteratorType::reduction;
  }

  void run();
  void forLoops(ArrayRef<unsigned> loops, function_ref<void()> body);
  void forLanes(int64_t unroll, function_ref<void(ArrayRef<Lanes>)> body);
  SmallVector<Value> carryLoops(ArrayRef<unsigned> loops,
                                SmallVector<Value> carried,
                                function_ref<SmallVector<Value>(ValueRange)>);
  SmallVector<Value> carryLanes(int64_t unroll, SmallVector<Value> carried);
  SmallVector<Value> indices(OpOperand &operand);
  Value load(OpOperand &operand, const Lanes &at);
  Value loadStrided(OpOperand &operand, const Lanes &at);
  Value loadAlternate(OpOperand &operand, const Lanes &at);
  void store(OpOperand &operand, Value value, const Lanes &at);
  void storeStrided(OpOperand &operand, Value value, const Lanes &at);
  SmallVector<Value> compute(const Lanes &at, ValueRange accumulators);
  Value indexOf(unsigned number, const Lanes &at);
  void loadShared();
  void emitParallel(ArrayRef<unsigned> reductions);
  void emitReduction(ArrayRef<unsigned> reductions);
  SmallVector<Value> combineStep(const Lanes &at, ValueRange accumulators);
};

} // namespace

SmallVector<Value> LaneEmitter::indices(OpOperand &operand) {
  SmallVector<Value> result;
  AffineMap map = op.getMatchingIndexingMap(&operand);
  SmallVector<OpFoldResult> operands(ivs.begin(), ivs.end());
  for (unsigned i = 0; i < map.getNumResults(); ++i) {
    OpFoldResult value = affine::makeComposedFoldedAffineApply(
        builder, loc, map.getSubMap({i}), operands);
    result.push_back(getValueOrCreateConstantIndexOp(builder, loc, value));
  }
  return result;
}

/// What masked lanes read: 1 cannot trap in a division.
static Value passThrough(OpBuilder &builder, Location loc, VectorType type) {
  Type element = type.getElementType();
  TypedAttr one = isa<FloatType>(element)
                      ? TypedAttr(builder.getFloatAttr(element, 1.0))
                      : TypedAttr(builder.getIntegerAttr(element, 1));
  return arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(type, Attribute(one)));
}

Value LaneEmitter::loadStrided(OpOperand &operand, const Lanes &at) {
  SmallVector<Value> elements;
  Value last = at.mask ? add(bounds[loop], -1) : Value();
  for (int64_t lane = 0; lane < width.count; ++lane) {
    Value position = add(at.start, lane);
    if (last)
      position = arith::MinSIOp::create(builder, loc, position, last);
    ivs[loop] = position;
    elements.push_back(
        memref::LoadOp::create(builder, loc, operand.get(), indices(operand)));
  }
  ivs[loop] = at.start;
  auto type = width.of(elements.front().getType());
  return vector::FromElementsOp::create(builder, loc, type, elements);
}

/// The even elements of two vectors, without touching what lies behind the last
/// one.
Value LaneEmitter::loadAlternate(OpOperand &operand, const Lanes &at) {
  SmallVector<Value> position = indices(operand);
  auto type = width.of(getElementTypeOrSelf(operand.get().getType()));
  Value count = at.mask ? at.count : laneCount;
  Value touched = add(arith::MulIOp::create(builder, loc, count, index(2)), -1);
  auto part = [&](int64_t offset) -> Value {
    Value left =
        arith::MaxSIOp::create(builder, loc, add(touched, -offset), index(0));
    Value inside = arith::MinSIOp::create(builder, loc, left, laneCount);
    Value mask = vector::CreateMaskOp::create(
        builder, loc, width.of(builder.getI1Type()), inside);
    SmallVector<Value> from(position);
    from.back() = add(from.back(), offset);
    return vector::MaskedLoadOp::create(builder, loc, type, operand.get(), from,
                                        mask, passThrough(builder, loc, type));
  };
  SmallVector<int64_t> even;
  for (int64_t lane = 0; lane < width.count; ++lane)
    even.push_back(2 * lane);
  return vector::ShuffleOp::create(builder, loc, part(0), part(width.count),
                                   even);
}

Value LaneEmitter::load(OpOperand &operand, const Lanes &at) {
  ivs[loop] = at.start;
  if (!isa<MemRefType>(operand.get().getType()))
    return operand.get();
  switch (laneAccess(op, operand, loop)) {
  case LaneAccess::Uniform:
    if (Value known = shared.lookup(&operand))
      return known;
    return memref::LoadOp::create(builder, loc, operand.get(),
                                  indices(operand));
  case LaneAccess::Strided:
    return loadStrided(operand, at);
  case LaneAccess::Alternate:
    return loadAlternate(operand, at);
  case LaneAccess::Contiguous:
    break;
  }
  auto type = width.of(getElementTypeOrSelf(operand.get().getType()));
  if (!at.mask)
    return vector::LoadOp::create(builder, loc, type, operand.get(),
                                  indices(operand));
  return vector::MaskedLoadOp::create(builder, loc, type, operand.get(),
                                      indices(operand), at.mask,
                                      passThrough(builder, loc, type));
}

void LaneEmitter::storeStrided(OpOperand &operand, Value value,
                               const Lanes &at) {
  Value count = at.mask ? at.count : laneCount;
  scf::ForOp::create(
      builder, loc, index(0), count, index(1), ValueRange(),
      [&](OpBuilder &inner, Location, Value lane, ValueRange) {
        ivs[loop] = arith::AddIOp::create(inner, loc, at.start, lane);
        Value element =
            vector::ExtractOp::create(inner, loc, value, OpFoldResult(lane));
        SmallVector<Value> position = indices(operand);
        memref::StoreOp::create(inner, loc, element, operand.get(), position);
        scf::YieldOp::create(inner, loc);
      });
  ivs[loop] = at.start;
}

void LaneEmitter::store(OpOperand &operand, Value value, const Lanes &at) {
  ivs[loop] = at.start;
  value = broadcastTo(builder, loc, value, width);
  if (laneAccess(op, operand, loop) != LaneAccess::Contiguous)
    return storeStrided(operand, value, at);
  if (at.mask)
    vector::MaskedStoreOp::create(builder, loc, operand.get(), indices(operand),
                                  at.mask, value);
  else
    vector::StoreOp::create(builder, loc, value, operand.get(),
                            indices(operand));
}

Value LaneEmitter::indexOf(unsigned number, const Lanes &at) {
  if (number != loop)
    return ivs[number];
  auto type = width.of(builder.getIndexType());
  Value step = vector::StepOp::create(builder, loc, type);
  return arith::AddIOp::create(
      builder, loc, broadcastTo(builder, loc, at.start, width), step);
}

/// Loads the inputs and runs the body once.
SmallVector<Value> LaneEmitter::compute(const Lanes &at,
                                        ValueRange accumulators) {
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
  llvm::append_range(arguments, accumulators);
  ivs[loop] = at.start;
  SmallVector<Value> result =
      cloneBody(builder, loc, *op.getBody(), arguments, width,
                [&](unsigned number) { return indexOf(number, at); });
  return result;
}

void LaneEmitter::forLoops(ArrayRef<unsigned> loops,
                           function_ref<void()> body) {
  if (loops.empty())
    return body();
  auto created = scf::ForOp::create(builder, loc, index(0),
                                    bounds[loops.front()], index(1));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(created.getBody());
  ivs[loops.front()] = created.getInductionVar();
  forLoops(loops.drop_front(), body);
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
  auto type = width.of(builder.getI1Type());
  Value mask = vector::CreateMaskOp::create(builder, loc, type, count);
  return {start, mask, count};
}

/// Runs the vectorised loop: `unroll` whole vectors at a time, then the rest
/// one vector at a time under a mask.
void LaneEmitter::forLanes(int64_t unroll,
                           function_ref<void(ArrayRef<Lanes>)> body) {
  Value bound = bounds[loop];
  std::optional<int64_t> size = getConstantIntValue(bound);
  if (width.scalable)
    size = std::nullopt;
  int64_t step = width.count * unroll;
  Value whole = roundDown(bound, unroll);
  if (!size || *size >= step) {
    auto main =
        scf::ForOp::create(builder, loc, index(0), whole, lanesOf(unroll));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(main.getBody());
    SmallVector<Lanes> positions;
    for (int64_t i = 0; i < unroll; ++i)
      positions.push_back({addVectors(main.getInductionVar(), i), {}, {}});
    body(positions);
  }
  if (size && *size % step == 0)
    return;
  auto rest = scf::ForOp::create(builder, loc, whole, bound, laneCount);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(rest.getBody());
  body(maskedLanes(rest.getInductionVar()));
}

static unsigned bodySize(linalg::GenericOp op) {
  return std::distance(op.getBody()->begin(), op.getBody()->end()) - 1;
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

/// The vectorised loop is parallel: each lane has its own accumulators.
void LaneEmitter::emitParallel(ArrayRef<unsigned> reductions) {
  if (reductions.empty())
    loadShared();
  int64_t unroll = reductions.empty() || bodySize(op) > 6 ? 1 : 4;
  forLanes(unroll, [&](ArrayRef<Lanes> positions) {
    size_t outputs = op.getNumDpsInits();
    SmallVector<Value> carried;
    for (const Lanes &at : positions)
      for (OpOperand &init : op.getDpsInitsMutable())
        carried.push_back(
            op.payloadUsesValueFromOperand(&init)
                ? broadcastTo(builder, loc, load(init, at), width)
                : passThrough(builder, loc,
                              width.of(getElementTypeOrSelf(init.get()))));
    SmallVector<Value> results =
        carryLoops(reductions, carried, [&](ValueRange values) {
          SmallVector<Value> next;
          for (auto [i, at] : llvm::enumerate(positions))
            for (Value value : compute(at, values.slice(i * outputs, outputs)))
              next.push_back(broadcastTo(builder, loc, value, width));
          return next;
        });
    for (auto [i, at] : llvm::enumerate(positions))
      for (auto [k, init] : llvm::enumerate(op.getDpsInitsMutable()))
        store(init, results[i * outputs + k], at);
  });
}

/// One step of partial results: lanes outside keep what they have.
SmallVector<Value> LaneEmitter::combineStep(const Lanes &at,
                                            ValueRange accumulators) {
  SmallVector<Value> next = compute(at, accumulators);
  for (auto [value, old] : llvm::zip(next, accumulators)) {
    value = broadcastTo(builder, loc, value, width);
    if (at.mask)
      value = arith::SelectOp::create(builder, loc, at.mask, value, old);
  }
  return next;
}

/// The vectorised reduction loop itself; `carried` holds `unroll` partial
/// results per output.
SmallVector<Value> LaneEmitter::carryLanes(int64_t unroll,
                                           SmallVector<Value> carried) {
  size_t outputs = op.getNumDpsInits();
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
                                                   i * outputs, outputs)));
    }
    scf::YieldOp::create(builder, loc, next);
  }
  SmallVector<Value> results(main.getResults());
  auto rest = scf::ForOp::create(builder, loc, whole, bounds[loop], laneCount,
                                 ValueRange(results).take_front(outputs));
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

/// The vectorised loop is a reduction: partial results per lane, combined at
/// the end.
void LaneEmitter::emitReduction(ArrayRef<unsigned> reductions) {
  size_t outputs = op.getNumDpsInits();
  int64_t unroll = bodySize(op) > 8 ? 2 : 4;
  SmallVector<Operation *> combiners;
  SmallVector<Value> carried;
  for (size_t i = 0; i < outputs; ++i)
    combiners.push_back(findCombiner(op, i));
  for (int64_t i = 0; i < unroll; ++i)
    for (Operation *combiner : combiners)
      carried.push_back(neutral(builder, loc, combiner, width));
  SmallVector<Value> parts =
      carryLoops(reductions, carried, [&](ValueRange values) {
        return carryLanes(unroll, SmallVector<Value>(values));
      });
  ivs[loop] = index(0);
  for (auto [k, init] : llvm::enumerate(op.getDpsInitsMutable())) {
    auto kind = *combiningKind(combiners[k]);
    Value sum = parts[k];
    for (int64_t i = 1; i < unroll; ++i)
      sum = vector::makeArithReduction(builder, loc, kind, sum,
                                       parts[i * outputs + k]);
    Value scalar = vector::ReductionOp::create(builder, loc, kind, sum);
    SmallVector<Value> position = indices(init);
    Value old = memref::LoadOp::create(builder, loc, init.get(), position);
    scalar = vector::makeArithReduction(builder, loc, kind, old, scalar);
    memref::StoreOp::create(builder, loc, scalar, init.get(), position);
  }
}

void LaneEmitter::run() {
  laneCount = width.lanes(builder, loc);
  auto ranges =
      cast<linalg::LinalgOp>(op.getOperation()).createLoopRanges(builder, loc);
  SmallVector<unsigned> outer, reductions;
  for (auto [i, range] : llvm::enumerate(ranges)) {
    bounds.push_back(getValueOrCreateConstantIndexOp(builder, loc, range.size));
    ivs.push_back(Value());
    if (i != loop)
      (isReduction(i) ? reductions : outer).push_back(i);
  }
  bool reduce = isReduction(loop);
  forLoops(outer, [&] {
    reduce ? emitReduction(reductions) : emitParallel(reductions);
  });
}

void emitLaneLoops(OpBuilder &builder, linalg::GenericOp op, unsigned loop,
                   VectorWidth width) {
  LaneEmitter(builder, op, loop, width).run();
}

} // namespace backplane
