// SPDX-License-Identifier: Apache-2.0
//
// bp-gpu-contract: a dispatch that is one matrix product or convolution, with
// whatever its factors are made of and elementwise ops behind it, or an
// attention becomes a parallel loop over the tiles of work-groups. Other
// dispatches are left alone.
#include "sdk/dialect/Attributes.h"
#include "sdk/emit/common/CodePaths.h"
#include "sdk/emit/common/Dispatch.h"
#include "sdk/emit/common/Passes.h"
#include "sdk/emit/gpu/Attention.h"
#include "sdk/emit/gpu/Contraction.h"
#include "sdk/emit/gpu/ElementReader.h"
#include "sdk/emit/gpu/MatrixPlan.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
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

/// Factors that ops in front widen are widened in the body of the contraction.
static bool moveWidenings(linalg::GenericOp op) {
  bool any = false;
  for (OpOperand *input : op.getDpsInputOperands()) {
    auto producer = input->get().getDefiningOp<linalg::GenericOp>();
    Operation *widening = producer ? findWidening(producer) : nullptr;
    if (!widening ||
        !llvm::all_of(producer.getIndexingMapsArray(),
                      [](AffineMap map) { return map.isIdentity(); }))
      continue;
    BlockArgument element = op.getMatchingBlockArgument(input);
    input->set(producer.getDpsInputs()[0]);
    element.setType(widening->getOperand(0).getType());
    OpBuilder builder = OpBuilder::atBlockBegin(op.getBody());
    Operation *moved = builder.clone(*widening);
    moved->setOperand(0, element);
    element.replaceAllUsesExcept(moved->getResult(0), moved);
    any = true;
  }
  return any;
}

/// A unit whose lanes know what they have of matrices.
static const MatrixUnit *ofFragments(const MatrixUnit *unit) {
  return unit && !unit->instructions().empty() ? unit : nullptr;
}

/// By matrix instructions where there are some for it.
static LogicalResult emit(func::FuncOp func, GpuContraction &contraction,
                          const MatrixUnit *unit) {
  auto plan = unit ? planMatrix(contraction, *unit) : std::nullopt;
  tellPath(func.getLoc(), plan ? path::gpuMatrices : path::gpuTiles);
  return plan ? emitMatrixContraction(func, contraction, *plan)
              : emitGpuContraction(func, contraction);
}

/// Whether the dispatch is an attention, which it was then.
static FailureOr<bool> contractAttention(func::FuncOp func,
                                         const GpuTarget &target,
                                         bool fusesProducts,
                                         const MatrixUnit *unit) {
  auto attention = matchGpuAttention(func, target);
  if (attention && unit) {
    SmallVector<ScoreScale> scales = takeScales(*attention);
    bool first = moveWidenings(attention->scores.op);
    if (moveWidenings(attention->product.op) || first)
      attention = matchGpuAttention(func, target);
    if (attention)
      attention->scales = scales;
    else if (!scales.empty())
      return func.emitError("an attention is none any more without its scales");
  }
  if (!attention && multipliesProducts(func, target))
    return func.emitError("it multiplies products in a way that is not known "
                          "here, and would compute them for each result");
  if (!attention)
    return false;
  attention->scores.fusesProducts = fusesProducts;
  attention->product.fusesProducts = fusesProducts;
  if (failed(generaliseOps(func)))
    return failure();
  FailureOr<bool> done = false;
  if (unit)
    done = emitRegisterAttention(func, *attention, *unit);
  const CodePath *taken = &path::gpuRegisterAttention;
  if (unit && succeeded(done) && !*done) {
    done = emitMatrixAttention(func, *attention, *unit);
    taken = &path::gpuMatrixAttention;
  }
  if (succeeded(done) && !*done) {
    done = emitGpuAttention(func, *attention);
    taken = &path::gpuAttention;
  }
  if (failed(done) || !*done)
    return done;
  tellPath(func.getLoc(), *taken);
  if (failed(finishResults(func, attention->product.sums)))
    return failure();
  return true;
}

/// A contraction whose factors are as narrow as they were made.
static std::optional<GpuContraction> matchNarrow(func::FuncOp func,
                                                 const GpuTarget &target,
                                                 const MatrixUnit *unit,
                                                 bool anyRows) {
  auto contraction = matchGpuContraction(func, target, anyRows);
  if (contraction && unit && moveWidenings(contraction->op))
    contraction = matchGpuContraction(func, target, anyRows);
  return contraction;
}

/// The product of a few rows with columns that are side by side in memory, as
/// matrix instructions take it. Where k is, sums are shared by subgroups.
static std::optional<GpuContraction> matchFewRows(func::FuncOp func,
                                                  const GpuTarget &target,
                                                  const MatrixUnit &unit) {
  auto contraction = matchNarrow(func, target, &unit, /*anyRows=*/true);
  bool fits = contraction && !contraction->b.kIsInnermost &&
              planMatrix(*contraction, unit);
  return fits ? contraction : std::nullopt;
}

static LogicalResult contract(func::FuncOp func, const GpuTarget &target,
                              bool fusesProducts, const MatrixUnit *unit) {
  auto isAttention =
      contractAttention(func, target, fusesProducts, ofFragments(unit));
  if (failed(isAttention) || *isAttention)
    return isAttention;
  auto contraction = matchNarrow(func, target, unit, /*anyRows=*/false);
  if (!contraction && ofFragments(unit))
    contraction = matchFewRows(func, target, *unit);
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
  auto rewrite = [&](func::FuncOp func) {
    return contract(func, *target, fuses, *unit);
  };
  auto clean = [&](OpPassManager &passes) {
    return runPipeline(passes, getOperation());
  };
  if (failed(rewriteDispatches(getOperation(), rewrite, clean)))
    signalPassFailure();
}

} // namespace backplane
