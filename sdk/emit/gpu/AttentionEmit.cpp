// SPDX-License-Identifier: Apache-2.0
//
// The loops of an attention for a work-group:
//
//   for each reduction among the ops between the products:
//     for each block of columns: scores, then their part of it
//   for each block of columns:
//     scores to memory of the work-group, and weights of them
//     correct the sums, add the products of weights and values
//   finish and store the sums
#include "sdk/emit/gpu/AttentionLoops.h"
#include "sdk/emit/gpu/TileScope.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace backplane {

/* ---- Loops ---- */

LogicalResult AttentionLoops::reduce(const RowReduction &reduction,
                                     AttentionRows &rows) {
  auto partial = product.forPlaces(
      product.sizeK, columns, rows.startReduction(reduction),
      [&](Value first, ValueRange carried) -> FailureOr<Values> {
        if (failed(computeScores(first)))
          return failure();
        auto next = rows.reduce(reduction, first, carried.front());
        if (failed(next))
          return failure();
        return Values{*next};
      });
  if (failed(partial))
    return failure();
  rows.finishReduction(reduction, partial->front());
  return success();
}

LogicalResult AttentionLoops::run(AttentionRows &rows) {
  for (const RowReduction &reduction : attention.reductions)
    if (failed(reduce(reduction, rows)))
      return failure();
  Values starts = rows.start();
  if (failed(begin()))
    return failure();
  size_t ofRow = starts.size();
  llvm::append_range(starts, startSums());
  auto done = product.forPlaces(
      product.sizeK, columns, starts,
      [&](Value first, ValueRange carried) -> FailureOr<Values> {
        if (failed(computeScores(first)))
          return failure();
        auto next = rows.weigh(first, carried.take_front(ofRow));
        if (failed(next))
          return failure();
        Values sums(carried.drop_front(ofRow));
        if (rows.corrects())
          scaleSums(sums, rows);
        auto added = addWeighted(first, sums);
        if (failed(added))
          return failure();
        llvm::append_range(*next, *added);
        return *next;
      });
  if (failed(done) || failed(rows.finish(ArrayRef(*done).take_front(ofRow))))
    return failure();
  Values sums(ArrayRef(*done).drop_front(ofRow));
  if (rows.corrects())
    scaleSums(sums, rows);
  return finish(sums);
}

/* ---- Tiles ---- */

namespace {

/// Sums of an invocation.
constexpr int64_t kSums = 32, kMostColumns = 8, kMostKeys = 64;

/// How a work-group shares the work where invocations multiply: its rows, the
/// columns of scores in a block, and the columns of the result.
struct TilePlan {
  int64_t groupRows, rows, keys, columns;

  GpuTile scores() const {
    return {groupRows, rows, keys / GpuTile::kGroupColumns};
  }
  GpuTile product() const { return {groupRows, rows, columns}; }
};

struct TileLoops : AttentionLoops {
  TileScope scores, tiles;
  Block2d queries, keys, weights, values;

  TileLoops(ImplicitLocOpBuilder &b, GpuAttention &attention,
            const TilePlan &plan)
      : AttentionLoops(b, attention, tiles, plan.keys),
        scores(b, attention.scores, plan.scores()),
        tiles(b, attention.product, plan.product()) {}

  LogicalResult emit();
  ScoreTile scoreTile();
  Value placeOfScore(Value row, Value column);
  LogicalResult computeScores(Value first) override;
  Values startSums() override { return tiles.startSums(); }
  void scaleSums(Values &sums, AttentionRows &rows) override;
  FailureOr<Values> addWeighted(Value first, ValueRange sums) override;
  LogicalResult finish(ValueRange sums) override;
};

/// Blocks in memory of the work-group: weights, and behind them first queries
/// and keys, then values, then a part of the result.
struct TileMemory {
  Block2d weights, queries, keys, values;
  int64_t words;

  TileMemory(GpuAttention &attention, const TilePlan &plan);
};

} // namespace

