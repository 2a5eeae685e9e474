// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/LaneMemory.h"

#include "sdk/emit/cpu/LaneAccess.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace backplane {

void LaneMemory::readBounds() {
  laneCount = width.lanes(builder, loc);
  auto ranges =
      cast<linalg::LinalgOp>(op.getOperation()).createLoopRanges(builder, loc);
  for (Range range : ranges) {
    bounds.push_back(getValueOrCreateConstantIndexOp(builder, loc, range.size));
    ivs.push_back(Value());
  }
}

void LaneMemory::forLoop(Value low, Value high, Value step,
                         function_ref<void(Value)> body) {
  auto created = scf::ForOp::create(builder, loc, low, high, step);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(created.getBody());
  body(created.getInductionVar());
}

void LaneMemory::forLoops(ArrayRef<unsigned> loops, function_ref<void()> body) {
  if (loops.empty())
    return body();
  forLoop(index(0), bounds[loops.front()], index(1), [&](Value i) {
    ivs[loops.front()] = i;
    forLoops(loops.drop_front(), body);
  });
}

void LaneMemory::forParts(unsigned number,
                          function_ref<void(const Lanes &)> body) {
  Value bound = bounds[number];
  std::optional<int64_t> size = getConstantIntValue(bound);
  Value rest = builder.createOrFold<arith::RemUIOp>(loc, bound, laneCount);
  Value whole = builder.createOrFold<arith::SubIOp>(loc, bound, rest);
  if (!size || *size >= width.count)
    forLoop(index(0), whole, laneCount,
            [&](Value start) { body({start, {}, {}}); });
  if (!size || *size % width.count)
    forLoop(whole, bound, laneCount,
            [&](Value start) { body({start, maskOf(rest), rest}); });
}

Value LaneMemory::maskOf(Value count) {
  return vector::CreateMaskOp::create(builder, loc,
                                      width.of(builder.getI1Type()), count);
}

SmallVector<Value> LaneMemory::indices(OpOperand &operand) {
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

Value LaneMemory::passThrough(VectorType type) {
  Type element = type.getElementType();
  TypedAttr value = isa<FloatType>(element)
                        ? TypedAttr(builder.getFloatAttr(element, 0.0))
                        : TypedAttr(builder.getIntegerAttr(element, 1));
  return arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(type, Attribute(value)));
}

Value LaneMemory::loadStrided(OpOperand &operand, const Lanes &at) {
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

/* ---- Padding ---- */

const Padding *LaneMemory::paddingOf(OpOperand &operand) const {
  for (const Padding &padding : paddings)
    if (padding.operand == operand.getOperandNumber())
      return &padding;
  return nullptr;
}

/// The lanes whose index, `first` in the first lane, lies within a row of this
/// size; null: all of them.
Value LaneMemory::lanesInside(Value first, int64_t size) {
  std::optional<int64_t> known = getConstantIntValue(first);
  auto type = width.of(builder.getI1Type());
  if (known && !width.scalable) {
    int64_t low = -*known, high = size - *known;
    if (low <= 0 && high >= width.count)
      return {};
    SmallVector<bool> lanes;
    for (int64_t lane = 0; lane < width.count; ++lane)
      lanes.push_back(lane >= low && lane < high);
    return arith::ConstantOp::create(builder, loc,
                                     DenseElementsAttr::get(type, lanes));
  }
  Value before =
      maskOf(builder.createOrFold<arith::SubIOp>(loc, index(0), first));
  Value behind =
      maskOf(builder.createOrFold<arith::SubIOp>(loc, index(size), first));
  Value all = arith::ConstantOp::create(builder, loc,
                                        DenseElementsAttr::get(type, true));
  return arith::AndIOp::create(
      builder, loc, behind, arith::XOrIOp::create(builder, loc, before, all));
}

/// Whether a vector that begins so many elements behind that of the first lane
/// meets no padding of its row.
bool LaneMemory::liesInRow(const Padding &padding, int64_t offset) const {
  std::optional<int64_t> start = getConstantIntValue(ivs[loop]);
  return columnsAreInside ||
         (start && !width.scalable &&
          backplane::liesInRow(op, padding, loop,
                               {*start, offset, width.count}));
}

/// A vector of a padded operand, `offset` behind the element of the first lane.
/// Lanes outside are not read: those without `mask` where rows are not padded.
Value LaneMemory::loadInside(const Padding &padding, ArrayRef<Value> position,
                             Value mask, int64_t offset) {
  auto last = unsigned(position.size()) - 1;
  auto type = width.of(padding.value.getType());
  Value nothing = arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(type, Attribute(padding.value)));
  SmallVector<Value> at(position);
  Value inside;
  for (unsigned axis = 0; axis <= last; ++axis) {
    if (!padding.isPadded(axis))
      continue;
    int64_t size = padding.size[axis];
    at[axis] = builder.createOrFold<arith::SubIOp>(loc, position[axis],
                                                   index(padding.low[axis]));
    if (axis == last) {
      mask = liesInRow(padding, offset) ? Value() : lanesInside(at[axis], size);
      continue;
    }
    if (std::optional<int64_t> known = getConstantIntValue(at[axis])) {
      if (*known < 0 || *known >= size)
        return nothing;
      continue;
    }
    if (rowsAreInside)
      continue;
    // As unsigned numbers negative indices are beyond every size.
    Value here = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                       at[axis], index(size));
    inside = inside ? arith::AndIOp::create(builder, loc, inside, here) : here;
  }
  if (inside) {
    auto lanes = width.of(builder.getI1Type());
    Value row = vector::BroadcastOp::create(builder, loc, lanes, inside);
    mask = mask ? arith::AndIOp::create(builder, loc, mask, row) : row;
  }
  if (!mask)
    return vector::LoadOp::create(builder, loc, type, padding.source, at);
  return vector::MaskedLoadOp::create(builder, loc, type, padding.source, at,
                                      mask, nothing);
}

