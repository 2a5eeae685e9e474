// SPDX-License-Identifier: Apache-2.0
//
// bp-gpu-reduce: a dispatch with few but long sums, or minima and the like,
// becomes a parallel loop of work-groups, one for each sum: every invocation
// takes a share, and their partial sums meet, always in the same order. Of many
// sums each is for a part of a subgroup, where the target wants that. Other
// dispatches are left alone.
#include "sdk/dialect/Attributes.h"
#include "sdk/emit/common/CodePaths.h"
#include "sdk/emit/common/Dispatch.h"
#include "sdk/emit/common/Passes.h"
#include "sdk/emit/gpu/Reduction.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace backplane {
#define GEN_PASS_DEF_GPUREDUCEPASS
#include "sdk/emit/common/Passes.h.inc"
} // namespace backplane

using namespace mlir;

namespace backplane {
namespace {

/// Sums of fewer elements are for one invocation.
constexpr int64_t kLongSum = 512;
/// So few sums leave a device idle, however their elements lie.
constexpr int64_t kFewSums = 64;

struct GpuReducePass : backplane::impl::GpuReducePassBase<GpuReducePass> {
  using GpuReducePassBase::GpuReducePassBase;
  void runOnOperation() override;
};

struct GpuReduceOptions {
  GpuTarget target;
  int64_t maxSums;
  bool subgroups;
  int64_t clusterSums;
};

} // namespace

/// Whether partial results of an op that start with `init` may be combined.
static bool startsAnywhere(Operation *combiner, Attribute init) {
  if (isa<arith::MaximumFOp, arith::MinimumFOp, arith::MaxSIOp, arith::MinSIOp,
          arith::MaxUIOp, arith::MinUIOp, arith::AndIOp, arith::OrIOp>(
          combiner))
    return true;
  if (isa<arith::AddFOp, arith::AddIOp, arith::XOrIOp>(combiner))
    return matchPattern(init, m_AnyZeroFloat()) || matchPattern(init, m_Zero());
  return isa<arith::MulFOp, arith::MulIOp>(combiner) &&
         (matchPattern(init, m_OneFloat()) || matchPattern(init, m_One()));
}

Operation *findCombiner(linalg::GenericOp op, Attribute init,
                        unsigned &sumOperand) {
  Block &body = *op.getBody();
  Value sum = body.getArguments().back();
  Operation *combiner = body.getTerminator()->getOperand(0).getDefiningOp();
  if (!combiner || combiner->getBlock() != &body ||
      combiner->getNumOperands() != 2 || !sum.hasOneUse() ||
      *sum.user_begin() != combiner)
    return nullptr;
  sumOperand = sum.use_begin()->getOperandNumber();
  return startsAnywhere(combiner, init) ? combiner : nullptr;
}

Value combinePartial(OpBuilder &builder, Operation *combiner,
                     unsigned sumOperand, Value sum, Value term) {
  IRMapping map;
  map.map(combiner->getOperand(sumOperand), sum);
  map.map(combiner->getOperand(1 - sumOperand), term);
  return builder.clone(*combiner, map)->getResult(0);
}

/// Whether neighbours in a sum are neighbours in memory: of the input with
/// most axes, the last one belongs to the sum alone.
static bool sumsContiguous(GpuReduction &r) {
  AffineMap widest;
  for (OpOperand *input : r.sums.op.getDpsInputOperands()) {
    AffineMap map = r.sums.op.getMatchingIndexingMap(input);
    if (!widest || map.getNumResults() > widest.getNumResults())
      widest = map;
  }
  if (!widest || widest.getNumResults() == 0)
    return false;
  AffineExpr last = widest.getResults().back();
  auto has = [&](unsigned loop) { return last.isFunctionOfDim(loop); };
  return llvm::any_of(r.k, has) && llvm::none_of(r.rows, has);
}

/// Who computes a sum; nobody together where one invocation does. A sum whose
/// count is not known may be long.
static bool findTeam(GpuReduction &r, const GpuReduceOptions &options) {
  auto sizes = r.sums.op.getStaticLoopRanges();
  r.count = sizeOf(sizes, r.k);
  int64_t rows = sizeOf(sizes, r.rows);
  auto isLong = [&](int64_t length) {
    return ShapedType::isDynamic(r.count) || r.count >= length;
  };
  r.team = r.target.groupSize;
  if (ShapedType::isStatic(rows) && rows <= options.maxSums)
    return isLong(kLongSum) && (rows <= kFewSums || sumsContiguous(r));
  r.team = r.target.clusterSize;
  return options.clusterSums > 0 && isLong(options.clusterSums) &&
         sumsContiguous(r);
}

static std::optional<GpuReduction> match(func::FuncOp func,
                                         const GpuReduceOptions &options) {
  auto sums = findSums(func);
  if (!sums)
    return std::nullopt;
  GpuReduction r{options.target, *sums, nullptr, 0, {}, {}, 0, 0};
  AffineMap result = r.sums.op.getIndexingMapsArray().back();
  for (AffineExpr expr : result.getResults())
    r.rows.push_back(cast<AffineDimExpr>(expr).getPosition());
  for (unsigned loop = 0; loop < r.sums.op.getNumLoops(); ++loop)
    if (!result.isFunctionOfDim(loop))
      r.k.push_back(loop);
  r.combiner = findCombiner(r.sums.op, r.sums.init, r.sumOperand);
  if (!findTeam(r, options) || !r.combiner)
    return std::nullopt;
  return r;
}

static LogicalResult reduce(func::FuncOp func,
                            const GpuReduceOptions &options) {
  auto reduction = match(func, options);
  if (!reduction)
    return success();
  OpBuilder builder(func.getBody().front().getTerminator());
  bool isGroup = reduction->team == options.target.groupSize;
  tellPath(func.getLoc(), isGroup ? path::gpuGroupSums : path::gpuClusterSums);
  if (failed(generaliseOps(func)) ||
      failed(emitReduction(builder, *reduction, options.subgroups)))
    return failure();
  return finishResults(func, reduction->sums);
}

void GpuReducePass::runOnOperation() {
  if (clusterSums > 0 && !subgroups) {
    getOperation().emitError("cluster-sums needs subgroups=true");
    return signalPassFailure();
  }
  FailureOr<GpuTarget> target = readGpuTarget(getOperation());
  if (failed(target))
    return signalPassFailure();
  GpuReduceOptions options = {*target, maxSums, subgroups, clusterSums};
  auto rewrite = [&](func::FuncOp func) { return reduce(func, options); };
  auto clean = [&](OpPassManager &passes) {
    return runPipeline(passes, getOperation());
  };
  if (failed(rewriteDispatches(getOperation(), rewrite, clean)))
    signalPassFailure();
}

} // namespace backplane
