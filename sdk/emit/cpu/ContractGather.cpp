// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/ContractGather.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace backplane {

/* ---- Shares of columns ---- */

/// The share of the loops in the index on an axis, added to `share`.
static Value addShare(const ContractScope &s, Value share,
                      const PaddedAxis &axis, ArrayRef<unsigned> loops,
                      ValueRange indices) {
  for (auto [loop, value] : llvm::zip(loops, indices))
    if (axis.factors[loop])
      share = s.add(share, s.mul(value, axis.factors[loop]));
  return share;
}

ColumnShares makeColumnShares(const ContractScope &s) {
  Type i32 = s.builder.getI32Type();
  ColumnShares result;
  result.offset = s.scratch(s.roomN(), i32);
  for (size_t i = 0; i < s.operands.padded.size(); ++i)
    result.axes.push_back(s.scratch(s.roomN(), i32));
  auto store = [&](Value value, Value memref, Value at) {
    Value word = arith::IndexCastOp::create(s.builder, s.loc, i32, value);
    memref::StoreOp::create(s.builder, s.loc, word, memref, at);
  };
  // Lanes beyond the edge repeat the last column.
  Value last = s.sub(s.countN, s.index(1));
  Value panel = s.panelN();
  Value end = s.mul(s.ceilDiv(s.countN, panel), panel);
  s.forRange(s.index(0), end, 1, [&](Value lane) {
    Value column = s.minimum(lane, last);
    SmallVector<Value> at = s.split(s.add(s.firstN, column), s.c.n);
    store(s.dot(s.operands.b, s.c.n, at), result.offset, lane);
    for (auto [axis, memref] : llvm::zip(s.operands.padded, result.axes))
      store(addShare(s, s.index(0), axis, s.c.n, at), memref, lane);
  });
  return result;
}

/* ---- Lanes that are neighbours ---- */

/// Runs that a vector can have at most, 0: too many or not known.
int64_t PanelGather::maxRuns() const {
  unsigned loop = c.n.back();
  auto row = getConstantIntValue(operands.sizes[loop]);
  if (width.scalable || !row || *row < 1 || !operands.b.unitStride(loop))
    return 0;
  int64_t count = 1 + (width.count - 1 + *row - 1) / *row;
  return count <= 4 ? count : 0;
}

/// Elements from one lane to the next in a row of pixels; what is far apart is
/// gathered, so that it counts as 1.
int64_t PanelGather::laneStride() const {
  auto stride = getConstantIntValue(operands.b.strides[c.n.back()]);
  bool loads = !width.scalable && stride && *stride > 1 && *stride <= 4;
  return loads ? *stride : 1;
}

Value PanelGather::splat(Value scalar) {
  return vector::BroadcastOp::create(builder, loc, vectorType(scalar.getType()),
                                     scalar);
}

Value PanelGather::toI32(Value value) {
  return arith::IndexCastOp::create(builder, loc, builder.getI32Type(), value);
}

Value PanelGather::toIndex(Value value) {
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                    value);
}

PanelGather::PanelGather(const ContractScope &scope, const ColumnShares &shares,
                         Value panel)
    : ContractScope(scope), shares(shares) {
  int64_t most = maxRuns();
  for (int64_t v = 0; v < plan.vectors; ++v) {
    Value at = add(panel, lanesOf(v));
    offsets.push_back(loadContiguous(shares.offset, at, Value()));
    axes.emplace_back();
    for (Value axis : shares.axes)
      axes.back().push_back(loadContiguous(axis, at, Value()));
    findContiguous(at, offsets.back());
    if (most)
      runs.push_back(findRuns(at, offsets.back(), most));
  }
}

/// Offset minus that of the lane, which is one number for lanes that are
/// neighbours.
Value PanelGather::originsOf(Value offsets) {
  Value lane =
      vector::StepOp::create(builder, loc, vectorType(builder.getIndexType()));
  lane = arith::IndexCastOp::create(builder, loc,
                                    vectorType(builder.getI32Type()), lane);
  if (laneStride() > 1)
    lane = arith::MulIOp::create(builder, loc, lane,
                                 splat(toI32(index(laneStride()))));
  return arith::SubIOp::create(builder, loc, offsets, lane);
}

void PanelGather::findContiguous(Value at, Value offsets) {
  Value first = memref::LoadOp::create(builder, loc, shares.offset, at);
  Value equal = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                      originsOf(offsets), splat(first));
  contiguous.push_back(vector::ReductionOp::create(
      builder, loc, vector::CombiningKind::AND, equal));
  starts.push_back(toIndex(first));
}

/// Splits the lanes at `at` into runs: offset minus lane is one number in each.
SmallVector<PanelGather::Run> PanelGather::findRuns(Value at, Value offsets,
                                                    int64_t count) {
  Value origins = originsOf(offsets);
  Value first = index(0);
  SmallVector<Run> result;
  for (int64_t i = 0; i < count; ++i) {
    Value inside = minimum(first, index(width.count - 1));
    Value offset =
        memref::LoadOp::create(builder, loc, shares.offset, add(at, inside));
    Value origin = arith::SubIOp::create(builder, loc, offset, toI32(inside));
    Value mask = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                       origins, splat(origin));
    result.push_back({toIndex(origin), mask});
    Value ones = arith::ExtUIOp::create(builder, loc,
                                        vectorType(builder.getI32Type()), mask);
    Value length = vector::ReductionOp::create(
        builder, loc, vector::CombiningKind::ADD, ones);
    first = add(first, arith::IndexCastUIOp::create(
                           builder, loc, builder.getIndexType(), length));
  }
  return result;
}

