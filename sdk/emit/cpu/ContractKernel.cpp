// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/ContractKernel.h"

#include "sdk/emit/cpu/ContractTiles.h"
#include "sdk/emit/cpu/MultiplyAdd.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace backplane {

/// Elements of all tiles that are kept.
static int64_t sizeOfTiles(const ContractScope &s) {
  int64_t rows = s.plan.rows;
  if (!s.keepsTiles())
    return rows * s.maxPanelN();
  // Who transposes them reads as many rows as a vector has lanes.
  int64_t slack = s.plan.transposed ? s.maxLanes() * s.maxPanelN() : 0;
  return int64_t(llvm::alignTo(uint64_t(s.plan.groupM), rows)) * s.roomN() +
         slack;
}

MicroKernel::MicroKernel(const ContractScope &scope,
                         const ContractPacker &packed)
    : ContractScope(scope), tiles(scratch(sizeOfTiles(scope), element)),
      packedA(packed.packedA), packedB(packed.packedB), pixels(packed.pixels),
      narrow(scope) {}

/// The element of A for all lanes.
Value MicroKernel::broadcastA(Value memref, Value at) {
  if (vnni.narrow)
    return narrow.broadcastA(memref, at);
  return broadcast(memref::LoadOp::create(builder, loc, memref, at));
}

Value MicroKernel::multiplyAdd(Value a, Value b, Value sum) {
  if (vnni.narrow)
    return narrow.multiplyAdd(a, b, sum);
  return backplane::multiplyAdd(builder, loc, a, b, sum);
}

MicroKernel::Source MicroKernel::sourceA(Value panelA, Value firstK) {
  if (plan.packA)
    return {packedA, mul(panelA, plan.pitchA), index(plan.pitchA), index(1)};
  Value stride = groupStride(operands.a, c.m);
  Value row = add(firstM, firstRow(panelA));
  Value start = originOf(operands.a);
  Value strideK = groupStride(operands.a, c.k);
  if (!c.blockOfA)
    return {operands.a.memref,
            add(add(start, mul(row, stride)), mul(firstK, strideK)), stride,
            strideK};
  start = add(start, dot(operands.a, c.m, split(row, c.m)));
  return {operands.a.memref, add(start, mul(firstK, c.blockOfA)),
          index(c.depthOfBlock), index(c.blockOfA)};
}

/// Where the tile after this one starts in A, in the same block of k or in the
/// next one: caches do not foresee it, as a block of A ends with all of k.
Value MicroKernel::startOfNext(Value panelA, Value firstK) {
  Value next = add(panelA, plan.rows);
  Value inside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                       next, countM);
  Value same = sourceA(next, firstK).start;
  Value later = sourceA(index(0), add(firstK, plan.depth)).start;
  return arith::SelectOp::create(builder, loc, inside, same, later);
}

MicroKernel::Source MicroKernel::sourceB(Value panelB, Value firstK) {
  if (pixels && vnni.tiles)
    return {packedB, index(0), index(1), panelN()};
  if (plan.packB)
    return {packedB, mul(panelB, depthB()), index(1), panelN()};
  if (c.blockOfB) {
    Value stride = index(c.blockOfB);
    Value strideBlock = operands.b.strides[c.n.front()];
    Value block = floorDiv(add(firstN, panelB), index(c.blockOfB));
    Value start = add(originOf(operands.b), mul(block, strideBlock));
    return {operands.b.memref, add(start, mul(firstK, stride)),
            index(1),          mul(stride, vnni.perLane),
            Value(),           strideBlock};
  }
  return rowsOfB(panelB, firstK);
}

/// Where B is.
MicroKernel::Source MicroKernel::rowsOfB(Value panelB, Value firstK) {
  Value stride = groupStride(operands.b, c.k);
  Value start = add(originOf(operands.b), add(firstN, panelB));
  return {operands.b.memref, add(start, mul(firstK, stride)), index(1), stride};
}

/// The same for a panel that is packed as it is read.
MicroKernel::Source MicroKernel::packingB(Value panelB, Value firstK) {
  Source from = rowsOfB(panelB, firstK);
  from.copy = mul(panelB, depthB());
  return from;
}