TileMemory::TileMemory(GpuAttention &attention, const TilePlan &plan) {
  GpuContraction &scores = attention.scores, &product = attention.product;
  int64_t rows = plan.product().m();
  // Sums of two rows and 16 columns lie in different banks.
  weights = {nullptr, {}, 0, rows, rows + 2, {}, {}};
  int64_t first = plan.keys * weights.stride;
  queries = makeBlock(scores.a, scores.m, first, rows);
  keys = makeBlock(scores.b, scores.n, first + queries.room(), plan.keys);
  values = makeBlock(product.b, product.n, first, plan.product().n());
  int64_t part = plan.groupRows * plan.product().n();
  words = first + std::max({queries.room() + keys.room(), values.room(), part});
}

static bool fits(GpuAttention &attention, const TilePlan &plan) {
  int64_t words = TileMemory(attention, plan).words +
                  AttentionRows::words(attention, plan.product().m());
  return words * 4 <= attention.product.target.sharedBytes;
}

/// As large as memory allows; keys are the first to be fewer.
static std::optional<TilePlan> planTiles(GpuAttention &attention) {
  GpuContraction &c = attention.product;
  SmallVector<int64_t> sizes = c.op.getStaticLoopRanges();
  constexpr int64_t width = GpuTile::kGroupColumns;
  TilePlan plan;
  plan.groupRows = c.target.groupSize / width;
  plan.columns = sumsFor(sizeOf(sizes, c.n), width, kMostColumns);
  plan.rows = sumsFor(sizeOf(sizes, c.m), plan.groupRows,
                      std::min(c.target.tileRows, kSums / plan.columns));
  plan.keys = width * sumsFor(sizeOf(sizes, c.k), width, kMostKeys / width);
  while (!fits(attention, plan)) {
    int64_t &part = plan.keys > width  ? plan.keys
                    : plan.columns > 1 ? plan.columns
                                       : plan.rows;
    if (part == 1)
      return std::nullopt;
    part /= 2;
  }
  return plan;
}

Value TileLoops::placeOfScore(Value row, Value column) {
  return tiles.add(tiles.mul(column, weights.stride), row);
}

ScoreTile TileLoops::scoreTile() {
  ScoreTile tile;
  tile.rows = tiles.tile.m();
  tile.columns = columns;
  // Those of a team, and of as many rows as it has neighbours, lie in different
  // banks.
  int64_t team = tiles.c.target.groupSize / tile.rows;
  tile.width = std::max<int64_t>(GpuTile::kGroupColumns / team, 1);
  tile.span = GpuTile::kGroupColumns;
  tile.load = [this](Value row, Value column) {
    return tiles.load(placeOfScore(row, column));
  };
  tile.store = [this](Value row, Value column, Value score) {
    tiles.store(score, placeOfScore(row, column));
  };
  tile.keep = [this](Value row, Value column, ValueRange weights) {
    for (auto [i, weight] : llvm::enumerate(weights))
      tiles.store(weight, placeOfScore(
                              row, tiles.add(column, tiles.index(int64_t(i)))));
  };
  return tile;
}

/// Scores of all rows and the columns from `first` on.
LogicalResult TileLoops::computeScores(Value first) {
  keys.start = first;
  auto loop =
      scf::ForOp::create(b, scores.index(0), scores.sizeK,
                         scores.index(GpuTile::kDepth), scores.startSums());
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    gpu::BarrierOp::create(b);
    if (failed(scores.fill(queries, loop.getInductionVar())) ||
        failed(scores.fill(keys, loop.getInductionVar())))
      return failure();
    gpu::BarrierOp::create(b);
    scf::YieldOp::create(
        b, scores.multiply(queries, keys, loop.getRegionIterArgs()));
  }
  // The loop may have no turn, and the others may still read earlier weights.
  if (!matchPattern(scores.sizeK, m_Constant()))
    gpu::BarrierOp::create(b);
  for (auto [i, sum] : llvm::enumerate(loop.getResults())) {
    auto [row, column] = scores.placeOf(i);
    scores.store(scaled(b, attention, sum),
                 placeOfScore(scores.add(scores.row, scores.index(row)),
                              scores.add(scores.column, scores.index(column))));
  }
  gpu::BarrierOp::create(b);
  return success();
}