/// A vector of neighbours, `offset` behind the element of the first lane; null
/// mask: all lanes are inside.
Value LaneMemory::loadVector(OpOperand &operand, ArrayRef<Value> elements,
                             Value mask, int64_t offset) {
  SmallVector<Value> position(elements);
  position.back() = add(position.back(), offset);
  if (const Padding *padding = paddingOf(operand))
    return loadInside(*padding, position, mask, offset);
  auto type = width.of(getElementTypeOrSelf(operand.get().getType()));
  if (!mask)
    return vector::LoadOp::create(builder, loc, type, operand.get(), position);
  return vector::MaskedLoadOp::create(builder, loc, type, operand.get(),
                                      position, mask, passThrough(type));
}

/* ---- Loads and stores ---- */

/// The even elements of two vectors, without touching what lies behind the last
/// one.
Value LaneMemory::loadAlternate(OpOperand &operand, const Lanes &at) {
  SmallVector<Value> position = indices(operand);
  const Padding *padding = paddingOf(operand);
  if (!at.mask || (padding && padding->isPadded(position.size() - 1))) {
    // The second vector ends with the last element that is needed.
    SmallVector<int64_t> even;
    for (int64_t lane = 0; lane < width.count; ++lane)
      even.push_back(2 * lane < width.count ? 2 * lane : 2 * lane + 1);
    auto part = [&](int64_t offset) {
      return loadVector(operand, position, Value(), offset);
    };
    return vector::ShuffleOp::create(builder, loc, part(0),
                                     part(width.count - 1), even);
  }
  Value touched =
      add(arith::MulIOp::create(builder, loc, at.count, index(2)), -1);
  auto part = [&](int64_t offset) -> Value {
    Value left =
        arith::MaxSIOp::create(builder, loc, add(touched, -offset), index(0));
    Value inside = arith::MinSIOp::create(builder, loc, left, laneCount);
    return loadVector(operand, position, maskOf(inside), offset);
  };
  SmallVector<int64_t> even;
  for (int64_t lane = 0; lane < width.count; ++lane)
    even.push_back(2 * lane);
  return vector::ShuffleOp::create(builder, loc, part(0), part(width.count),
                                   even);
}

Value LaneMemory::load(OpOperand &operand, const Lanes &at) {
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
  return loadVector(operand, indices(operand), at.mask);
}

void LaneMemory::storeStrided(OpOperand &operand, Value value,
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

void LaneMemory::store(OpOperand &operand, Value value, const Lanes &at) {
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

} // namespace backplane
