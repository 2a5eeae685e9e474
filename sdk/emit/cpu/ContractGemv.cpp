// SPDX-License-Identifier: Apache-2.0
//
// A vector times a matrix: memory is the limit, so B is read in whole rows, a
// few at a time, and the sums stay in the nearest cache.
#include "sdk/emit/cpu/ContractEmit.h"

#include "sdk/emit/cpu/VectorBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace backplane {

/// Rows of B that are read at the same time.
static constexpr int64_t kRows = 8;

/// Adds `rows` rows of B, from firstK on, to the sums.
void ContractEmitter::streamRows(Value firstK, int64_t rows, Value whole) {
  Value startA = add(dot(a, c.outer, outer), firstK);
  Value stride = groupStride(b, c.k);
  Value startB = add(add(dot(b, c.outer, outer), firstN), mul(firstK, stride));
  SmallVector<Value> factors, starts;
  for (int64_t row = 0; row < rows; ++row) {
    Value scalar =
        memref::LoadOp::create(builder, loc, a.memref, add(startA, row));
    factors.push_back(broadcastTo(builder, loc, convertLeft(scalar), width));
    starts.push_back(add(startB, mul(stride, row)));
  }
  auto vectorAt = [&](Value column, Value mask) {
    Value sum = loadContiguous(sums, column, Value());
    for (auto [factor, start] : llvm::zip(factors, starts)) {
      Value row =
          convertRight(loadContiguous(b.memref, add(start, column), mask));
      if (isa<FloatType>(element)) {
        sum = math::FmaOp::create(builder, loc, factor, row, sum);
        continue;
      }
      Value product = arith::MulIOp::create(builder, loc, factor, row);
      sum = arith::AddIOp::create(builder, loc, sum, product);
    }
    vector::StoreOp::create(builder, loc, sum, sums, ValueRange(column));
  };
  forRange(index(0), whole, laneCount,
           [&](Value column) { vectorAt(column, Value()); });
  forRange(whole, countN, laneCount, [&](Value column) {
    vectorAt(column, laneMask(sub(countN, column)));
  });
}

void ContractEmitter::emitStream() {
  sums = scratch(roomN(), element);
  Value whole = wholeLanes(countN);
  forRange(index(0), countN, laneCount, [&](Value column) {
    vector::StoreOp::create(builder, loc, zeroVector(element), sums,
                            ValueRange(column));
  });
  Value wholeK = mul(
      builder.createOrFold<arith::DivUIOp>(loc, sizeK, index(kRows)), kRows);
  forRange(index(0), wholeK, kRows,
           [&](Value k) { streamRows(k, kRows, whole); });
  forRange(wholeK, sizeK, 1, [&](Value k) { streamRows(k, 1, whole); });
  auto finish = [&](Value column, Value mask) {
    finishVector(loadContiguous(sums, column, Value()), firstM,
                 add(firstN, column), mask);
  };
  forRange(index(0), whole, laneCount,
           [&](Value column) { finish(column, Value()); });
  forRange(whole, countN, laneCount, [&](Value column) {
    finish(column, laneMask(sub(countN, column)));
  });
}

} // namespace backplane
