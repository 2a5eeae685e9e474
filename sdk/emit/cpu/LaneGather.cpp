// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/LaneGather.h"

#include "sdk/emit/cpu/LaneAccess.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace backplane {

namespace {

/// How a value of the body differs from lane to lane.
enum class Lane {
  Same,
  Next,     ///< one more than in the lane before
  Previous, ///< one less
  Near,     ///< one of these three
  Any,
};

/// How the elements are that a load reads in the lanes.
enum class LoadKind { Same, Contiguous, Near, Gathered, None };

} // namespace

static Lane laneOf(linalg::GenericOp op, unsigned loop, Value value);

static Lane laneOfSum(linalg::GenericOp op, unsigned loop, Operation *sum) {
  Lane a = laneOf(op, loop, sum->getOperand(0));
  Lane b = laneOf(op, loop, sum->getOperand(1));
  if (a == Lane::Same)
    return b;
  return b == Lane::Same ? a : Lane::Any;
}

/// What is subtracted runs the other way.
static Lane laneOfDifference(linalg::GenericOp op, unsigned loop,
                             Operation *difference) {
  Lane a = laneOf(op, loop, difference->getOperand(0));
  Lane b = laneOf(op, loop, difference->getOperand(1));
  if (b == Lane::Same)
    return a;
  if (a != Lane::Same)
    return Lane::Any;
  if (b == Lane::Next)
    return Lane::Previous;
  return b == Lane::Previous ? Lane::Next : b;
}

/// The larger or smaller of two that go in small steps does so, too.
static Lane laneOfExtreme(linalg::GenericOp op, unsigned loop,
                          Operation *extreme) {
  Lane a = laneOf(op, loop, extreme->getOperand(0));
  Lane b = laneOf(op, loop, extreme->getOperand(1));
  if (a == Lane::Any || b == Lane::Any)
    return Lane::Any;
  return a == Lane::Same && b == Lane::Same ? Lane::Same : Lane::Near;
}

static Lane laneOfApply(linalg::GenericOp op, unsigned loop,
                        affine::AffineApplyOp apply) {
  AffineMap map = apply.getAffineMap();
  AffineExpr expr = map.getResult(0);
  bool same = true;
  for (auto [i, operand] : llvm::enumerate(apply.getMapOperands())) {
    Lane lane = laneOf(op, loop, operand);
    if (lane == Lane::Same)
      continue;
    AffineExpr symbol =
        i < map.getNumDims()
            ? getAffineDimExpr(i, op.getContext())
            : getAffineSymbolExpr(i - map.getNumDims(), op.getContext());
    AffineExpr rest = simplifyAffineExpr(expr - symbol, map.getNumDims(),
                                         map.getNumSymbols());
    bool once = i < map.getNumDims()
                    ? !rest.isFunctionOfDim(i)
                    : !rest.isFunctionOfSymbol(i - map.getNumDims());
    if (!same || lane != Lane::Next || !once)
      return Lane::Any;
    same = false;
  }
  return same ? Lane::Same : Lane::Next;
}

static Lane laneOf(linalg::GenericOp op, unsigned loop, Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getOwner() != op.getBody())
      return Lane::Same;
    OpOperand &operand = op->getOpOperand(argument.getArgNumber());
    return laneAccess(op, operand, loop) == LaneAccess::Uniform ? Lane::Same
                                                                : Lane::Any;
  }
  Operation *from = value.getDefiningOp();
  if (from->getBlock() != op.getBody())
    return Lane::Same;
  if (auto index = dyn_cast<linalg::IndexOp>(from))
    return index.getDim() == loop ? Lane::Next : Lane::Same;
  if (isa<arith::AddIOp>(from))
    return laneOfSum(op, loop, from);
  if (isa<arith::SubIOp>(from))
    return laneOfDifference(op, loop, from);
  if (isa<arith::MaxSIOp, arith::MinSIOp>(from))
    return laneOfExtreme(op, loop, from);
  if (auto apply = dyn_cast<affine::AffineApplyOp>(from))
    return laneOfApply(op, loop, apply);
  bool same = llvm::all_of(from->getOperands(), [&](Value operand) {
    return laneOf(op, loop, operand) == Lane::Same;
  });
  return same ? Lane::Same : Lane::Any;
}

/// Whether a value depends on elements that differ from lane to lane.
static bool dependsOnData(linalg::GenericOp op, unsigned loop, Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return laneOf(op, loop, argument) != Lane::Same;
  Operation *from = value.getDefiningOp();
  return from->getBlock() == op.getBody() &&
         llvm::any_of(from->getOperands(), [&](Value operand) {
           return dependsOnData(op, loop, operand);
         });
}

