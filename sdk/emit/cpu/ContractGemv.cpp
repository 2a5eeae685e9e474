// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/ContractGemv.h"

#include "sdk/emit/cpu/MultiplyAdd.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace backplane {

/// Rows of B that are read at the same time. Lines of rows of 4096 bytes have
/// the same place in the nearest cache, and each of bytes is needed for several
/// vectors.
static constexpr int64_t kRows = 8, kRowsOfBytes = 4;

GemvBuilder::GemvBuilder(const ContractScope &scope)
    : ContractScope(scope), sums(scratch(plan.groupM * roomN(), element)),
      wholeColumns(wholeSteps(countN, laneCount)),
      pairs(plan.groupM > 1 && multipliesPairs(vnni)),
      rowsAtOnce(pairs ? kRowsOfBytes : kRows), narrow(scope) {}

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

/// Two elements of A of 16 bits in one of 32: from `at` on, the second
/// of them zero where `count` is 1.
Value GemvBuilder::pairOfA(Value at, int64_t count) {
  Type i32 = builder.getI32Type();
  Value pair;
  for (int64_t i = 0; i < std::min<int64_t>(count, 2); ++i) {
    Value part = packedLeft(
        memref::LoadOp::create(builder, loc, operands.a.memref, add(at, i)));
    part = arith::ExtUIOp::create(builder, loc, i32, part);
    if (!pair) {
      pair = part;
      continue;
    }
    Value shift = arith::ConstantIntOp::create(builder, loc, i32, 16);
    part = arith::ShLIOp::create(builder, loc, part, shift);
    pair = arith::OrIOp::create(builder, loc, pair, part);
  }
  return pair;
}

/// What each row of A multiplies `rows` rows of B from firstK on with, in all
/// lanes.
SmallVector<Value> GemvBuilder::lanesOfA(Value firstK, int64_t rows) {
  const FlatOperand &a = operands.a;
  Value first = add(originOf(a), firstK), stride = groupStride(a, c.m);
  auto elementAt = [&](Value at) {
    return convertLeft(memref::LoadOp::create(builder, loc, a.memref, at));
  };
  SmallVector<Value> lanes;
  for (int64_t m = 0; m < plan.groupM; ++m) {
    Value start = add(first, mul(stride, m));
    for (int64_t row = 0; row < rows; row += pairs ? 2 : 1) {
      Value at = add(start, row);
      lanes.push_back(
          broadcast(pairs ? pairOfA(at, rows - row) : elementAt(at)));
    }
  }
  return lanes;
}

/// A vector of each of the rows of B that start there, or of each pair of them.
SmallVector<Value> GemvBuilder::rowsOfB(ArrayRef<Value> starts, Value column,
                                        Value mask) {
  SmallVector<Value> rows, both;
  for (Value start : starts) {
    Value row = loadContiguous(operands.b.memref, add(start, column), mask);
    rows.push_back(pairs ? row : convertRight(row));
  }
  if (!pairs)
    return rows;
  if (rows.size() % 2 != 0)
    rows.push_back(zeroVector(builder.getI8Type()));
  for (size_t i = 0; i < rows.size(); i += 2)
    both.push_back(narrow.widenPairs({rows[i], rows[i + 1]}));
  return both;
}

Value GemvBuilder::multiplyAdd(Value a, Value b, Value sum) {
  return pairs ? narrow.multiplyAdd(a, b, sum)
               : backplane::multiplyAdd(builder, loc, a, b, sum);
}

/// Adds `rows` rows of B, from firstK on, to the sums of all rows of A.
void GemvBuilder::addRows(Value firstK, int64_t rows) {
  const FlatOperand &b = operands.b;
  Value strideB = groupStride(b, c.k);
  Value startB = add(add(originOf(b), firstN), mul(firstK, strideB));
  SmallVector<Value> starts, lanesA = lanesOfA(firstK, rows);
  for (int64_t row = 0; row < rows; ++row)
    starts.push_back(add(startB, mul(strideB, row)));
  forColumns([&](Value column, Value mask) {
    SmallVector<Value> vectorsB = rowsOfB(starts, column, mask);
    for (int64_t m = 0; m < plan.groupM; ++m) {
      Value at = sumAt(index(m), column);
      Value sum = loadContiguous(sums, at, Value());
      for (auto [i, vector] : llvm::enumerate(vectorsB))
        sum = multiplyAdd(lanesA[m * vectorsB.size() + i], vector, sum);
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
  Value wholeK = wholeSteps(sizeK, index(rowsAtOnce));
  forRange(index(0), wholeK, rowsAtOnce,
           [&](Value k) { addRows(k, rowsAtOnce); });
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
