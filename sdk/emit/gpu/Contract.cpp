// SPDX-License-Identifier: Apache-2.0
//
// bp-gpu-contract: a dispatch that is one matrix product or convolution, with
// whatever its factors are made of and elementwise ops behind it, becomes a
// parallel loop over the tiles of work-groups. Other dispatches are left alone.
#include "sdk/dialect/Attributes.h"
#include "sdk/emit/common/Dispatch.h"
#include "sdk/emit/common/Passes.h"
#include "sdk/emit/gpu/Contraction.h"
#include "sdk/emit/gpu/ElementReader.h"
#include "sdk/emit/gpu/MatrixPlan.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace backplane {
#define GEN_PASS_DEF_GPUCONTRACTPASS
#include "sdk/emit/common/Passes.h.inc"
} // namespace backplane

using namespace mlir;

namespace backplane {
namespace {

struct GpuContractPass : backplane::impl::GpuContractPassBase<GpuContractPass> {
  using GpuContractPassBase::GpuContractPassBase;
  void runOnOperation() override;
};

} // namespace

/// Whether an op does nothing but widen the elements of one tensor.
static bool isWidening(linalg::GenericOp op) {
  if (op.getNumReductionLoops() != 0 || op.getNumDpsInputs() != 1 ||
      op.getNumDpsInits() != 1)
    return false;
  Operation *value =
      op.getBody()->getTerminator()->getOperand(0).getDefiningOp();
  return isa_and_nonnull<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp>(
             value) &&
         value->getOperand(0) == op.getBody()->getArgument(0);
}

/// Factors that ops in front widen are widened by the contraction, which
/// becomes another op then.
static bool fuseWidenings(linalg::GenericOp op) {
  IRRewriter rewriter(op.getContext());
  bool any = false;
  for (int64_t i = 0; i < op.getNumDpsInputs(); ++i) {
    OpOperand *input = op.getDpsInputOperand(i);
    auto producer = input->get().getDefiningOp<linalg::GenericOp>();
    if (!producer || !producer->hasOneUse() || !isWidening(producer) ||
        !linalg::areElementwiseOpsFusable(input))
      continue;
    rewriter.setInsertionPoint(op);
    auto fused = linalg::fuseElementwiseOps(rewriter, input);
    if (failed(fused))
      continue;
    Value result = fused->replacements.lookup(op.getResult(0));
    rewriter.replaceOp(op, result);
    op = result.getDefiningOp<linalg::GenericOp>();
    any = true;
  }
  return any;
}

/// By matrix instructions where there are some for it.
static LogicalResult emit(func::FuncOp func, GpuContraction &contraction,
                          const MatrixUnit *unit) {
  auto plan = unit ? planMatrix(contraction, *unit) : std::nullopt;
  return plan ? emitMatrixContraction(func, contraction, *plan)
              : emitGpuContraction(func, contraction);
}

static LogicalResult contract(func::FuncOp func, const GpuTarget &target,
                              bool fusesProducts, const MatrixUnit *unit) {
  auto contraction = matchGpuContraction(func, target);
  if (contraction && unit && fuseWidenings(contraction->op))
    contraction = matchGpuContraction(func, target);
  if (!contraction)
    return success();
  contraction->fusesProducts = fusesProducts;
  if (failed(generaliseOps(func)) || failed(emit(func, *contraction, unit)))
    return failure();
  return finishResults(func, contraction->sums);
}

/// The unit of a dialect; null for no name.
static FailureOr<const MatrixUnit *> findUnit(ModuleOp module, StringRef name) {
  if (name.empty())
    return static_cast<const MatrixUnit *>(nullptr);
  Dialect *dialect = module.getContext()->getLoadedDialect(name);
  const auto *unit =
      dialect ? dialect->getRegisteredInterface<MatrixUnit>() : nullptr;
  if (!unit)
    return module.emitError("matrix-unit is \"")
           << name << "\", which is no dialect with a table of matrix "
           << "instructions";
  return unit;
}

void GpuContractPass::runOnOperation() {
  FailureOr<GpuTarget> target = readGpuTarget(getOperation());
  FailureOr<const MatrixUnit *> unit = findUnit(getOperation(), matrixUnit);
  if (failed(target) || failed(unit))
    return signalPassFailure();
  bool fuses = fusesProducts && !getOperation()->hasAttr(bp::roundProductsAttr);
  for (auto func : getOperation().getOps<func::FuncOp>())
    if (func->hasAttr(bp::inputsAttr) &&
        failed(contract(func, *target, fuses, *unit)))
      return signalPassFailure();
  // The tensor form is dead now.
  OpPassManager clean("builtin.module");
  addCleanup(clean);
  if (failed(runPipeline(clean, getOperation())))
    signalPassFailure();
}

} // namespace backplane
