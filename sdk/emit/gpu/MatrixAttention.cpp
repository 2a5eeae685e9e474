// SPDX-License-Identifier: Apache-2.0
//
// Attention whose products are those of matrix instructions. Rows of Q stay in
// memory of the work-group; blocks of K and V come while something else is
// computed: those of the next K behind the scores, those of the next V behind
// the product.
#include "sdk/emit/gpu/AttentionLoops.h"
#include "sdk/emit/gpu/MatrixScope.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace backplane {
namespace {

/// Instructions of a subgroup along n, columns of scores in a block, and sizes
/// of heads, at most.
constexpr int64_t kMostColumns = 16, kMostKeys = 64, kMostDepth = 128;

struct MatrixAttentionPlan {
  MatrixPlan scores, product;
  NarrowFactor q, k, weights, v;

  int64_t keys() const { return scores.tileN(); }
  /// Words from row to row of scores, so that rows lie in different banks.
  int64_t scoreStride() const { return keys() + 4; }
  /// Where the parts of memory begin, in words.
  int64_t keysAt() const { return scores.a.words(); }
  int64_t valuesAt() const { return keysAt() + scores.b.words(); }
  int64_t scoresAt() const { return valuesAt() + product.b.words(); }
  int64_t weightsAt() const {
    return scoresAt() + scores.tileM() * scoreStride();
  }
  int64_t words() const {
    return std::max(weightsAt() + product.a.words(), product.partWords());
  }
};

struct Planner {
  GpuAttention &attention;
  MatrixAttentionPlan plan;

  bool find(const MatrixUnit &unit);
  bool size();
  bool fits();
};

struct MatrixLoops : AttentionLoops {
  const MatrixAttentionPlan &plan;
  MatrixScope scores, sums;

  MatrixLoops(ImplicitLocOpBuilder &b, GpuAttention &attention,
              const MatrixAttentionPlan &plan)
      : AttentionLoops(b, attention, sums, plan.keys()), plan(plan),
        scores(b, attention.scores, plan.scores),
        sums(b, attention.product, plan.product) {}

  LogicalResult emit();
  ScoreTile scoreTile();
  void keepWeights(Value row, Value column, ValueRange weights);
  LogicalResult fillKeys(Value first);
  LogicalResult fillValues(Value first);
  LogicalResult prefetch(Value first, function_ref<LogicalResult(Value)> fill);
  LogicalResult begin() override;
  LogicalResult computeScores(Value first) override;
  Values startSums() override { return sums.startSums(); }
  void scaleSums(Values &values, AttentionRows &rows) override;
  FailureOr<Values> addWeighted(Value first, ValueRange values) override;
  LogicalResult finish(ValueRange values) override {
    return sums.finishSums(values);
  }
};

} // namespace

/* ---- The plan ---- */

bool Planner::find(const MatrixUnit &unit) {
  GpuAttention &a = attention;
  auto scores = findMatrixInstruction(a.scores, unit, plan.q, plan.k);
  auto product = findMatrixInstruction(a.product, unit, plan.weights, plan.v);
  if (!scores || !product)
    return false;
  plan.scores = *scores;
  plan.product = *product;
  // Both share rows; a word holds two weights.
  return scores->instruction->m == product->instruction->m &&
         product->instruction->layoutC.elements() > 0 &&
         bytesOf(plan.weights.element) == 2;
}

bool Planner::fits() {
  GpuContraction &scores = attention.scores, &product = attention.product;
  int64_t depth = int64_t(llvm::PowerOf2Ceil(
      uint64_t(std::max(scores.op.getStaticLoopRanges()[scores.k.front()],
                        plan.scores.instruction->k))));
  int64_t rows = plan.scores.tileM(), keys = plan.keys();
  plan.scores.a =
      stageFactor(scores, plan.scores, plan.q, scores.a, scores.m, rows, depth);
  plan.scores.b =
      stageFactor(scores, plan.scores, plan.k, scores.b, scores.n, keys, depth);
  // Weights are made in memory, along k.
  GpuOperand weights = product.a;
  weights.kIsInnermost = true;
  plan.product.a = stageFactor(product, plan.product, plan.weights, weights,
                               product.m, rows, keys);
  plan.product.a.copies = false;
  plan.product.b = stageFactor(product, plan.product, plan.v, product.b,
                               product.n, plan.product.tileN(), keys);
  return (plan.words() + AttentionRows::words(attention, rows)) * 4 <=
         product.target.sharedBytes;
}

