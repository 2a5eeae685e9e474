// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/ContractGemv.h"

#include "sdk/emit/cpu/MultiplyAdd.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace backplane {

/// Rows of B that are read at the same time.
static constexpr int64_t kRows = 8;

GemvBuilder::GemvBuilder(const ContractScope &scope)
    : ContractScope(scope), sums(scratch(roomN(), element)),
      wholeColumns(wholeSteps(countN, laneCount)) {}

/// Calls `body` for each vector of columns; `mask` is null for whole ones.
void GemvBuilder::forColumns(
    function_ref<void(Value column, Value mask)> body) {
  forRange(index(0), wholeColumns, laneCount,
           [&](Value column) { body(column, Value()); });
  forRange(wholeColumns, countN, laneCount,
           [&](Value column) { body(column, laneMask(sub(countN, column))); });
}

/// Adds `rows` rows of B, from firstK on, to the sums.
void GemvBuilder::addRows(Value firstK, int64_t rows) {
  const FlatOperand &a = operands.a, &b = operands.b;
  Value startA = add(dot(a, c.outer, outer), firstK);
  Value stride = groupStride(b, c.k);
  Value startB = add(add(dot(b, c.outer, outer), firstN), mul(firstK, stride));
  SmallVector<Value> lanesA, starts;
  for (int64_t row = 0; row < rows; ++row) {
    Value scalar =
        memref::LoadOp::create(builder, loc, a.memref, add(startA, row));
    lanesA.push_back(broadcast(convertLeft(scalar)));
    starts.push_back(add(startB, mul(stride, row)));
  }
  forColumns([&](Value column, Value mask) {
    Value sum = loadContiguous(sums, column, Value());
    for (auto [lanes, start] : llvm::zip(lanesA, starts)) {
      Value row =
          convertRight(loadContiguous(b.memref, add(start, column), mask));
      sum = backplane::multiplyAdd(builder, loc, lanes, row, sum);
    }
    storeVector(sum, sums, column);
  });
}

void GemvBuilder::run() {
  forRange(index(0), countN, laneCount, [&](Value column) {
    storeVector(zeroVector(element), sums, column);
  });
  Value sizeK = operands.sizeK;
  Value wholeK = mul(floorDiv(sizeK, index(kRows)), kRows);
  forRange(index(0), wholeK, kRows, [&](Value k) { addRows(k, kRows); });
  forRange(wholeK, sizeK, 1, [&](Value k) { addRows(k, 1); });
  ContractEpilogue epilogue(*this);
  forColumns([&](Value column, Value mask) {
    Value sum = loadContiguous(sums, column, Value());
    epilogue.finishVector(sum, firstM, add(firstN, column), mask);
  });
}

} // namespace backplane