/// What is not next to each other by arithmetic alone is for LLVM, which sees
/// rows that run backwards or repeat.
static LoadKind loadKind(linalg::GenericOp op, unsigned loop,
                         memref::LoadOp load) {
  Lane last = Lane::Same;
  for (Value index : load.getIndices()) {
    if (last != Lane::Same)
      return LoadKind::None;
    last = laneOf(op, loop, index);
  }
  if (last == Lane::Same)
    return LoadKind::Same;
  if (!load.getMemRefType().isLastDimUnitStride())
    return LoadKind::None;
  if (last == Lane::Next)
    return LoadKind::Contiguous;
  if (last == Lane::Near)
    return LoadKind::Near;
  return dependsOnData(op, loop, load.getIndices().back()) ? LoadKind::Gathered
                                                           : LoadKind::None;
}

bool isGathered(linalg::GenericOp op, unsigned loop, memref::LoadOp load) {
  return loadKind(op, loop, load) == LoadKind::Gathered;
}

bool loadsElements(linalg::GenericOp op) {
  return !op.getBody()->getOps<memref::LoadOp>().empty();
}

/// Whether an op of the body, no load, can be on vectors.
static bool canClone(linalg::GenericOp op, unsigned loop, Operation &inner) {
  if (isa<linalg::IndexOp, arith::ConstantOp>(inner))
    return true;
  if (auto apply = dyn_cast<affine::AffineApplyOp>(inner))
    return laneOf(op, loop, apply.getResult()) != Lane::Any;
  auto element = [](Type type) { return type.isIntOrIndexOrFloat(); };
  return inner.getNumRegions() == 0 &&
         OpTrait::hasElementwiseMappableTraits(&inner) &&
         llvm::all_of(inner.getOperandTypes(), element) &&
         llvm::all_of(inner.getResultTypes(), element);
}

std::optional<double> elementLoadCost(linalg::GenericOp op, unsigned loop,
                                      int64_t lanes) {
  double cost = 0;
  for (Operation &inner : op.getBody()->without_terminator()) {
    auto load = dyn_cast<memref::LoadOp>(inner);
    if (!load) {
      if (!canClone(op, loop, inner))
        return std::nullopt;
      continue;
    }
    switch (loadKind(op, loop, load)) {
    case LoadKind::None:
      return std::nullopt;
    case LoadKind::Same:
      cost += 0.5;
      break;
    case LoadKind::Contiguous:
      cost += 1;
      break;
    case LoadKind::Near:
      cost += 2;
      break;
    case LoadKind::Gathered:
      cost += double(lanes) * 0.75;
      break;
    }
  }
  return cost;
}

namespace {

/// Copies one body.
struct LoadingBody {
  OpBuilder &builder;
  linalg::GenericOp op;
  unsigned loop;
  const Lanes &at;
  VectorWidth width;
  GatherBuilder gathered;
  IRMapping map; ///< values for all lanes: scalars where they are the same
  /// Those of the first and of the last lane, of what goes in steps of one.
  IRMapping first, end;

  Location loc() { return op.getLoc(); }
  void clone(Operation &inner, ValueRange ivs);
  void cloneIndex(linalg::IndexOp index, ValueRange ivs);
  void cloneSteps(Operation &inner, Lane lane);
  void cloneLoad(memref::LoadOp load);
  Value scalarOf(Operation &inner, const IRMapping &lane);
  Value loadRow(memref::LoadOp load, ArrayRef<Value> row, Value start);
  Value gather(memref::LoadOp load, ArrayRef<Value> row, Value indices);
  Value loadNear(memref::LoadOp load, ArrayRef<Value> row);
  Value countFrom(Value start);
  Value everyLane();
  /// How many lanes are behind the first one.
  Value furtherLanes();
};

} // namespace

/// start, start + 1 and so on.
Value LoadingBody::countFrom(Value start) {
  auto type = width.of(builder.getIndexType());
  Value step = vector::StepOp::create(builder, loc(), type);
  return arith::AddIOp::create(builder, loc(),
                               broadcastTo(builder, loc(), start, width), step);
}

Value LoadingBody::everyLane() {
  auto type = width.of(builder.getI1Type());
  return arith::ConstantOp::create(builder, loc(),
                                   DenseElementsAttr::get(type, true));
}

Value LoadingBody::furtherLanes() {
  Value count = at.mask ? at.count : width.lanes(builder, loc());
  Value one = arith::ConstantIndexOp::create(builder, loc(), 1);
  return builder.createOrFold<arith::SubIOp>(loc(), count, one);
}

/// The op in one of the lanes.
Value LoadingBody::scalarOf(Operation &inner, const IRMapping &lane) {
  IRMapping scalars(map);
  for (Value operand : inner.getOperands())
    if (Value value = lane.lookupOrNull(operand))
      scalars.map(operand, value);
  return builder.clone(inner, scalars)->getResult(0);
}