/// As many instructions as the size asks for: 1, 2, 4 and so on.
static int64_t share(int64_t size, int64_t step, int64_t most) {
  return ShapedType::isDynamic(size) ? most : sumsFor(size, step, most);
}

bool Planner::size() {
  GpuContraction &product = attention.product;
  auto sizes = product.op.getStaticLoopRanges();
  auto depths = attention.scores.op.getStaticLoopRanges();
  int64_t depth = depths[attention.scores.k.front()];
  if (ShapedType::isDynamic(depth) || depth > kMostDepth)
    return false;
  const MatrixInstruction &i = *plan.product.instruction;
  int64_t subgroups = product.target.groupSize / product.target.clusterSize;
  int64_t rows = share(sizes[product.m.front()], i.m, subgroups);
  for (MatrixPlan *part : {&plan.scores, &plan.product}) {
    part->subgroupsM = rows;
    part->subgroupsN = subgroups / rows;
    part->rows = 1;
    part->stages = 1;
  }
  int64_t step = plan.product.subgroupsN * i.n;
  plan.product.columns = share(sizes[product.n.front()], step, kMostColumns);
  int64_t least = std::max<int64_t>(i.k / step, 1);
  plan.scores.columns =
      std::max(share(sizes[product.k.front()], step, kMostKeys / step), least);
  while (!fits()) {
    int64_t &columns = plan.scores.columns > least ? plan.scores.columns
                                                   : plan.product.columns;
    if (columns == 1)
      return false;
    columns /= 2;
  }
  // Each team of a row has whole words of weights.
  int64_t team = product.target.groupSize / plan.scores.tileM();
  return plan.keys() % (2 * team) == 0;
}

/* ---- Parts of a block ---- */

/// Two neighbours in a word.
static Value packHalves(ImplicitLocOpBuilder &b, Value first, Value second) {
  auto bits = [&](Value half) -> Value {
    Value number = arith::BitcastOp::create(b, b.getI16Type(), half);
    return arith::ExtUIOp::create(b, b.getI32Type(), number);
  };
  Value by = arith::ConstantOp::create(b, b.getI32IntegerAttr(16));
  Value high = arith::ShLIOp::create(b, bits(second), by);
  return arith::OrIOp::create(b, bits(first), high);
}

/// Weights as the product reads them, two in a word.
void MatrixLoops::keepWeights(Value row, Value column, ValueRange weights) {
  const StagedFactor &factor = plan.product.a;
  Value line = sums.rem(row, LineLoads::kLines);
  Value piece = sums.div(column, factor.pieceElements());
  Value inPiece = sums.div(sums.rem(column, factor.pieceElements()), 2);
  Value at = sums.add(sums.wordOf(factor, row, line, piece), inPiece);
  auto narrow = [&](Value weight) -> Value {
    return arith::TruncFOp::create(b, factor.type, weight);
  };
  sums.storeWord(packHalves(b, narrow(weights[0]), narrow(weights[1])),
                 sums.add(at, sums.index(plan.weightsAt())));
}

ScoreTile MatrixLoops::scoreTile() {
  auto place = [this](Value row, Value column) {
    Value start = sums.add(sums.mul(row, plan.scoreStride()), column);
    return sums.add(start, sums.index(plan.scoresAt()));
  };
  ScoreTile tile;
  tile.rows = plan.scores.tileM();
  tile.columns = columns;
  tile.width = 2;
  tile.load = [this, place](Value row, Value column) {
    return sums.loadWord(place(row, column), b.getF32Type());
  };
  tile.store = [this, place](Value row, Value column, Value score) {
    sums.storeWord(score, place(row, column));
  };
  tile.keep = [this](Value row, Value column, ValueRange weights) {
    keepWeights(row, column, weights);
  };
  return tile;
}

LogicalResult MatrixLoops::fillKeys(Value first) {
  return scores.fill(plan.scores.b, scores.index(plan.keysAt()), first,
                     scores.sizeN, scores.index(0));
}

LogicalResult MatrixLoops::fillValues(Value first) {
  return sums.fill(plan.product.b, sums.index(plan.valuesAt()), sums.startN,
                   sums.sizeN, first);
}

