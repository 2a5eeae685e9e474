// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/gpu/RegisterPlan.h"

using namespace mlir;

namespace backplane {
namespace {

/// Columns of scores in a block at most, of fragments and of products from
/// memory.
constexpr int64_t kMostKeys = 64, kMostKeysInMemory = 64;
/// Rows of fragments of a subgroup at most.
constexpr int64_t kMostRows = 2;
/// Teams of subgroups that multiply from memory, at most, and what a head has
/// up to which one alone is faster: several work-groups share a multiprocessor.
constexpr int64_t kMostTeams = 2, kSmallHead = 128;
/// Words of sums, scores, factors and queries that a lane has at most, so that
/// it has registers for the rest.
constexpr int64_t kMostWords = 176;
/// Words of queries that a lane keeps rather than load them for each block.
constexpr int64_t kMostQueries = 32;

struct Planner {
  GpuAttention &attention;
  const MatrixUnit &unit;
  RegisterPlan plan;

  bool run();
  bool planFragments();
  bool planInMemory();
  bool planTeams(const MatrixInstruction &scores,
                 const MatrixInstruction &product, int64_t teams);
  bool tryRows(int64_t rows);
  void stage(int64_t least);
  bool fits(int64_t maxBytes);
  bool isFilled() const;
  static int64_t sizeOfLoops(const GpuContraction &c,
                             ArrayRef<unsigned> loops) {
    linalg::GenericOp op = c.op;
    return sizeOf(op.getStaticLoopRanges(), loops);
  }
  int64_t depth() const {
    return sizeOfLoops(attention.scores, attention.scores.k);
  }
  int64_t rows() const {
    return sizeOfLoops(attention.product, attention.product.m);
  }
  int64_t columns() const {
    return sizeOfLoops(attention.product, attention.product.n);
  }
  int64_t keys() const {
    return sizeOfLoops(attention.product, attention.product.k);
  }
};

} // namespace

/// Whether the sums of the first product are left factors of the second, lane
/// by lane.
static bool sumsAreFactors(const MatrixInstruction &scores,
                           const MatrixInstruction &product) {
  auto same = [](MatrixPlace x, MatrixPlace y) {
    return x.row == y.row && x.column == y.column;
  };
  const FragmentLayout &made = scores.layoutC, &taken = product.layoutA;
  if (taken.element.empty() || !llvm::equal(made.lane, taken.lane, same))
    return false;
  return llvm::all_of(taken.element, [&](MatrixPlace place) {
    bool isNext = place.row == 0 && place.column >= scores.n &&
                  place.column % scores.n == 0;
    return isNext || llvm::any_of(made.element, [&](MatrixPlace one) {
             return same(one, place);
           });
  });
}

/// Whether more than half of a tile are rows.
bool Planner::isFilled() const {
  return ShapedType::isDynamic(rows()) || 2 * rows() > plan.scores.tileM();
}

/// Elements of a line: lines of up to 128 bytes are a power of two, so that
/// pieces of lines change places among themselves.
static int64_t lineFor(int64_t size, int64_t least) {
  constexpr uint64_t kLine = 64;
  auto count = uint64_t(std::max(size, least));
  return int64_t(count <= kLine ? llvm::PowerOf2Ceil(count)
                                : llvm::alignTo(count, kLine));
}

/// The factors in memory, with lines of so many elements at least.
void Planner::stage(int64_t least) {
  GpuContraction &scores = attention.scores, &product = attention.product;
  const AttentionFactors &f = plan.factors;
  int64_t line = lineFor(depth(), least);
  plan.depth = int64_t(
      llvm::alignTo(uint64_t(depth()), uint64_t(plan.scores.instruction->k)));
  plan.scores.a = stageFactor(scores, plan.scores, f.q, scores.a, scores.m,
                              plan.scores.tileM(), line);
  plan.scores.b = stageFactor(scores, plan.scores, f.k, scores.b, scores.n,
                              plan.keys(), line);
  plan.product.b =
      stageFactor(product, plan.product, f.v, product.b, product.n,
                  lineFor(plan.product.tileN(), least), plan.keys());
  if (!plan.copiesBlocks())
    for (StagedFactor *factor :
         {&plan.scores.a, &plan.scores.b, &plan.product.b})
      factor->blocks = std::nullopt;
  // Weights are in registers: V alone comes to memory.
  plan.product.a = plan.product.b;
}

bool Planner::fits(int64_t maxBytes) {
  return plan.words() * 4 <= maxBytes && plan.registers() <= kMostWords;
}

bool Planner::tryRows(int64_t rows) {
  const MatrixInstruction &i = *plan.product.instruction;
  int64_t subgroups =
      attention.product.target.groupSize / attention.product.target.clusterSize;
  for (MatrixPlan *part : {&plan.scores, &plan.product}) {
    part->subgroupsM = subgroups;
    part->subgroupsN = 1;
    part->rows = rows;
    part->stages = RegisterPlan::kStages;
  }
  plan.product.columns =
      int64_t(llvm::divideCeil(uint64_t(columns()), uint64_t(i.n)));
  int64_t least = std::max<int64_t>(i.k / plan.scores.instruction->n, 1);
  plan.scores.columns =
      std::max(least, countFor(keys(), plan.scores.instruction->n,
                               kMostKeys / plan.scores.instruction->n));
  for (;; plan.scores.columns /= 2) {
    stage(plan.scores.instruction->k);
    if (fits(attention.product.target.sharedBytes))
      return isFilled();
    if (plan.scores.columns == least)
      return false;
  }
}

bool Planner::planFragments() {
  const AttentionFactors &f = plan.factors;
  auto scores = findMatrixInstruction(attention.scores, unit, f.q, f.k);
  auto product = findMatrixInstruction(attention.product, unit, f.weights, f.v);
  if (!scores || !product ||
      !sumsAreFactors(*scores->instruction, *product->instruction) ||
      ShapedType::isDynamic(columns()))
    return false;
  plan.scores = *scores;
  plan.product = *product;
  for (int64_t rows = kMostRows; rows > 0; rows /= 2)
    if (tryRows(rows) && (rows == 1 || isBusy(attention.product, plan.product)))
      return true;
  return false;
}

/// By products from memory, where K and V come there as they are.
bool Planner::planTeams(const MatrixInstruction &scores,
                        const MatrixInstruction &product, int64_t teams) {
  plan.scores = {&unit, &scores, teams, 1, 1, 1, RegisterPlan::kStages};
  plan.product = {&unit, &product, teams, 1, 1, 1, RegisterPlan::kStages};
  plan.scores.products = plan.product.products = unit.memoryProducts();
  stage(MemoryProducts::kLineBytes / bytesOf(plan.factors.q.element));
  return plan.product.threads() <= attention.product.target.maxGroupSize &&
         plan.scores.b.copies && plan.product.b.copies &&
         fits(attention.product.target.maxSharedBytes) && isFilled();
}

bool Planner::planInMemory() {
  const MemoryProducts *products = unit.memoryProducts();
  const AttentionFactors &f = plan.factors;
  if (!products || ShapedType::isDynamic(columns()))
    return false;
  bool small = depth() <= kSmallHead && columns() <= kSmallHead;
  for (int64_t teams = small ? 1 : kMostTeams; teams > 0; --teams)
    for (const MatrixInstruction &scores : products->instructions())
      for (const MatrixInstruction &product :
           llvm::reverse(products->instructions())) {
        bool fit = multiplies(attention.scores, scores, f.q, f.k) &&
                   multiplies(attention.product, product, f.weights, f.v) &&
                   scores.n <= kMostKeysInMemory && product.n >= columns() &&
                   sumsAreFactors(scores, product);
        if (fit && planTeams(scores, product, teams) &&
            (teams == 1 || isBusy(attention.product, plan.product)))
          return true;
      }
  return false;
}

bool Planner::run() {
  auto factors = findFactors(attention);
  bool possible = factors && attention.softmax &&
                  attention.reductions.empty() &&
                  !ShapedType::isDynamic(depth()) && depth() > 0 &&
                  bytesOf(factors->weights.element) == 2;
  if (!possible)
    return false;
  plan.factors = *factors;
  return planInMemory() || planFragments();
}

bool RegisterPlan::keepsQueries() const { return queryWords() <= kMostQueries; }

std::optional<RegisterPlan> planRegisters(GpuAttention &attention,
                                          const MatrixUnit &unit) {
  Planner planner{attention, unit, {}};
  return planner.run() ? std::optional(planner.plan) : std::nullopt;
}

} // namespace backplane
