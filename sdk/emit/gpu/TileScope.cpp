// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/gpu/TileScope.h"

#include "sdk/emit/gpu/Contiguous.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace backplane {

/// Turns over k at once: a loop's turn costs more than a product.
constexpr int64_t kUnroll = 4;

Block2d makeBlock(const GpuOperand &factor, ArrayRef<unsigned> loops,
                  int64_t first, int64_t rows) {
  return {&factor, loops, first, rows, factor.kIsInnermost ? rows + 1 : rows,
          {},      {}};
}

void TileScope::findThread() {
  row = div(thread, GpuTile::kGroupColumns);
  column = rem(thread, GpuTile::kGroupColumns);
}

ContractScope::Values TileScope::startSums() {
  Value zero = arith::ConstantOp::create(b, c.sums.init);
  return Values(size_t(tile.rows * tile.columns), zero);
}

/// How many neighbours an invocation copies at once.
int64_t TileScope::lanesOf(const Block2d &block) {
  bool alongK = block.factor->kIsInnermost;
  ArrayRef<unsigned> loops = alongK ? ArrayRef(c.k) : block.loops;
  bool possible =
      isOfVec4(sizeOf(c.op.getStaticLoopRanges(), loops)) &&
      block.rows * GpuTile::kDepth % (kVec4 * c.target.groupSize) == 0;
  return possible && llvm::all_of(block.factor->inputs,
                                  [&](OpOperand *input) {
                                    return areContiguous(c.op, *input, loops);
                                  })
             ? kVec4
             : 1;
}

/// What this invocation copies of a part of a block: as many elements as there
/// are lanes, zero beyond the edges. Lanes lie on the same side of an edge.
LogicalResult TileScope::copyPart(const Block2d &block, Value firstK,
                                  int64_t lanes, Value part) {
  bool alongK = block.factor->kIsInnermost;
  int64_t width = (alongK ? GpuTile::kDepth : block.rows) / lanes;
  Value inner = mul(rem(thread, width), lanes), outer = div(thread, width);
  outer = add(outer, mul(part, c.target.groupSize / width));
  Value inBlock = alongK ? outer : inner, k = alongK ? inner : outer;
  Value place = add(add(mul(k, block.stride), inBlock), index(block.first));
  Value rowAt = add(block.start, inBlock), kAt = add(firstK, k);
  Value inside = below(rowAt, block.size, block.rows, Value());
  inside = below(kAt, sizeK, GpuTile::kDepth, inside);
  auto values = guarded(inside, lanes, c.type(), [&] {
    return readLanes(*block.factor, block.loops, alongK, rowAt, kAt, lanes);
  });
  if (failed(values))
    return failure();
  for (auto [lane, value] : llvm::enumerate(*values))
    store(value,
          add(place, index(int64_t(lane) * (alongK ? block.stride : 1))));
  return success();
}

/// Copies a block of a factor. Where k may be long no iterations go into parts:
/// some software devices end a shader after 65535 of them.
LogicalResult TileScope::fill(const Block2d &block, Value firstK) {
  int64_t lanes = lanesOf(block);
  int64_t parts = block.rows * GpuTile::kDepth / c.target.groupSize / lanes;
  OpBuilder::InsertionGuard guard(b);
  if (!matchPattern(sizeK, m_Constant())) {
    for (int64_t part = 0; part < parts; ++part)
      if (failed(copyPart(block, firstK, lanes, index(part))))
        return failure();
    return success();
  }
  auto loop = scf::ForOp::create(b, index(0), index(parts), index(1));
  b.setInsertionPoint(loop.getBody()->getTerminator());
  return copyPart(block, firstK, lanes, loop.getInductionVar());
}

/// sum + a * b, as the body has it or in one rounding.
Value TileScope::addProduct(Value x, Value y, Value sum) {
  if (c.fusesProducts && isa<arith::MulFOp>(c.product))
    return math::FmaOp::create(b, x, y, sum);
  IRMapping map;
  map.map(c.a.value, x);
  map.map(c.b.value, y);
  b.clone(*c.product, map);
  bool sumFirst = c.sum->getOperand(0) == c.op.getBody()->getArguments().back();
  map.map(c.sum->getOperand(sumFirst ? 0 : 1), sum);
  return b.clone(*c.sum, map)->getResult(0);
}

/// One k for all sums of this invocation. Its rows and columns lie apart, so
/// that neighbours read neighbours.
void TileScope::multiplyOnce(const Block2d &left, const Block2d &right, Value k,
                             Values &sums) {
  SmallVector<Value> columns;
  Value start = add(add(mul(k, right.stride), column), index(right.first));
  for (int64_t i = 0; i < tile.columns; ++i)
    columns.push_back(load(add(start, index(i * GpuTile::kGroupColumns))));
  start = add(add(mul(k, left.stride), row), index(left.first));
  for (int64_t i = 0; i < tile.rows; ++i) {
    Value factor = load(add(start, index(i * tile.groupRows)));
    for (auto [j, other] : llvm::enumerate(columns)) {
      Value &sum = sums[size_t(i * tile.columns) + j];
      sum = addProduct(factor, other, sum);
    }
  }
}

ContractScope::Values TileScope::multiply(const Block2d &left,
                                          const Block2d &right,
                                          ValueRange sums) {
  auto loop = scf::ForOp::create(b, index(0), index(GpuTile::kDepth),
                                 index(kUnroll), sums);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> inner(loop.getRegionIterArgs());
  for (int64_t i = 0; i < kUnroll; ++i)
    multiplyOnce(left, right, add(loop.getInductionVar(), index(i)), inner);
  scf::YieldOp::create(b, inner);
  return SmallVector<Value>(loop.getResults());
}

} // namespace backplane
