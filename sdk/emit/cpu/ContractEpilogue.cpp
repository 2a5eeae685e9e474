// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/ContractEpilogue.h"

#include "sdk/emit/cpu/LaneTranspose.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <algorithm>

using namespace mlir;

namespace backplane {

/// Sums, row by row.
struct ContractEpilogue::Tile {
  Value sums, start; ///< memory, and where the first row is
  Value panelB, panelA;
  Value rows; ///< that are inside
};

void ContractEpilogue::finishTile(Value tile, Value start, Value panelB,
                                  Value panelA) {
  Value rows = minimum(index(plan.rows), sub(countM, panelA));
  // The tile may have begun before the panel.
  Value skipped = sub(panelA, firstRow(panelA));
  start = add(start, mul(skipped, panelN()));
  Tile whole = {tile, start, panelB, panelA, rows};
  if (restColumns() == 0)
    return finishRows(whole, true);
  ifElse(
      isFull(panelB), [&] { finishRows(whole, true); },
      [&] { finishRows(whole, false); });
}

void ContractEpilogue::finishRows(const Tile &tile, bool full) {
  forRange(index(0), tile.rows, 1, [&](Value row) {
    finishRow(tile, row, add(tile.start, mul(row, panelN())), full);
  });
}

void ContractEpilogue::finishRow(const Tile &tile, Value row, Value start,
                                 bool full) {
  Value m = add(firstM, add(tile.panelA, row));
  for (int64_t v = 0; v < plan.vectors; ++v) {
    if (!full && lanesInRest(v) == 0)
      continue;
    Value column = add(tile.panelB, lanesOf(v));
    Value sum = loadContiguous(tile.sums, add(start, lanesOf(v)), Value());
    finishVector(sum, m, add(firstN, column),
                 full ? Value() : maskInRest(v, column));
  }
}

bool ContractEpilogue::takesRegisters() const {
  constexpr int64_t fewProducts = 64;
  constexpr size_t fewOps = 8;
  std::optional<int64_t> k = getConstantIntValue(operands.sizeK);
  linalg::GenericOp op = c.epilogue;
  if (vnni.tiles)
    return false;
  bool isShort = !op || op.getBody()->getOperations().size() <= fewOps;
  return plan.wholeTiles && k && *k <= fewProducts && isShort && !manyBlocks();
}

void ContractEpilogue::finishSums(ValueRange sums, Value panelB, Value panelA) {
  auto vectors = int64_t(sums.size()) / plan.rows;
  auto finish = [&](bool full) {
    for (auto [i, sum] : llvm::enumerate(sums)) {
      int64_t row = int64_t(i) / vectors, v = int64_t(i) % vectors;
      Value column = add(panelB, lanesOf(v));
      if (full || lanesInRest(v) != 0)
        finishVector(sum, add(add(firstM, panelA), row), add(firstN, column),
                     full ? Value() : maskInRest(v, column));
    }
  };
  if (vectors < plan.vectors || restColumns() == 0)
    return finish(vectors == plan.vectors);
  ifElse(isFull(panelB), [&] { finish(true); }, [&] { finish(false); });
}

/* ---- Transposed ---- */

void ContractEpilogue::finishTransposed(const ContractScope &computed,
                                        Value tiles, Value start,
                                        Value panelB) {
  // The last tile may have begun before its place.
  int64_t rows = computed.plan.rows, pixels = computed.plan.groupM;
  int64_t last = (pixels - 1) / rows * rows, skipped = last + rows - pixels;
  Value pitch = computed.panelN();
  Value end = minimum(pitch, sub(computed.countN, panelB));
  forRange(index(0), end, laneCount, [&](Value lanes) {
    Value m = add(add(firstM, panelB), lanes);
    forRange(index(0), countN, laneCount, [&](Value column) {
      SmallVector<Value> vectors;
      for (int64_t lane = 0; lane < width.count; ++lane) {
        Value row = add(column, lane);
        Value later = arith::CmpIOp::create(
            builder, loc, arith::CmpIPredicate::sge, row, index(last));
        row = add(row, arith::SelectOp::create(builder, loc, later,
                                               index(skipped), index(0)));
        Value at = add(add(start, mul(row, pitch)), lanes);
        vectors.push_back(loadContiguous(tiles, at, Value()));
      }
      transposeVectors(builder, loc, vectors);
      finishSquare(vectors, m, column);
    });
  });
}

/// Rows of C from m on, of a vector each.
void ContractEpilogue::finishSquare(ArrayRef<Value> rows, Value m,
                                    Value column) {
  auto finish = [&](Value mask) {
    for (auto [i, row] : llvm::enumerate(rows))
      finishVector(row, add(m, int64_t(i)), add(firstN, column), mask);
  };
  ifElse(
      lessOrEqual(add(column, laneCount), countN), [&] { finish(Value()); },
      [&] { finish(laneMask(sub(countN, column))); });
}

/* ---- Rows and vectors ---- */

/// Lanes of vector `v` of the last panel that are inside, where that is known.
std::optional<int64_t> ContractEpilogue::lanesInRest(int64_t v) const {
  std::optional<int64_t> rest = restColumns();
  if (!rest)
    return std::nullopt;
  return std::clamp<int64_t>(*rest - v * width.count, 0, width.count);
}

/// A null mask: all lanes are inside.
Value ContractEpilogue::maskInRest(int64_t v, Value column) const {
  std::optional<int64_t> lanes = lanesInRest(v);
  if (lanes == width.count)
    return {};
  return laneMask(lanes ? index(*lanes) : sub(countN, column));
}

Value ContractEpilogue::elementOf(const FlatOperand &operand, Value m,
                                  Value n) {
  Value at = add(originOf(operand), mul(m, groupStride(operand, c.m)));
  return add(at, mul(n, groupStride(operand, c.n)));
}

/// The indices of the vector on an axis of C, which its last loops are.
Value ContractEpilogue::indexOn(unsigned axis, Value m, Value n) {
  unsigned loop =
      cast<AffineDimExpr>(c.destinationMap.getResult(axis)).getPosition();
  if (loop == c.m.front())
    return m;
  if (loop != c.n.front())
    return outer[llvm::find(c.outer, loop) - c.outer.begin()];
  Type type = vectorType(builder.getIndexType());
  Value lanes = vector::StepOp::create(builder, loc, cast<VectorType>(type));
  return arith::AddIOp::create(builder, loc, broadcast(n), lanes);
}

/// The results of the op that follows.
SmallVector<Value> ContractEpilogue::runBody(Value sum, Value m, Value n,
                                             Value mask) {
  SmallVector<Value> arguments;
  linalg::GenericOp op = c.epilogue;
  Block &body = *op.getBody();
  for (auto [i, operand] : llvm::enumerate(operands.epilogue)) {
    if (i == c.epilogueInput)
      arguments.push_back(sum);
    else if (operand.strides[c.n.back()])
      arguments.push_back(
          loadContiguous(operand.memref, elementOf(operand, m, n), mask));
    else
      arguments.push_back(memref::LoadOp::create(builder, loc, operand.memref,
                                                 elementOf(operand, m, n)));
  }
  // The old contents of destinations are undefined.
  for (BlockArgument old : body.getArguments().drop_front(arguments.size()))
    arguments.push_back(zeroVector(old.getType()));
  return cloneBody(builder, loc, body, arguments, width,
                   [&](unsigned axis) { return indexOn(axis, m, n); });
}

void ContractEpilogue::finishVector(Value sum, Value m, Value n, Value mask) {
  auto zero = cast<TypedAttr>(builder.getZeroAttr(element));
  if (c.init != zero)
    sum = addElements(
        sum, broadcast(arith::ConstantOp::create(builder, loc, c.init)));
  SmallVector<Value> values;
  if (c.epilogue)
    values = runBody(sum, m, n, mask);
  for (auto [result, to] : llvm::zip(c.results, operands.destinations)) {
    Value value = broadcast(result.number ? values[*result.number] : sum);
    Value at = elementOf(to, m, n);
    if (mask)
      vector::MaskedStoreOp::create(builder, loc, to.memref, ValueRange(at),
                                    mask, value);
    else
      storeVector(value, to.memref, at);
  }
}

} // namespace backplane
