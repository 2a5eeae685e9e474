// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/ContractPack.h"

#include "sdk/emit/cpu/LaneTranspose.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace backplane {

ContractPacker::ContractPacker(const ContractScope &s,
                               const ContractScope &result)
    : ContractScope(s) {
  // The last vector of a row may reach into the next one.
  if (plan.packA)
    packedA =
        scratch(plan.groupM * plan.pitchA + (width.scalable ? maxLanes() : 0),
                vnni.narrow ? vnni.narrow : element);
  if (image)
    pixels.emplace(result);
  if (image && vnni.tiles)
    packedB = scratch(plan.pitchA / vnni.perLane * maxPanelN(), element);
  else if (!image && !c.blockOfB)
    packedB = scratch((plan.packB ? roomN() : maxPanelN()) * depthB(),
                      vnni.narrow ? builder.getI32Type() : element);
}

/* ---- A ---- */

/// What a row of A is copied by.
VectorWidth ContractPacker::chunkOfA() const {
  return vnni.tiles || vnni.block > 1 ? VectorWidth(stepOfA()) : width;
}

/// Where element k of a row is in packed A. What a tile register takes is one
/// run. Blocks of rows lie side by side, one step of the kernel after the
/// other.
Value ContractPacker::offsetInA(Value row, Value k) {
  if (vnni.block == 1 && !vnni.tiles)
    return add(mul(row, plan.pitchA), k);
  auto part = [&](Value value, int64_t unit, int64_t each) {
    Value whole = floorDiv(value, index(unit));
    Value remainder = mod(value, index(unit));
    return std::pair(mul(whole, each * unit), remainder);
  };
  int64_t rows = vnni.tiles ? kTileRows : vnni.block;
  auto [block, second] = part(row, rows, plan.pitchA);
  auto [step, inside] = part(k, stepOfA(), rows);
  return add(add(block, step), add(mul(second, stepOfA()), inside));
}

/// Where a row of the group begins in A.
Value ContractPacker::startOfRow(Value row) {
  const FlatOperand &a = operands.a;
  row = add(firstM, row);
  Value offset = c.depthOfBlock > 1 ? dot(a, c.m, split(row, c.m))
                                    : mul(row, groupStride(a, c.m));
  return add(originOf(a), offset);
}

void ContractPacker::copyVector(const RowsOfA &from, Value row, Value k,
                                Value mask) {
  Value at = add(startOfRow(row), add(from.firstK, k));
  Value value = loadContiguous(operands.a.memref, at, mask, chunkOfA());
  storeVector(packedLeft(value), packedA, offsetInA(row, k));
}

/// A row whose elements are neighbours.
void ContractPacker::copyVectors(const RowsOfA &from, Value row, Value countK) {
  forRange(index(0), from.whole, from.chunk,
           [&](Value k) { copyVector(from, row, k, Value()); });
  forRange(from.whole, countK, from.chunk, [&](Value k) {
    copyVector(from, row, k, laneMask(sub(countK, k), chunkOfA()));
  });
}

Value ContractPacker::elementOfA(const RowsOfA &from, Value row, Value k) {
  Value position = add(from.firstK, k);
  Value at = c.kMergedInA ? mul(position, from.strideK)
                          : dot(operands.a, c.k, split(position, c.k));
  Value value = memref::LoadOp::create(builder, loc, operands.a.memref,
                                       add(startOfRow(row), at));
  return packedLeft(value);
}

void ContractPacker::copyElements(const RowsOfA &from, Value row,
                                  Value countK) {
  auto store = [&](Value value, Value k) {
    memref::StoreOp::create(builder, loc, value, packedA, offsetInA(row, k));
  };
  forRange(index(0), countK, 1,
           [&](Value k) { store(elementOfA(from, row, k), k); });
  Value end = mul(ceilDiv(countK, index(stepOfA())), stepOfA());
  Type type = cast<MemRefType>(packedA.getType()).getElementType();
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  forRange(countK, end, 1, [&](Value k) { store(zero, k); });
}

/// Rows from `countM` to the end of the last panel.
void ContractPacker::clearRows(Value end, Value countK, Value chunk) {
  Type type = cast<MemRefType>(packedA.getType()).getElementType();
  forRange(countM, end, 1, [&](Value row) {
    forRange(index(0), countK, chunk, [&](Value k) {
      Value zero = zeroVector(type, chunkOfA());
      storeVector(zero, packedA, offsetInA(row, k));
    });
  });
}

void ContractPacker::packA(Value firstK, Value countK) {
  const FlatOperand &a = operands.a;
  RowsOfA from = {groupStride(a, c.k), firstK, {}, {}};
  from.chunk = chunkOfA().lanes(builder, loc);
  Value end = mul(ceilDiv(countM, index(plan.rows)), plan.rows);
  bool contiguous = c.kMergedInA && !c.k.empty() && a.unitStride(c.k.back());
  from.whole = wholeSteps(countK, from.chunk);
  forRange(index(0), countM, 1, [&](Value row) {
    if (contiguous)
      copyVectors(from, row, countK);
    else
      copyElements(from, row, countK);
  });
  clearRows(end, countK, from.chunk);
}

