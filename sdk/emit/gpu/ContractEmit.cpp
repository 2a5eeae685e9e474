// SPDX-License-Identifier: Apache-2.0
//
// The loops of a contraction for a work-group:
//
//   for each block of k:
//     copy a block of A and one of B to memory of the work-group
//     for each k: multiply a column of A by a row of B into registers
//   registers to memory of the work-group, then finish and store each element
#include "sdk/emit/gpu/TileScope.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace backplane {
namespace {

struct Emitter : TileScope {
  Block2d left, right;

  Emitter(ImplicitLocOpBuilder &builder, GpuContraction &c)
      : TileScope(builder, c, planGpuTile(c)) {}

  LogicalResult run();
  void allocate();
  FailureOr<Values> accumulate();
  void keepSums(ValueRange sums);
  LogicalResult finish();
};

} // namespace

/// Room for two blocks, and later for the tile of C.
void Emitter::allocate() {
  left = makeBlock(c.a, c.m, 0, tile.m());
  right = makeBlock(c.b, c.n, left.room(), tile.n());
  left.start = startM;
  left.size = sizeM;
  right.start = startN;
  right.size = sizeN;
  memory = loops.share(
      std::max(left.room() + right.room(), tile.m() * tile.n()), c.type());
}

FailureOr<ContractScope::Values> Emitter::accumulate() {
  auto loop = scf::ForOp::create(b, index(0), sizeK, index(GpuTile::kDepth),
                                 startSums());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  // The others may still read the block before.
  gpu::BarrierOp::create(b);
  if (failed(fill(left, loop.getInductionVar())) ||
      failed(fill(right, loop.getInductionVar())))
    return failure();
  gpu::BarrierOp::create(b);
  scf::YieldOp::create(b, multiply(left, right, loop.getRegionIterArgs()));
  return SmallVector<Value>(loop.getResults());
}

/// The tile of C in place of the blocks: what follows is then one loop, and
/// neighbours store neighbours.
void Emitter::keepSums(ValueRange sums) {
  gpu::BarrierOp::create(b);
  Value start = add(mul(row, tile.n()), column);
  for (auto [i, sum] : llvm::enumerate(sums)) {
    auto [m, n] = placeOf(i);
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
  findThread();
  allocate();
  FailureOr<Values> sums = accumulate();
  if (failed(sums))
    return failure();
  keepSums(*sums);
  return finish();
}

LogicalResult emitGpuContraction(func::FuncOp func,
                                 GpuContraction &contraction) {
  ImplicitLocOpBuilder builder(contraction.op.getLoc(),
                               func.getBody().front().getTerminator());
  return Emitter(builder, contraction).run();
}

} // namespace backplane
