// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/LaneGather.h"

#include "sdk/emit/cpu/LaneAccess.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace backplane {

namespace {

/// How a value of the body differs from lane to lane.
enum class Lane {
  Same,
  Next, ///< one more than in the lane before
  Any,
};

/// How the elements are that a load reads in the lanes.
enum class LoadKind { Same, Contiguous, Gathered, None };

} // namespace

static Lane laneOf(linalg::GenericOp op, unsigned loop, Value value);

static Lane laneOfSum(linalg::GenericOp op, unsigned loop, Operation *sum) {
  Lane a = laneOf(op, loop, sum->getOperand(0));
  Lane b = laneOf(op, loop, sum->getOperand(1));
  if (a == Lane::Same)
    return b;
  return b == Lane::Same ? a : Lane::Any;
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
    if (!same || lane == Lane::Any || !once)
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
  IRMapping map;   ///< values for all lanes: scalars where they are the same
  IRMapping first; ///< those of the first lane, of what is Next

  Location loc() { return op.getLoc(); }
  void clone(Operation &inner, ValueRange ivs);
  void cloneNext(Operation &inner);
  void cloneLoad(memref::LoadOp load);
  Value countFrom(Value start);
  Value everyLane();
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

/// What is one more from lane to lane is computed for the first one.
void LoadingBody::cloneNext(Operation &inner) {
  IRMapping scalars(map);
  for (Value operand : inner.getOperands())
    if (Value value = first.lookupOrNull(operand))
      scalars.map(operand, value);
  Value start = builder.clone(inner, scalars)->getResult(0);
  first.map(inner.getResult(0), start);
  map.map(inner.getResult(0), countFrom(start));
}

void LoadingBody::cloneLoad(memref::LoadOp load) {
  LoadKind kind = loadKind(op, loop, load);
  if (kind == LoadKind::Same) {
    builder.clone(*load, map);
    return;
  }
  SmallVector<Value> position;
  for (Value index : load.getIndices().drop_back())
    position.push_back(map.lookupOrDefault(index));
  Value last = load.getIndices().back();
  auto type = width.of(load.getType());
  Value rest =
      arith::ConstantOp::create(builder, loc(), builder.getZeroAttr(type));
  Value result;
  if (kind == LoadKind::Gathered && gathered) {
    result = gathered(load, position);
  } else if (kind == LoadKind::Gathered) {
    position.push_back(arith::ConstantIndexOp::create(builder, loc(), 0));
    result = vector::GatherOp::create(builder, loc(), type, load.getMemRef(),
                                      position, map.lookupOrDefault(last),
                                      at.mask ? at.mask : everyLane(), rest);
  } else {
    position.push_back(first.lookup(last));
    result = at.mask ? vector::MaskedLoadOp::create(builder, loc(), type,
                                                    load.getMemRef(), position,
                                                    at.mask, rest)
                           .getResult()
                     : vector::LoadOp::create(builder, loc(), type,
                                              load.getMemRef(), position)
                           .getResult();
  }
  map.map(load.getResult(), result);
}

void LoadingBody::clone(Operation &inner, ValueRange ivs) {
  if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
    bool lanes = index.getDim() == loop;
    if (lanes)
      first.map(index.getResult(), at.start);
    map.map(index.getResult(),
            lanes ? countFrom(at.start) : ivs[index.getDim()]);
    return;
  }
  if (auto load = dyn_cast<memref::LoadOp>(inner))
    return cloneLoad(load);
  bool next = inner.getNumResults() == 1 &&
              isa<affine::AffineApplyOp, arith::AddIOp>(inner) &&
              laneOf(op, loop, inner.getResult(0)) == Lane::Next;
  if (next)
    return cloneNext(inner);
  cloneOp(builder, loc(), inner, map, width);
}

SmallVector<Value> cloneLoadingBody(OpBuilder &builder, linalg::GenericOp op,
                                    unsigned loop, const Lanes &at,
                                    ValueRange arguments, ValueRange ivs,
                                    VectorWidth width, GatherBuilder gathered) {
  LoadingBody body{builder, op, loop, at, width, gathered, {}, {}};
  body.map.map(op.getBody()->getArguments(), arguments);
  for (Operation &inner : op.getBody()->without_terminator())
    body.clone(inner, ivs);
  SmallVector<Value> yielded;
  for (Value value : op.getBody()->getTerminator()->getOperands())
    yielded.push_back(body.map.lookupOrDefault(value));
  return yielded;
}

} // namespace backplane