/* ---- B ---- */

void ContractPacker::prepareColumns() {
  if (!pixels && !c.nMergedInB && !c.hasBlocksOfB() && !transposesB())
    shares = makeColumnShares(*this);
}

/// The vectors of a row, from element `to` of packed B on.
void ContractPacker::storeRow(Value to, ArrayRef<Value> vectors) {
  auto converted = llvm::map_to_vector(
      vectors, [&](Value value) { return convertRight(value); });
  storeVectors(converted, packedB, to);
}

/// Rows of a panel of B, from element `to` of the packed ones on.
void ContractPacker::storeRows(Value to, Value countK, RowReader read) {
  if (!vnni.narrow)
    return forRange(index(0), countK, 1, [&](Value k) {
      storeRow(add(to, mul(k, panelN())), read(k));
    });
  storeSteps(to, countK, read, [&](Value k) {
    VnniBuilder(*this).packStep(packedB, to, k, countK, true, read);
  });
}

/// The same by steps of the kernel, of which `storeWhole` stores those that end
/// inside.
void ContractPacker::storeSteps(Value to, Value countK, RowReader read,
                                function_ref<void(Value k)> storeWhole) {
  Value whole = wholeSteps(countK, index(stepK()));
  forRange(index(0), whole, stepK(), storeWhole);
  forRange(whole, countK, stepK(), [&](Value k) {
    VnniBuilder(*this).packStep(packedB, to, k, countK, false, read);
  });
}

/// A panel whose columns are neighbours in B.
void ContractPacker::packPanel(Value panel, Value firstK, Value countK,
                               bool full) {
  const FlatOperand &b = operands.b;
  Value to = plan.packB ? mul(panel, depthB()) : index(0);
  Value start = add(originOf(b), add(firstN, panel));
  SmallVector<Value> masks;
  for (int64_t v = 0; v < plan.vectors; ++v)
    masks.push_back(full ? Value()
                         : laneMask(sub(countN, add(panel, lanesOf(v)))));
  storeRows(to, countK, [&](Value k) {
    Value from = add(start, dot(b, c.k, split(add(firstK, k), c.k)));
    SmallVector<Value> row;
    for (int64_t v = 0; v < plan.vectors; ++v)
      row.push_back(loadContiguous(b.memref, add(from, lanesOf(v)), masks[v]));
    return row;
  });
}

/// Whether the elements that a vector of packed B has are neighbours in a block
/// of columns.
bool ContractPacker::permutesBlocks() const {
  return vnni.tiles && c.blockToPack == width.count &&
         getConstantIntValue(groupStride(operands.b, c.k)) == c.blockToPack;
}

/// A panel of columns that lie in blocks. Vectors beyond the edge repeat what
/// is in the last block.
void ContractPacker::packBlocks(Value panel, Value firstK, Value countK) {
  const FlatOperand &b = operands.b;
  Value to = mul(panel, depthB());
  Value strideBlock = b.strides[c.n.front()], strideK = groupStride(b, c.k);
  Value last = sub(operands.sizes[c.n.front()], index(1));
  SmallVector<Value> starts;
  for (int64_t v = 0; v < plan.vectors; ++v) {
    Value column = add(add(firstN, panel), lanesOf(v));
    Value block = minimum(floorDiv(column, index(c.blockToPack)), last);
    Value inBlock = mul(mod(column, index(c.blockToPack)), c.depthOfBlock);
    starts.push_back(add(add(originOf(b), mul(block, strideBlock)), inBlock));
  }
  auto storeLanes = [&](Value k, function_ref<Value(Value)> load) {
    Value row = mul(add(firstK, k), c.blockToPack);
    Value step = add(to, mul(floorDiv(k, index(stepK())), panelN()));
    for (auto [v, start] : llvm::enumerate(starts))
      storeVector(load(add(start, row)), packedB,
                  add(step, lanesOf(int64_t(v))));
  };
  VnniBuilder narrow(*this);
  if (c.depthOfBlock > 1)
    return forRange(index(0), countK, stepK(), [&](Value k) {
      storeLanes(k, [&](Value at) { return narrow.loadLanes(b.memref, at); });
    });
  auto read = [&](Value k) {
    Value row = mul(add(firstK, k), strideK);
    return llvm::map_to_vector(starts, [&](Value start) {
      return loadContiguous(b.memref, add(start, row), Value());
    });
  };
  if (!permutesBlocks())
    return storeRows(to, countK, read);
  storeSteps(to, countK, read, [&](Value k) {
    storeLanes(k, [&](Value at) {
      Value block = loadContiguous(b.memref, at, Value(),
                                   VectorWidth(stepK() * c.blockToPack));
      return narrow.lanesOfBlock(block, 0);
    });
  });
}

