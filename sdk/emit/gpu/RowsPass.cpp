// SPDX-License-Identifier: Apache-2.0
//
// bp-gpu-rows: a dispatch that needs sums over the rows of a tensor again for
// these rows, like softmax and normalisation, becomes a parallel loop of
// work-groups, which have a row or several. Other dispatches are left alone.
#include "sdk/dialect/Attributes.h"
#include "sdk/emit/common/CodePaths.h"
#include "sdk/emit/common/Dispatch.h"
#include "sdk/emit/common/Passes.h"
#include "sdk/emit/gpu/Rows.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace backplane {
#define GEN_PASS_DEF_GPUROWSPASS
#include "sdk/emit/common/Passes.h.inc"
} // namespace backplane

using namespace mlir;

namespace backplane {
namespace {

struct GpuRowsPass : backplane::impl::GpuRowsPassBase<GpuRowsPass> {
  void runOnOperation() override;
};

} // namespace

static LogicalResult computeRows(func::FuncOp func, const GpuTarget &target) {
  auto rows = matchGpuRows(func, target);
  if (!rows)
    return success();
  tellPath(func.getLoc(), path::gpuRows);
  return success(succeeded(generaliseOps(func)) &&
                 succeeded(emitGpuRows(func, *rows)));
}

void GpuRowsPass::runOnOperation() {
  FailureOr<GpuTarget> target = readGpuTarget(getOperation());
  if (failed(target))
    return signalPassFailure();
  auto rewrite = [&](func::FuncOp func) { return computeRows(func, *target); };
  auto clean = [&](OpPassManager &passes) {
    return runPipeline(passes, getOperation());
  };
  if (failed(rewriteDispatches(getOperation(), rewrite, clean)))
    signalPassFailure();
}

} // namespace backplane
