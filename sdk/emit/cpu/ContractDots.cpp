// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/ContractDots.h"

#include "sdk/emit/cpu/MultiplyAdd.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace backplane {

DotsBuilder::DotsBuilder(const ContractScope &scope)
    : ContractScope(scope), columns(*getConstantIntValue(operands.sizeN)),
      sizeK(*getConstantIntValue(operands.sizeK)),
      wholeK(sizeK / width.count * width.count),
      packed(scratch(columns * plan.pitchA, element)), epilogue(*this) {}

Value DotsBuilder::startOfColumn(int64_t column) const {
  return index(column * plan.pitchA);
}

/// The columns of B one after the other, zero behind their ends.
void DotsBuilder::packColumns() {
  const FlatOperand &b = operands.b;
  Value origin = originOf(b);
  auto store = [&](Value value, int64_t column, Value k) {
    memref::StoreOp::create(builder, loc, value, packed,
                            add(startOfColumn(column), k));
  };
  forRange(index(0), index(sizeK), 1, [&](Value k) {
    Value start = add(origin, mul(k, groupStride(b, c.k)));
    for (int64_t column = 0; column < columns; ++column) {
      Value at = add(start, mul(groupStride(b, c.n), column));
      store(convertRight(memref::LoadOp::create(builder, loc, b.memref, at)),
            column, k);
    }
  });
  Value zero = arith::ConstantOp::create(
      builder, loc, cast<TypedAttr>(builder.getZeroAttr(element)));
  forRange(index(sizeK), index(plan.pitchA), 1, [&](Value k) {
    for (int64_t column = 0; column < columns; ++column)
      store(zero, column, k);
  });
}

/// Adds the products of a vector of k: of each row with each column.
DotsBuilder::Sums DotsBuilder::addProducts(ArrayRef<Value> startsOfA, Value k,
                                           Value mask, ValueRange sums) {
  Sums next, vectorsB;
  for (int64_t column = 0; column < columns; ++column)
    vectorsB.push_back(
        loadContiguous(packed, add(startOfColumn(column), k), Value()));
  for (Value start : startsOfA) {
    Value a =
        convertLeft(loadContiguous(operands.a.memref, add(start, k), mask));
    for (Value b : vectorsB)
      next.push_back(multiplyAdd(builder, loc, a, b, sums[next.size()]));
  }
  return next;
}

/// Of two vectors in blocks of twice `half` lanes: the halves of each block,
/// added up, those of `a` and `b` in turn.
Value DotsBuilder::joinHalves(Value a, Value b, int64_t half) {
  auto take = [&](int64_t first) -> Value {
    SmallVector<int64_t> lanes;
    for (int64_t block = 0; block < width.count; block += 2 * half)
      for (int64_t from : {block, width.count + block})
        for (int64_t lane = 0; lane < half; ++lane)
          lanes.push_back(from + first + lane);
    return vector::ShuffleOp::create(builder, loc, a, b, lanes);
  };
  return addElements(take(0), take(half));
}

/// Lane i is the sum of the lanes of vector i, of at most as many vectors as
/// they have lanes.
Value DotsBuilder::sumLanes(Sums sums) {
  sums.resize(size_t(width.count));
  for (int64_t half = width.count / 2; half > 0; half /= 2) {
    size_t count = sums.size() / 2;
    for (size_t i = 0; i < count; ++i)
      if (Value other = sums[i + count] ? sums[i + count] : sums[i])
        sums[i] = joinHalves(sums[i], other, half);
    sums.resize(count);
  }
  return sums.front();
}

/// The sums of each row with each column.
DotsBuilder::Sums DotsBuilder::multiply(ArrayRef<Value> startsOfA) {
  Sums sums(startsOfA.size() * size_t(columns), zeroVector(element));
  auto loop = scf::ForOp::create(builder, loc, index(0), index(wholeK),
                                 laneCount, sums);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value k = loop.getInductionVar();
    scf::YieldOp::create(
        builder, loc,
        addProducts(startsOfA, k, Value(), loop.getRegionIterArgs()));
  }
  if (wholeK == sizeK)
    return Sums(loop.getResults());
  return addProducts(startsOfA, index(wholeK), laneMask(index(sizeK - wholeK)),
                     loop.getResults());
}

void DotsBuilder::finish(const Tile &tile, ValueRange sums) {
  Value m = add(firstM, tile.first), mask = laneMask(index(columns));
  for (int64_t i = 0; i < tile.rows; ++i) {
    ValueRange row = sums.slice(size_t(i * columns), size_t(columns));
    epilogue.finishVector(sumLanes(Sums(row)), add(m, i), firstN, mask);
  }
}

void DotsBuilder::runTile(const Tile &tile) {
  const FlatOperand &a = operands.a;
  Value m = add(firstM, tile.first);
  SmallVector<Value> starts;
  for (int64_t i = 0; i < tile.rows; ++i)
    starts.push_back(add(originOf(a), mul(add(m, i), groupStride(a, c.m))));
  finish(tile, multiply(starts));
}

/// Tiles of as many rows as the plan has, then of one.
void DotsBuilder::run() {
  packColumns();
  Value whole = wholeSteps(countM, index(plan.rows));
  forRange(index(0), whole, plan.rows,
           [&](Value row) { runTile({row, plan.rows}); });
  if (plan.rows > 1)
    forRange(whole, countM, 1, [&](Value row) { runTile({row, 1}); });
}

} // namespace backplane
