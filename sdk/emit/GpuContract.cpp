// SPDX-License-Identifier: Apache-2.0
//
// bp-gpu-contract: a dispatch that is one matrix product or convolution, with
// whatever its factors are made of and elementwise ops behind it, becomes a
// parallel loop over the tiles of work-groups. Other dispatches are left alone.
#include "sdk/emit/Dispatch.h"
#include "sdk/emit/ElementReader.h"
#include "sdk/emit/GpuContraction.h"
#include "sdk/emit/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace backplane {
namespace {

struct GpuContractPass : PassWrapper<GpuContractPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(GpuContractPass)
  StringRef getArgument() const override { return "bp-gpu-contract"; }
  StringRef getDescription() const override {
    return "matrix products and convolutions to tiles of work-groups";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<affine::AffineDialect, arith::ArithDialect, gpu::GPUDialect,
                    memref::MemRefDialect, scf::SCFDialect,
                    tensor::TensorDialect>();
  }
  void runOnOperation() override;
};

} // namespace

static LogicalResult contract(func::FuncOp func) {
  auto contraction = matchGpuContraction(func);
  if (!contraction)
    return success();
  if (failed(generaliseOps(func)) ||
      failed(emitGpuContraction(func, *contraction)))
    return failure();
  return finishResults(func, contraction->sums);
}

void GpuContractPass::runOnOperation() {
  for (auto func : getOperation().getOps<func::FuncOp>())
    if (func->hasAttr("bp.inputs") && failed(contract(func)))
      return signalPassFailure();
  // The tensor form is dead now.
  OpPassManager clean("builtin.module");
  addCleanup(clean);
  if (failed(runPipeline(clean, getOperation())))
    signalPassFailure();
}

std::unique_ptr<Pass> createGpuContractPass() {
  return std::make_unique<GpuContractPass>();
}

} // namespace backplane
