// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/ContractGemv.h"

#include "sdk/emit/cpu/MultiplyAdd.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace backplane {

/// Rows of B that are read at the same time.
static constexpr int64_t kRows = 8;

GemvBuilder::GemvBuilder(const ContractScope &scope)
    : ContractScope(scope), sums(scratch(plan.groupM * roomN(), element)),
      wholeColumns(wholeSteps(countN, laneCount)) {}

/// Where the sum of a row of A and a column is.
Value GemvBuilder::sumAt(Value row, Value column) {
  return add(mul(row, roomN()), column);
}

/// Calls `body` for each vector of columns; `mask` is null for whole ones.
void GemvBuilder::forColumns(
    function_ref<void(Value column, Value mask)> body) {
  forRange(index(0), wholeColumns, laneCount,
           [&](Value column) { body(column, Value()); });
  forRange(wholeColumns, countN, laneCount,
           [&](Value column) { body(column, laneMask(sub(countN, column))); });
}

/// Adds `rows` rows of B, from firstK on, to the sums of all rows of A.
void GemvBuilder::addRows(Value firstK, int64_t rows) {
  const FlatOperand &a = operands.a, &b = operands.b;
  Value startA = add(originOf(a), firstK);
  Value strideA = groupStride(a, c.m), strideB = groupStride(b, c.k);
  Value startB = add(add(originOf(b), firstN), mul(firstK, strideB));
  SmallVector<Value> lanesA, starts;
  for (int64_t row = 0; row < rows; ++row)
    starts.push_back(add(startB, mul(strideB, row)));
  for (int64_t m = 0; m < plan.groupM; ++m) {
    Value start = add(startA, mul(strideA, m));
    for (int64_t row = 0; row < rows; ++row) {
      Value scalar =
          memref::LoadOp::create(builder, loc, a.memref, add(start, row));
      lanesA.push_back(broadcast(convertLeft(scalar)));
    }
  }
  forColumns([&](Value column, Value mask) {
    SmallVector<Value> rowsB;
    for (Value start : starts)
      rowsB.push_back(
          convertRight(loadContiguous(b.memref, add(start, column), mask)));
    for (int64_t m = 0; m < plan.groupM; ++m) {
      Value at = sumAt(index(m), column);
      Value sum = loadContiguous(sums, at, Value());
      for (int64_t row = 0; row < rows; ++row)
        sum = backplane::multiplyAdd(builder, loc, lanesA[m * rows + row],
                                     rowsB[row], sum);
      storeVector(sum, sums, at);
    }
  });
}

void GemvBuilder::run() {
  forRange(index(0), countM, 1, [&](Value m) {
    forRange(index(0), countN, laneCount, [&](Value column) {
      storeVector(zeroVector(element), sums, sumAt(m, column));
    });
  });
  Value sizeK = operands.sizeK;
  Value wholeK = mul(floorDiv(sizeK, index(kRows)), kRows);
  forRange(index(0), wholeK, kRows, [&](Value k) { addRows(k, kRows); });
  forRange(wholeK, sizeK, 1, [&](Value k) { addRows(k, 1); });
  ContractEpilogue epilogue(*this);
  forRange(index(0), countM, 1, [&](Value m) {
    forColumns([&](Value column, Value mask) {
      Value sum = loadContiguous(sums, sumAt(m, column), Value());
      epilogue.finishVector(sum, add(firstM, m), add(firstN, column), mask);
    });
  });
}

} // namespace backplane
