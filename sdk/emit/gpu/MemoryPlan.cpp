// SPDX-License-Identifier: Apache-2.0
//
// How a work-group shares a contraction whose products read their factors from
// its memory.
#include "sdk/emit/gpu/MatrixPlan.h"

using namespace mlir;

namespace backplane {

/// Teams of subgroups that multiply together, in a work-group at most.
constexpr int64_t kMostTeams = 2;
/// Blocks in memory at once: one is multiplied, one was, others arrive.
constexpr int64_t kStages = 3, kStagesOfLarge = 4;
/// Rows or columns up to which fragments compute fewer zeros.
constexpr int64_t kFew = 32;

/// Columns of a tile where nobody knows how many there are.
constexpr int64_t kUnknownColumns = 128;

/// Whether a size fills more than half of so much.
static bool fills(int64_t size, int64_t step) {
  return ShapedType::isDynamic(size) || 2 * size > step;
}

static bool isTooWide(int64_t size, int64_t columns) {
  return !fills(size, columns) ||
         (ShapedType::isDynamic(size) && columns > kUnknownColumns);
}

/// What comes through registers keeps the lanes busy, which then had better
/// multiply themselves. Two work-groups share the memory of a multiprocessor
/// where their tiles allow it.
static bool stage(GpuContraction &c, MatrixPlan &plan, const NarrowFactor &a,
                  const NarrowFactor &b) {
  int64_t depth = MemoryProducts::kLineBytes / bytesOf(a.element);
  plan.a = stageFactor(c, plan, a, c.a, c.m, plan.tileM(), depth);
  plan.b = stageFactor(c, plan, b, c.b, c.n, plan.tileN(), depth);
  if (!plan.a.copies || !plan.b.copies)
    return false;
  if (!plan.copiesBlocks())
    plan.a.blocks = plan.b.blocks = std::nullopt;
  int64_t bytes = 4 * plan.stageWords(), most = c.target.maxSharedBytes;
  plan.stages = 2 * kStages * bytes <= most ? kStages : kStagesOfLarge;
  return 4 * plan.memoryWords() <= most;
}

std::optional<MatrixPlan> planMemoryProducts(GpuContraction &c,
                                             const MatrixUnit &unit,
                                             const NarrowFactor &a,
                                             const NarrowFactor &b) {
  const MemoryProducts *products = unit.memoryProducts();
  SmallVector<int64_t> sizes = c.op.getStaticLoopRanges();
  int64_t m = sizeOf(sizes, c.m), n = sizeOf(sizes, c.n);
  if (!products || !fills(m, 2 * kFew) || !fills(n, 2 * kFew))
    return std::nullopt;
  std::optional<MatrixPlan> best;
  for (const MatrixInstruction &instruction : products->instructions()) {
    if (!multiplies(c, instruction, a, b) || isTooWide(n, instruction.n))
      continue;
    for (int64_t teams = kMostTeams; teams > 0; --teams) {
      MatrixPlan plan = {&unit, &instruction, teams, 1, 1, 1};
      plan.products = products;
      if (plan.threads() > c.target.maxGroupSize || !fills(m, plan.tileM()) ||
          !stage(c, plan, a, b))
        continue;
      best = plan;
      if (isBusy(c, plan))
        return best;
    }
  }
  return best;
}

} // namespace backplane
