// SPDX-License-Identifier: Apache-2.0
//
// The loops of a contraction for a work-group:
//
//   for each block of k:
//     copy a block of A and one of B to memory of the work-group
//     for each k: multiply a column of A by a row of B into registers
//   registers to memory of the work-group, then finish and store each element
#include "sdk/emit/gpu/Contiguous.h"
#include "sdk/emit/gpu/ContractScope.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace backplane {
namespace {

/// Turns over k at once: a loop's turn costs more than a product.
constexpr int64_t kUnroll = 4;

/// A block of one factor in memory of the work-group: element (k, row) is at
/// first + k * stride + row.
struct Block2d {
  GpuOperand *factor;
  ArrayRef<unsigned> loops; ///< of a row
  int64_t first, rows, stride;
  Value start, size; ///< of the rows in C
};

struct Emitter : ContractScope {
  GpuTile tile;
  Value row, column; ///< of this invocation
  Value memory;      ///< of the work-group
  Block2d left, right;

  Emitter(OpBuilder &builder, GpuContraction &c)
      : ContractScope(builder, c), tile(planGpuTile(c)) {}

  LogicalResult run();
  void allocate();
  FailureOr<Values> accumulate();
  int64_t lanesOf(const Block2d &block);
  LogicalResult fill(const Block2d &block, Value firstK);
  LogicalResult copyPart(const Block2d &block, Value firstK, int64_t lanes,
                         Value part);
  Values multiply(ValueRange sums);
  void multiplyOnce(Value k, Values &sums);
  Value addProduct(Value a, Value b, Value sum);
  void keepSums(ValueRange sums);
  LogicalResult finish();

  Value load(Value at) { return memref::LoadOp::create(b, memory, at); }
  void store(Value value, Value at) {
    memref::StoreOp::create(b, value, memory, at);
  }
};

} // namespace

/// Room for two blocks, and later for the tile of C.
void Emitter::allocate() {
  auto pad = [](const Block2d &block) {
    return block.factor->kIsInnermost ? block.rows + 1 : block.rows;
  };
  left = {&c.a, c.m, 0, tile.m(), 0, startM, sizeM};
  right = {&c.b, c.n, 0, tile.n(), 0, startN, sizeN};
  left.stride = pad(left);
  right.stride = pad(right);
  right.first = left.stride * GpuTile::kDepth;
  int64_t room = right.first + right.stride * GpuTile::kDepth;
  memory = loops.share(std::max(room, tile.m() * tile.n()), c.type());
}

/// How many neighbours an invocation copies at once.
int64_t Emitter::lanesOf(const Block2d &block) {
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
LogicalResult Emitter::copyPart(const Block2d &block, Value firstK,
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
LogicalResult Emitter::fill(const Block2d &block, Value firstK) {
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
Value Emitter::addProduct(Value x, Value y, Value sum) {
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
void Emitter::multiplyOnce(Value k, Values &sums) {
  SmallVector<Value> columns;
  Value start = add(add(mul(k, right.stride), column), index(right.first));
  for (int64_t i = 0; i < tile.columns; ++i)
    columns.push_back(load(add(start, index(i * GpuTile::kGroupColumns))));
  start = add(mul(k, left.stride), row);
  for (int64_t i = 0; i < tile.rows; ++i) {
    Value factor = load(add(start, index(i * tile.groupRows)));
    for (auto [j, other] : llvm::enumerate(columns)) {
      Value &sum = sums[size_t(i * tile.columns) + j];
      sum = addProduct(factor, other, sum);
    }
  }
}

ContractScope::Values Emitter::multiply(ValueRange sums) {
  auto loop = scf::ForOp::create(b, index(0), index(GpuTile::kDepth),
                                 index(kUnroll), sums);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> inner(loop.getRegionIterArgs());
  for (int64_t i = 0; i < kUnroll; ++i)
    multiplyOnce(add(loop.getInductionVar(), index(i)), inner);
  scf::YieldOp::create(b, inner);
  return SmallVector<Value>(loop.getResults());
}

FailureOr<ContractScope::Values> Emitter::accumulate() {
  Value zero = arith::ConstantOp::create(b, c.sums.init);
  SmallVector<Value> starts(size_t(tile.rows * tile.columns), zero);
  auto loop =
      scf::ForOp::create(b, index(0), sizeK, index(GpuTile::kDepth), starts);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  // The others may still read the block before.
  gpu::BarrierOp::create(b);
  if (failed(fill(left, loop.getInductionVar())) ||
      failed(fill(right, loop.getInductionVar())))
    return failure();
  gpu::BarrierOp::create(b);
  scf::YieldOp::create(b, multiply(loop.getRegionIterArgs()));
  return SmallVector<Value>(loop.getResults());
}

/// The tile of C in place of the blocks: what follows is then one loop, and
/// neighbours store neighbours.
void Emitter::keepSums(ValueRange sums) {
  gpu::BarrierOp::create(b);
  Value start = add(mul(row, tile.n()), column);
  for (auto [i, sum] : llvm::enumerate(sums)) {
    int64_t m = int64_t(i) / tile.columns * tile.groupRows;
    int64_t n = int64_t(i) % tile.columns * GpuTile::kGroupColumns;
    store(sum, add(start, index(m * tile.n() + n)));
  }
  gpu::BarrierOp::create(b);
}

LogicalResult Emitter::finish() {
  int64_t lanes = lanesOfResult(tile.m() * tile.n());
  int64_t count = tile.m() * tile.n() / c.target.groupSize / lanes;
  auto loop = scf::ForOp::create(b, index(0), index(count), index(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(loop.getBody()->getTerminator());
  Value number =
      mul(add(thread, mul(loop.getInductionVar(), c.target.groupSize)), lanes);
  Value m = add(startM, div(number, tile.n()));
  Value n = add(startN, rem(number, tile.n()));
  return storeSums(m, n, lanes, tile.m(), tile.n(), [&](int64_t lane) {
    return load(add(number, index(lane)));
  });
}

LogicalResult Emitter::run() {
  enterGroup(tile.m(), tile.n());
  row = div(thread, GpuTile::kGroupColumns);
  column = rem(thread, GpuTile::kGroupColumns);
  allocate();
  FailureOr<Values> sums = accumulate();
  if (failed(sums))
    return failure();
  keepSums(*sums);
  return finish();
}

LogicalResult emitGpuContraction(func::FuncOp func,
                                 GpuContraction &contraction) {
  OpBuilder builder(func.getBody().front().getTerminator());
  return Emitter(builder, contraction).run();
}

} // namespace backplane