/// What goes in steps of one is computed for the first lane and the last one.
void LoadingBody::cloneSteps(Operation &inner, Lane lane) {
  Value result = inner.getResult(0);
  Value start = scalarOf(inner, first), stop = scalarOf(inner, end);
  if (lane == Lane::Next)
    map.map(result, countFrom(start));
  else
    cloneOp(builder, loc(), inner, map, width);
  first.map(result, start);
  end.map(result, stop);
}

/// Neighbours, from `start` on in the row.
Value LoadingBody::loadRow(memref::LoadOp load, ArrayRef<Value> row,
                           Value start) {
  SmallVector<Value> position(row);
  position.push_back(start);
  auto type = width.of(load.getType());
  if (!at.mask)
    return vector::LoadOp::create(builder, loc(), type, load.getMemRef(),
                                  position);
  Value rest =
      arith::ConstantOp::create(builder, loc(), builder.getZeroAttr(type));
  return vector::MaskedLoadOp::create(builder, loc(), type, load.getMemRef(),
                                      position, at.mask, rest);
}

Value LoadingBody::gather(memref::LoadOp load, ArrayRef<Value> row,
                          Value indices) {
  SmallVector<Value> position(row);
  position.push_back(arith::ConstantIndexOp::create(builder, loc(), 0));
  auto type = width.of(load.getType());
  Value rest =
      arith::ConstantOp::create(builder, loc(), builder.getZeroAttr(type));
  return vector::GatherOp::create(builder, loc(), type, load.getMemRef(),
                                  position, indices,
                                  at.mask ? at.mask : everyLane(), rest);
}

/// Lanes that are near each other are neighbours where the last one is as far
/// from the first one as it can be.
Value LoadingBody::loadNear(memref::LoadOp load, ArrayRef<Value> row) {
  Value index = load.getIndices().back(), start = first.lookup(index);
  Value distance =
      arith::SubIOp::create(builder, loc(), end.lookup(index), start);
  Value whole = arith::CmpIOp::create(builder, loc(), arith::CmpIPredicate::eq,
                                      distance, furtherLanes());
  auto choice =
      scf::IfOp::create(builder, loc(), TypeRange(width.of(load.getType())),
                        whole, /*addThenBlock=*/true, /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(choice.thenBlock());
  scf::YieldOp::create(builder, loc(), loadRow(load, row, start));
  builder.setInsertionPointToStart(choice.elseBlock());
  scf::YieldOp::create(builder, loc(), gather(load, row, map.lookup(index)));
  return choice.getResult(0);
}

void LoadingBody::cloneLoad(memref::LoadOp load) {
  LoadKind kind = loadKind(op, loop, load);
  if (kind == LoadKind::Same) {
    builder.clone(*load, map);
    return;
  }
  SmallVector<Value> row;
  for (Value index : load.getIndices().drop_back())
    row.push_back(map.lookupOrDefault(index));
  Value last = load.getIndices().back(), result;
  if (kind == LoadKind::Gathered)
    result = gathered ? gathered(load, row)
                      : gather(load, row, map.lookupOrDefault(last));
  else if (kind == LoadKind::Near)
    result = loadNear(load, row);
  else
    result = loadRow(load, row, first.lookup(last));
  map.map(load.getResult(), result);
}

void LoadingBody::cloneIndex(linalg::IndexOp index, ValueRange ivs) {
  Value result = index.getResult();
  if (index.getDim() != loop)
    return map.map(result, ivs[index.getDim()]);
  first.map(result, at.start);
  end.map(result,
          arith::AddIOp::create(builder, loc(), at.start, furtherLanes()));
  map.map(result, countFrom(at.start));
}

void LoadingBody::clone(Operation &inner, ValueRange ivs) {
  if (auto index = dyn_cast<linalg::IndexOp>(inner))
    return cloneIndex(index, ivs);
  if (auto load = dyn_cast<memref::LoadOp>(inner))
    return cloneLoad(load);
  bool steps = isa<affine::AffineApplyOp, arith::AddIOp, arith::SubIOp,
                   arith::MaxSIOp, arith::MinSIOp>(inner);
  Lane lane = steps ? laneOf(op, loop, inner.getResult(0)) : Lane::Any;
  if (lane != Lane::Same && lane != Lane::Any)
    return cloneSteps(inner, lane);
  cloneOp(builder, loc(), inner, map, width);
}

SmallVector<Value> cloneLoadingBody(OpBuilder &builder, linalg::GenericOp op,
                                    unsigned loop, const Lanes &at,
                                    ValueRange arguments, ValueRange ivs,
                                    VectorWidth width, GatherBuilder gathered) {
  LoadingBody body{builder, op, loop, at, width, gathered, {}, {}, {}};
  body.map.map(op.getBody()->getArguments(), arguments);
  for (Operation &inner : op.getBody()->without_terminator())
    body.clone(inner, ivs);
  SmallVector<Value> yielded;
  for (Value value : op.getBody()->getTerminator()->getOperands())
    yielded.push_back(body.map.lookupOrDefault(value));
  return yielded;
}

} // namespace backplane