void TileLoops::scaleSums(Values &sums, AttentionRows &rows) {
  Value factor;
  for (auto [i, sum] : llvm::enumerate(sums)) {
    auto [row, column] = tiles.placeOf(i);
    if (column == 0)
      factor = rows.factor(tiles.add(tiles.row, tiles.index(row)));
    sum = arith::MulFOp::create(b, sum, factor);
  }
}

FailureOr<AttentionLoops::Values> TileLoops::addWeighted(Value first,
                                                         ValueRange sums) {
  Values all(sums);
  for (int64_t k = 0; k < columns; k += GpuTile::kDepth) {
    gpu::BarrierOp::create(b);
    if (failed(tiles.fill(values, tiles.add(first, tiles.index(k)))))
      return failure();
    gpu::BarrierOp::create(b);
    Block2d part = weights;
    part.first = k * weights.stride;
    all = tiles.multiply(part, values, all);
  }
  return all;
}

/// Some rows at a time, so that neighbours store neighbours.
LogicalResult TileLoops::finish(ValueRange sums) {
  const GpuTile &tile = tiles.tile;
  int64_t count = tile.groupRows * tile.n(), group = tiles.c.target.groupSize;
  int64_t lanes = tiles.lanesOfResult(count);
  for (int64_t part = 0; part < tile.rows; ++part) {
    gpu::BarrierOp::create(b);
    Value own = tiles.add(tiles.mul(tiles.row, tile.n()), tiles.column);
    for (int64_t i = 0; i < tile.columns; ++i)
      tiles.store(sums[size_t(part * tile.columns + i)],
                  tiles.add(own, tiles.index(values.first +
                                             i * GpuTile::kGroupColumns)));
    gpu::BarrierOp::create(b);
    auto loop = scf::ForOp::create(
        b, tiles.index(0), tiles.index(count / group / lanes), tiles.index(1));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(loop.getBody()->getTerminator());
    Value number = tiles.mul(
        tiles.add(tiles.thread, tiles.mul(loop.getInductionVar(), group)),
        lanes);
    Value row = tiles.add(tiles.div(number, tile.n()),
                          tiles.index(part * tile.groupRows));
    if (failed(tiles.storeSums(
            tiles.add(tiles.startM, row),
            tiles.add(tiles.startN, tiles.rem(number, tile.n())), lanes,
            tile.m(), tile.n(), [&](int64_t lane) {
              return tiles.load(
                  tiles.add(number, tiles.index(values.first + lane)));
            })))
      return failure();
  }
  return success();
}

LogicalResult TileLoops::emit() {
  scores.readSizes();
  tiles.enterGroup(tiles.tile.m(), tiles.tile.n());
  enterScores(scores, tiles);
  scores.findThread();
  tiles.findThread();
  TilePlan plan{tiles.tile.groupRows, tiles.tile.rows, columns,
                tiles.tile.columns};
  TileMemory memory(attention, plan);
  tiles.memory = scores.memory =
      tiles.loops.share(memory.words, b.getF32Type());
  weights = memory.weights;
  queries = memory.queries;
  keys = memory.keys;
  values = memory.values;
  queries.start = scores.startM;
  queries.size = scores.sizeM;
  keys.size = scores.sizeN;
  values.start = tiles.startN;
  values.size = tiles.sizeN;
  AttentionRows rows(attention, scores, tiles, scoreTile());
  return run(rows);
}

/* ---- Entry ---- */

void enterScores(ContractScope &scores, const ContractScope &product) {
  scores.at.assign(scores.c.op.getNumLoops(), scores.index(0));
  for (auto [mine, other] : llvm::zip(scores.c.outer, product.c.outer))
    scores.at[mine] = product.at[other];
  scores.thread = product.thread;
  scores.startM = product.startM;
}

FailureOr<bool> emitGpuAttention(func::FuncOp func, GpuAttention &attention) {
  ImplicitLocOpBuilder builder(attention.product.op.getLoc(),
                               func.getBody().front().getTerminator());
  auto plan = planTiles(attention);
  if (!plan)
    return false;
  if (failed(TileLoops(builder, attention, *plan).emit()))
    return failure();
  return true;
}

} // namespace backplane