/* ---- Rows ---- */

Value PanelGather::paddingBefore() {
  Value shift = index(0);
  for (auto [axis, low] : llvm::enumerate(c.rhs.padLow))
    shift = add(shift, mul(axisStrideOfB(axis),
                           getValueOrCreateConstantIndexOp(builder, loc, low)));
  return shift;
}

/// Element index without the share of n, and for each padded axis the index
/// there, without it too.
Value PanelGather::scalarOffset(ValueRange k,
                                SmallVectorImpl<Value> &axisOffsets) {
  Value base = add(originOf(operands.b), dot(operands.b, c.k, k));
  for (const PaddedAxis &axis : operands.padded) {
    Value share = sub(index(0), axis.low);
    share = addShare(*this, share, axis, c.k, k);
    axisOffsets.push_back(addShare(*this, share, axis, c.outer, outer));
  }
  return base;
}

SmallVector<Value> PanelGather::row(ValueRange k, Value shift) {
  SmallVector<Value> axisOffsets, result;
  Value base = sub(scalarOffset(k, axisOffsets), shift);
  for (int64_t v = 0; v < plan.vectors; ++v)
    result.push_back(load(v, base, mask(v, axisOffsets)));
  return result;
}

Value PanelGather::mask(size_t vector, ValueRange axisOffsets) {
  Value result;
  for (auto [i, offset] : llvm::enumerate(axisOffsets)) {
    Value at = arith::AddIOp::create(builder, loc, axes[vector][i],
                                     splat(toI32(offset)));
    // As unsigned numbers negative indices are beyond every size.
    Value inside =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, at,
                              splat(toI32(operands.padded[i].size)));
    result =
        result ? arith::AndIOp::create(builder, loc, result, inside) : inside;
  }
  if (result)
    return result;
  return arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(vectorType(builder.getI1Type()), true));
}

Value PanelGather::load(size_t vector, Value base, Value mask) {
  Value outside = paddingOfB();
  return either(
      isWhole(vector, mask), outside.getType(),
      [&] { return loadWhole(vector, base); },
      [&] {
        return runs.empty() ? loadApart(vector, base, mask, outside)
                            : loadRuns(vector, base, mask, outside);
      });
}

/// Whether lanes are neighbours, and none of them is left out.
Value PanelGather::isWhole(size_t vector, Value mask) {
  if (operands.padded.empty())
    return contiguous[vector];
  Value all = vector::ReductionOp::create(builder, loc,
                                          vector::CombiningKind::AND, mask);
  return arith::AndIOp::create(builder, loc, contiguous[vector], all);
}

Value PanelGather::loadRuns(size_t vector, Value base, Value mask,
                            Value outside) {
  Value result = outside;
  for (const Run &run : runs[vector]) {
    Value lanes = arith::AndIOp::create(builder, loc, mask, run.mask);
    result = vector::MaskedLoadOp::create(
        builder, loc, cast<VectorType>(outside.getType()), operands.b.memref,
        ValueRange(add(base, run.start)), lanes, result);
  }
  return result;
}

/// Which elements of the lanes so far, and of a vector of the elements from
/// `first` on behind them, are those for all lanes; those of later parts are
/// any.
static SmallVector<int64_t> lanesWithPart(int64_t lanes, int64_t stride,
                                          int64_t part, int64_t first) {
  SmallVector<int64_t> from;
  for (int64_t lane = 0; lane < lanes; ++lane)
    from.push_back(lane * stride < part * lanes
                       ? lane
                       : lanes + std::min(lane * stride - first, lanes - 1));
  return from;
}

/// Every `stride`th element from that of lane 0 on: whole vectors, of which the
/// last one ends with the last element that is needed.
Value PanelGather::loadWhole(size_t vector, Value base) {
  Type element = cast<MemRefType>(operands.b.memref.getType()).getElementType();
  Value at = add(base, starts[vector]);
  int64_t stride = laneStride();
  if (stride == 1)
    return loadContiguous(operands.b.memref, at, Value());
  int64_t lanes = width.count, last = stride * (lanes - 1);
  Value result;
  for (int64_t part = 0; part < stride; ++part) {
    int64_t first = part + 1 < stride ? part * lanes : last - lanes + 1;
    Value loaded =
        vector::LoadOp::create(builder, loc, vectorType(element),
                               operands.b.memref, ValueRange(add(at, first)));
    result = vector::ShuffleOp::create(
        builder, loc, result ? result : loaded, loaded,
        lanesWithPart(lanes, stride, part, first));
  }
  return result;
}

/// Lanes in any place: one load where they are neighbours, else one for each.
Value PanelGather::loadApart(size_t vector, Value base, Value mask,
                             Value outside) {
  auto type = cast<VectorType>(outside.getType());
  Value memref = operands.b.memref;
  auto far = [&]() -> Value {
    return vector::GatherOp::create(builder, loc, type, memref,
                                    ValueRange(base), offsets[vector], mask,
                                    outside);
  };
  if (laneStride() > 1)
    return far();
  return either(
      contiguous[vector], type,
      [&]() -> Value {
        Value at = add(base, starts[vector]);
        return vector::MaskedLoadOp::create(builder, loc, type, memref,
                                            ValueRange(at), mask, outside);
      },
      far);
}

} // namespace backplane