/// Where vector `v` of a row of a panel is behind the first one.
Value MicroKernel::vectorOfB(const Source &from, int64_t v) const {
  if (!from.strideBlock)
    return lanesOf(v);
  int64_t column = v * width.count;
  return add(mul(from.strideBlock, column / c.blockOfB),
             column % c.blockOfB * c.depthOfBlock);
}

/// A row of bytes in blocks of columns; of the several rows that an instruction
/// multiplies, those of a block are neighbours, or those of a column.
SmallVector<Value> MicroKernel::loadBytes(const Source &fromB, Value row,
                                          int64_t vectors) {
  SmallVector<Value> result;
  Value block;
  for (int64_t v = 0; v < vectors; ++v) {
    Value at = add(row, vectorOfB(fromB, v));
    if (c.depthOfBlock > 1) {
      result.push_back(narrow.loadLanes(fromB.memref, at));
      continue;
    }
    int64_t column = v * width.count % c.blockOfB;
    if (column == 0)
      block = loadContiguous(fromB.memref, at, Value(),
                             VectorWidth(stepK() * c.blockOfB));
    result.push_back(narrow.lanesOfBlock(block, column));
  }
  return result;
}

SmallVector<Value> MicroKernel::loadRow(const Source &fromB, Value k,
                                        int64_t vectors) {
  Value row = add(fromB.start, mul(k, mul(fromB.strideK, index(vnni.block))));
  if (fromB.strideBlock && c.rhs.widening != ContractionOperand::Widening::None)
    return loadBytes(fromB, row, vectors);
  SmallVector<Value> result;
  for (int64_t v = 0; v < vectors * vnni.block; ++v)
    result.push_back(
        loadContiguous(fromB.memref, add(row, vectorOfB(fromB, v)), Value()));
  return result;
}

/// Where step number k of the kernel begins in a row of A.
Value MicroKernel::offsetInA(const Source &fromA, Value k) {
  return mul(k, mul(fromA.strideK, stepK() * vnni.block));
}

void MicroKernel::fetch(Value memref, Value at) {
  memref::PrefetchOp::create(builder, loc, memref, ValueRange(at),
                             /*isWrite=*/false, /*localityHint=*/3,
                             /*isDataCache=*/true);
}

/// Step `k` fetches a line of a row of the next tile, of which each row has its
/// turn; as there are more steps than lines, also some of the next block of k.
void MicroKernel::fetchRows(const Source &fromA, Value k) {
  constexpr int64_t line = 16;
  Value row = arith::RemUIOp::create(builder, loc, k, index(plan.rows));
  Value column = mul(floorDiv(k, index(plan.rows)), line);
  fetch(fromA.memref, add(add(fromA.next, mul(row, fromA.strideM)), column));
}

/// Step `k` fetches the pixels of a later channel, and those that the tile has
/// in the next block of k: caches do not foresee them, as channels are far from
/// each other, and another core may have written them.
void MicroKernel::fetchPixels(const Source &fromA, Value k) {
  constexpr int64_t steps = 24;
  fetch(fromA.memref, add(fromA.start, offsetInA(fromA, add(k, steps))));
  if (manyBlocks())
    fetch(fromA.memref, add(fromA.start, offsetInA(fromA, add(k, plan.depth))));
}

/// Adds one step to the sums: of a row of A (of a block of rows) with each
/// vector of B.
SmallVector<Value> MicroKernel::addProducts(const Source &fromA, Value offsetA,
                                            ArrayRef<Value> rowB,
                                            ValueRange sums) {
  SmallVector<Value> next;
  if (fromA.next && !plan.fetchesRows)
    fetch(fromA.memref, add(fromA.next, offsetA));
  for (int64_t row = 0; row < plan.rows; row += vnni.block) {
    Value rowA = add(fromA.start, mul(fromA.strideM, row));
    Value lanesA = broadcastA(fromA.memref, add(rowA, offsetA));
    for (Value vector : rowB)
      next.push_back(multiplyAdd(lanesA, vector, sums[next.size()]));
  }
  return next;
}

