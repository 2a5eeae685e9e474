// SPDX-License-Identifier: Apache-2.0
//
// Attention whose products are those of matrix instructions. Rows of Q stay in
// memory of the work-group; blocks of K and V come while something else is
// computed: those of the next K behind the scores, those of the next V behind
// the product.
#include "sdk/emit/gpu/AttentionLoops.h"
#include "sdk/emit/gpu/MatrixFactors.h"
#include "sdk/emit/gpu/MatrixScope.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace backplane {
namespace {

/// Instructions of a subgroup along n, and columns of scores in a block, at
/// most.
constexpr int64_t kMostColumns = 16, kMostKeys = 64;

struct MatrixAttentionPlan {
  MatrixPlan scores, product;
  AttentionFactors factors;

  int64_t keys() const { return scores.tileN(); }
  /// Words from row to row of scores, so that rows lie in different banks.
  int64_t scoreStride() const { return keys() + 8; }
  /// Where the parts of memory begin, in words.
  int64_t keysAt() const { return scores.a.words(); }
  int64_t valuesAt() const { return keysAt() + scores.b.words(); }
  int64_t scoresAt() const { return valuesAt() + product.b.words(); }
  int64_t weightsAt() const {
    return scoresAt() + scores.tileM() * scoreStride();
  }
  int64_t words() const {
    return std::max(weightsAt() + factors.parts * product.a.words(),
                    product.partWords());
  }
};

struct Planner {
  GpuAttention &attention;
  MatrixAttentionPlan plan;
  std::string why; ///< there is no plan

  bool run(const MatrixUnit &unit);
  bool find(const MatrixUnit &unit);
  bool size();
  bool share(int64_t subgroupsM, int64_t maxColumns);
  bool fits();
  /// Invocations of a row of scores.
  int64_t team() const {
    return attention.scores.target.groupSize / plan.scores.tileM();
  }
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
  LogicalResult finish(ValueRange values) override;
};

} // namespace

/* ---- The plan ---- */

bool Planner::find(const MatrixUnit &unit) {
  GpuAttention &a = attention;
  auto factors = findFactors(a);
  why = "the unit has no instruction for what Q, K and V are; halves and sums "
        "in f32 have one";
  if (!factors)
    return false;
  plan.factors = *factors;
  auto scores = findMatrixInstruction(a.scores, unit, factors->q, factors->k);
  auto product =
      findMatrixInstruction(a.product, unit, factors->weights, factors->v);
  if (!scores || !product)
    return false;
  plan.scores = *scores;
  plan.product = *product;
  // Both share rows; a word holds two weights.
  return scores->instruction->m == product->instruction->m &&
         product->instruction->layoutC.elements() > 0 &&
         bytesOf(factors->weights.element) == 2;
}

bool Planner::fits() {
  GpuContraction &scores = attention.scores, &product = attention.product;
  int64_t depth = int64_t(llvm::PowerOf2Ceil(
      uint64_t(std::max(scores.op.getStaticLoopRanges()[scores.k.front()],
                        plan.scores.instruction->k))));
  int64_t rows = plan.scores.tileM(), keys = plan.keys();
  plan.scores.a = stageFactor(scores, plan.scores, plan.factors.q, scores.a,
                              scores.m, rows, depth);
  plan.scores.b = stageFactor(scores, plan.scores, plan.factors.k, scores.b,
                              scores.n, keys, depth);
  // Weights are made in memory, along k.
  GpuOperand weights = product.a;
  weights.kIsInnermost = true;
  plan.product.a = stageFactor(product, plan.product, plan.factors.weights,
                               weights, product.m, rows, keys);
  plan.product.a.copies = false;
  plan.product.b = stageFactor(product, plan.product, plan.factors.v, product.b,
                               product.n, plan.product.tileN(), keys);
  return (plan.words() + AttentionRows::words(attention, rows)) * 4 <=
         product.target.sharedBytes;
}

/// Neighbours of a row that an invocation of a team of this size has: so many
/// that those of several rows lie in different banks.
static int64_t neighboursIn(int64_t team) { return team == 4 ? 2 : 4; }

/// With so many subgroups along the rows, as many keys in a block as memory
/// allows.
bool Planner::share(int64_t subgroupsM, int64_t maxColumns) {
  GpuContraction &product = attention.product;
  auto sizes = product.op.getStaticLoopRanges();
  const MatrixInstruction &i = *plan.product.instruction;
  int64_t subgroups = product.target.groupSize / product.target.clusterSize;
  for (MatrixPlan *part : {&plan.scores, &plan.product}) {
    part->subgroupsM = subgroupsM;
    part->subgroupsN = subgroups / subgroupsM;
    part->rows = 1;
    part->stages = 1;
  }
  int64_t step = plan.product.subgroupsN * i.n;
  int64_t columns = countFor(sizes[product.n.front()], step, kMostColumns);
  plan.product.columns = std::min(columns, maxColumns);
  int64_t least = std::max<int64_t>(i.k / step, 1);
  plan.scores.columns = std::max(
      countFor(sizes[product.k.front()], step, kMostKeys / step), least);
  while (!fits()) {
    if (plan.scores.columns == least)
      return false;
    plan.scores.columns /= 2;
  }
  return plan.keys() % (neighboursIn(team()) * team()) == 0;
}