void ContractPacker::gatherPanel(Value panel, Value firstK, Value countK) {
  PanelGather gather(*this, shares, panel);
  Value to = mul(panel, depthB());
  Value shift = gather.paddingBefore();
  if (vnni.narrow || c.k.empty())
    return storeRows(to, countK, [&](Value k) {
      return gather.row(split(add(firstK, k), c.k), shift);
    });
  if (plan.window > 1 && plan.window == c.window)
    return gatherWindows(gather, to, firstK, countK);
  // Rows that differ in the last loop alone follow each other: most often the
  // same of their lanes lie in the padding.
  Value inner = operands.sizes[c.k.back()], end = add(firstK, countK);
  ArrayRef<unsigned> others = ArrayRef(c.k).drop_back();
  forRange(floorDiv(firstK, inner), ceilDiv(end, inner), 1, [&](Value run) {
    Value start = mul(run, inner);
    Value low = builder.createOrFold<arith::MaxSIOp>(loc, firstK, start);
    SmallVector<Value> at = split(run, others);
    at.emplace_back();
    forRange(low, minimum(end, add(start, inner)), 1, [&](Value k) {
      at.back() = sub(k, start);
      storeRow(add(to, mul(sub(k, firstK), panelN())), gather.row(at, shift));
    });
  });
}

/// Rows of whole channels. Those under one element of the window follow each
/// other: the same of their lanes lie in the padding.
void ContractPacker::gatherWindows(PanelGather &gather, Value to, Value firstK,
                                   Value countK) {
  Value shift = gather.paddingBefore(), window = index(c.window);
  Value first = floorDiv(firstK, window), count = ceilDiv(countK, window);
  forRange(index(0), window, 1, [&](Value element) {
    SmallVector<Value> at = split(element, ArrayRef(c.k).drop_front());
    at.insert(at.begin(), Value());
    forRange(index(0), count, 1, [&](Value channel) {
      at.front() = add(first, channel);
      Value k = add(mul(channel, window), element);
      storeRow(add(to, mul(k, panelN())), gather.row(at, shift));
    });
  });
}

/// Whether each column of B is one run of neighbours, as that of a transposed
/// matrix is.
bool ContractPacker::transposesB() const {
  return !c.nMergedInB && !c.rhs.padded() && !vnni.narrow && !width.scalable &&
         c.k.size() == 1 && c.n.size() == 1 &&
         operands.b.unitStride(c.k.front()) &&
         llvm::isPowerOf2_64(uint64_t(width.count));
}

/// Elements from k on of as many columns as a vector has lanes, as rows of
/// packed B from `to` on. Those that the mask leaves out become zero.
void ContractPacker::transposeTile(ValueRange columns, Value to, Value k,
                                   Value mask) {
  SmallVector<Value> vectors;
  for (Value column : columns)
    vectors.push_back(loadContiguous(operands.b.memref, add(column, k), mask));
  transposeVectors(builder, loc, vectors);
  for (auto [i, vector] : llvm::enumerate(vectors))
    storeVector(convertRight(vector), packedB,
                add(to, mul(add(k, int64_t(i)), panelN())));
}

/// A panel of a transposed B: lanes beyond the edge repeat the last column.
void ContractPacker::transposePanel(Value panel, Value firstK, Value countK) {
  Value start = add(originOf(operands.b), firstK);
  Value stride = groupStride(operands.b, c.n);
  Value last = sub(countN, index(1)), whole = wholeSteps(countK, laneCount);
  forRange(index(0), panelN(), laneCount, [&](Value first) {
    SmallVector<Value> columns;
    for (int64_t lane = 0; lane < width.count; ++lane) {
      Value column = minimum(add(add(panel, first), lane), last);
      columns.push_back(add(start, mul(add(firstN, column), stride)));
    }
    Value to = add(mul(panel, depthB()), first);
    forRange(index(0), whole, laneCount,
             [&](Value k) { transposeTile(columns, to, k, Value()); });
    forRange(whole, countK, laneCount, [&](Value k) {
      transposeTile(columns, to, k, laneMask(sub(countK, k)));
    });
  });
}

void ContractPacker::packB(Value firstK, Value countK) {
  if (pixels)
    return pixels->copy(firstK, countK);
  if (c.blockOfB || plan.packsInTile)
    return;
  forRange(index(0), countN, panelN(), [&](Value panel) {
    if (c.blockToPack)
      return packBlocks(panel, firstK, countK);
    if (transposesB())
      return transposePanel(panel, firstK, countK);
    if (!c.nMergedInB)
      return gatherPanel(panel, firstK, countK);
    ifElse(
        isFull(panel), [&] { packPanel(panel, firstK, countK, true); },
        [&] { packPanel(panel, firstK, countK, false); });
  });
}

} // namespace backplane