/// Begins to fill a block, if there is one from `first` on.
LogicalResult MatrixLoops::prefetch(Value first,
                                    function_ref<LogicalResult(Value)> fill) {
  Value exists = b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::ult, first,
                                               sums.sizeK);
  auto branch = scf::IfOp::create(b, exists);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  return fill(first);
}

LogicalResult MatrixLoops::begin() {
  Value zero = sums.index(0);
  if (failed(scores.fill(plan.scores.a, zero, scores.startM, scores.sizeM,
                         zero)) ||
      failed(prefetch(zero, [&](Value first) { return fillKeys(first); })))
    return failure();
  scores.endGroup();
  if (failed(prefetch(zero, [&](Value first) { return fillValues(first); })))
    return failure();
  sums.endGroup();
  return success();
}

/// A group of copies of V is under way behind those of K, where there are any.
LogicalResult MatrixLoops::computeScores(Value first) {
  scores.waitForGroups(plan.product.b.copies ? 1 : 0);
  gpu::BarrierOp::create(b);
  const MatrixInstruction &i = *plan.scores.instruction;
  int64_t depth =
      attention.scores.op.getStaticLoopRanges()[attention.scores.k.front()];
  Values made = scores.multiplyFragments(
      scores.index(0), scores.index(plan.keysAt()), depth, scores.startSums());
  MatrixPlaceValues own = scores.placeOfLane(i.layoutC);
  Value row = scores.add(scores.mul(scores.subgroupM, i.m), own.row);
  Value column = scores.add(
      scores.mul(scores.subgroupN, plan.scores.columns * i.n), own.column);
  Value start =
      scores.add(scores.add(scores.mul(row, plan.scoreStride()), column),
                 scores.index(plan.scoresAt()));
  for (auto [i, score] : llvm::enumerate(made)) {
    MatrixPlace place = scores.placeOf(i);
    scores.storeWord(
        score, scores.add(start, scores.index(place.row * plan.scoreStride() +
                                              place.column)));
  }
  gpu::BarrierOp::create(b);
  if (failed(prefetch(scores.add(first, scores.index(columns)),
                      [&](Value next) { return fillKeys(next); })))
    return failure();
  scores.endGroup();
  return success();
}

void MatrixLoops::scaleSums(Values &values, AttentionRows &rows) {
  const MatrixInstruction &i = *plan.product.instruction;
  Value row =
      sums.add(sums.mul(sums.subgroupM, i.m), sums.placeOfLane(i.layoutC).row);
  llvm::SmallDenseMap<int64_t, Value> factors;
  for (auto [number, value] : llvm::enumerate(values)) {
    int64_t inTile = sums.placeOf(number).row;
    Value &factor = factors[inTile];
    if (!factor)
      factor = rows.factor(sums.add(row, sums.index(inTile)));
    value = arith::MulFOp::create(b, value, factor);
  }
}

FailureOr<AttentionLoops::Values> MatrixLoops::addWeighted(Value first,
                                                           ValueRange values) {
  sums.waitForGroups(plan.scores.a.copies || plan.scores.b.copies ? 1 : 0);
  gpu::BarrierOp::create(b);
  Values all =
      sums.multiplyFragments(sums.index(plan.weightsAt()),
                             sums.index(plan.valuesAt()), columns, values);
  gpu::BarrierOp::create(b);
  if (failed(prefetch(sums.add(first, sums.index(columns)),
                      [&](Value next) { return fillValues(next); })))
    return failure();
  sums.endGroup();
  return all;
}

LogicalResult MatrixLoops::emit() {
  scores.readBufferSizes();
  sums.readBufferSizes();
  scores.readSizes();
  sums.enterGroup(plan.product.tileM(), plan.product.tileN());
  enterScores(scores);
  scores.findLane();
  sums.findLane();
  scores.memory = sums.memory = sums.loops.share(plan.words(), b.getI32Type());
  AttentionRows rows(attention, scores, sums, scoreTile());
  return run(rows);
}

FailureOr<bool> emitMatrixAttention(func::FuncOp func, GpuAttention &attention,
                                    const MatrixUnit &unit) {
  Planner planner{attention, {}};
  if (!attention.softmax || !planner.find(unit) || !planner.size())
    return false;
  ImplicitLocOpBuilder builder(attention.product.op.getLoc(),
                               func.getBody().front().getTerminator());
  if (failed(MatrixLoops(builder, attention, planner.plan).emit()))
    return failure();
  return true;
}

} // namespace backplane