/// Work-groups that share a row compute its scores each: rather fewer rows.
bool Planner::size() {
  GpuContraction &product = attention.product;
  int64_t depth =
      attention.scores.op.getStaticLoopRanges()[attention.scores.k.front()];
  why = "the size of a head is not known";
  if (ShapedType::isDynamic(depth) || depth == 0)
    return false;
  int64_t subgroups = product.target.groupSize / product.target.clusterSize;
  int64_t size = product.op.getStaticLoopRanges()[product.m.front()];
  int64_t most = countFor(size, plan.product.instruction->m, subgroups);
  for (int64_t columns = kMostColumns; columns > 0; columns /= 2)
    for (int64_t rows = most; rows > 0; rows /= 2)
      if (share(rows, columns))
        return true;
  why = "heads of " + std::to_string(depth) + " do not fit the " +
        std::to_string(product.target.sharedBytes) +
        " bytes that a work-group shares";
  return false;
}

bool Planner::run(const MatrixUnit &unit) {
  why = "the ops between the products are no softmax";
  return attention.softmax && find(unit) && size();
}

/* ---- Parts of a block ---- */

/// Weights as the product reads them, two in a word.
void MatrixLoops::keepWeights(Value row, Value column, ValueRange weights) {
  const StagedFactor &factor = plan.product.a;
  Value line = sums.rem(row, LineLoads::kLines);
  Value piece = sums.div(column, factor.pieceElements());
  Value inPiece = sums.div(sums.rem(column, factor.pieceElements()), 2);
  Value at = sums.add(sums.wordOf(factor, row, line, piece), inPiece);
  Values numbers(weights);
  scale(b, plan.factors.exponent(), numbers);
  for (size_t i = 0; i < numbers.size(); i += 2) {
    Values words = packWeights(b, *plan.product.unit, plan.factors, numbers[i],
                               numbers[i + 1]);
    for (auto [part, word] : llvm::enumerate(words)) {
      int64_t start = plan.weightsAt() +
                      int64_t(part) * plan.product.a.words() + int64_t(i / 2);
      sums.storeWord(word, sums.add(at, sums.index(start)));
    }
  }
}

ScoreTile MatrixLoops::scoreTile() {
  auto place = [this](Value row, Value column) {
    Value start = sums.add(sums.mul(row, plan.scoreStride()), column);
    return sums.add(start, sums.index(plan.scoresAt()));
  };
  ScoreTile tile;
  tile.rows = plan.scores.tileM();
  tile.columns = columns;
  tile.width = neighboursIn(sums.c.target.groupSize / tile.rows);
  tile.span = columns;
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
        scaled(b, attention, score),
        scores.add(start, scores.index(place.row * plan.scoreStride() +
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
  Values all(values);
  for (int64_t part = 0; part < plan.factors.parts; ++part) {
    int64_t weightsAt = plan.weightsAt() + part * plan.product.a.words();
    all = sums.multiplyFragments(sums.index(weightsAt),
                                 sums.index(plan.valuesAt()), columns, all);
  }
  gpu::BarrierOp::create(b);
  if (failed(prefetch(sums.add(first, sums.index(columns)),
                      [&](Value next) { return fillValues(next); })))
    return failure();
  sums.endGroup();
  return all;
}

LogicalResult MatrixLoops::finish(ValueRange values) {
  Values all(values);
  scale(b, -plan.factors.exponent(), all);
  return sums.finishSums(all);
}

LogicalResult MatrixLoops::emit() {
  enterGroup(scores, sums);
  scores.memory = sums.memory = sums.loops.share(plan.words(), b.getI32Type());
  AttentionRows rows(attention, scores, sums, scoreTile());
  return run(rows);
}

FailureOr<bool> emitMatrixAttention(func::FuncOp func, GpuAttention &attention,
                                    const MatrixUnit &unit) {
  Planner planner{attention, {}, {}};
  if (!planner.run(unit)) {
    func.emitRemark("attention without matrix instructions: ") << planner.why;
    return false;
  }
  ImplicitLocOpBuilder builder(attention.product.op.getLoc(),
                               func.getBody().front().getTerminator());
  if (failed(MatrixLoops(builder, attention, planner.plan).emit()))
    return failure();
  return true;
}

} // namespace backplane