/// rows x vectors sums over one block of k.
void MicroKernel::multiply(const Source &fromA, const Source &fromB,
                           Value countK, int64_t vectors) {
  SmallVector<Value> zeros(plan.rows * vectors, zeroVector(element));
  Value steps = ceilDiv(countK, index(stepK()));
  storeTile(forCarrying(index(0), steps, zeros, [&](Value k, ValueRange sums) {
    if (plan.fetchesRows)
      fetchRows(fromA, k);
    if (plan.transposed)
      fetchPixels(fromA, k);
    Sums row = loadRow(fromB, k, vectors);
    if (fromB.copy)
      storeVectors(row, packedB, add(fromB.copy, mul(k, panelN())));
    return addProducts(fromA, offsetInA(fromA, k), row, sums);
  }));
}

Value MicroKernel::startOfTile(Value panelB, Value panelA) const {
  if (!keepsTiles())
    return index(0);
  auto rows = int64_t(llvm::alignTo(uint64_t(plan.groupM), plan.rows));
  return add(mul(panelB, rows), mul(panelA, panelN()));
}

void MicroKernel::storeSums(ValueRange sums, bool first) {
  size_t vectors = sums.size() / size_t(plan.rows);
  for (auto [i, sum] : llvm::enumerate(sums)) {
    auto row = int64_t(i / vectors), v = int64_t(i % vectors);
    Value at = add(start, lanesOf(row * plan.vectors + v));
    Value total =
        first ? sum : addElements(sum, loadContiguous(tiles, at, Value()));
    storeVector(total, tiles, at);
  }
}

void MicroKernel::storeTile(ValueRange sums) {
  SmallVector<Value> rows(sums);
  if (vnni.block > 1)
    rows = narrow.sumsByRow(sums);
  if (finish)
    return finish(rows);
  if (!manyBlocks())
    return storeSums(rows, true);
  ifElse(
      first, [&] { storeSums(rows, true); }, [&] { storeSums(rows, false); });
}

void MicroKernel::multiply(Value panelB, Value panelA, Value firstK,
                           Value countK, Panel panel, Finish finishTile) {
  finish = finishTile;
  start = startOfTile(panelB, panelA);
  first = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, firstK,
                                index(0));
  if (pixels && plan.transposed)
    return multiplyRowsOfPixels(panelB, panelA, firstK, countK);
  Source fromA = sourceA(panelA, firstK);
  if (c.blockOfA || plan.fetchesRows)
    fromA.next = startOfNext(panelA, firstK);
  if (pixels && !vnni.tiles)
    return multiplyImage(fromA, panelB, countK);
  Source fromB = panel == Panel::ToBePacked ? packingB(panelB, firstK)
                                            : sourceB(panelB, firstK);
  if (vnni.tiles) {
    TileBuilder::Rows a = {fromA.memref, fromA.start, index(kTileDepth),
                           mul(fromA.strideM, kTileRows)};
    TileBuilder::Rows b = {fromB.memref, fromB.start, fromB.strideK,
                           vectorOfB(fromB, 1)};
    TileBuilder::Rows sums = {tiles, start, panelN()};
    return forPanel(panelB, [&](int64_t vectors) {
      TileBuilder(*this, vectors).multiply(a, b, countK, sums, first);
    });
  }
  if (fromB.copy)
    return multiply(fromA, fromB, countK, plan.vectors);
  if (plan.packB || c.blockOfB)
    return forPanel(panelB, [&](int64_t vectors) {
      multiply(fromA, fromB, countK, vectors);
    });
  Source packed{packedB, index(0), index(1), panelN()};
  ifElse(
      isFull(panelB), [&] { multiply(fromA, fromB, countK, plan.vectors); },
      [&] { multiply(fromA, packed, countK, restVectors()); });
}

/// Vectors that the last panel of a row of C needs, where that is known; others
/// of it keep what they had.
int64_t MicroKernel::restVectors() const {
  int64_t rest = packedB && vnni.narrow ? 0 : restColumns().value_or(0);
  return rest == 0 ? plan.vectors : (rest + width.count - 1) / width.count;
}

/// With the number of vectors that the panel has.
void MicroKernel::forPanel(Value panelB, function_ref<void(int64_t)> multiply) {
  if (restVectors() == plan.vectors)
    return multiply(plan.vectors);
  ifElse(
      isFull(panelB), [&] { multiply(plan.vectors); },
      [&] { multiply(restVectors()); });
}

} // namespace backplane
