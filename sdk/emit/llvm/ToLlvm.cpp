// SPDX-License-Identifier: Apache-2.0
//
// bp-to-llvm: what is left of linalg to loops, then everything to LLVM's
// dialect.
#include "sdk/emit/common/Passes.h"
#include "sdk/emit/llvm/DynamicShapes.h"
#include "sdk/emit/llvm/KnownStores.h"
#include "sdk/emit/llvm/LongLoops.h"
#include "sdk/emit/llvm/LoopUnrolling.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Conversion/VectorToSCF/VectorToSCF.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

namespace backplane {
#define GEN_PASS_DEF_TOLLVMPASS
#include "sdk/emit/common/Passes.h.inc"
} // namespace backplane

using namespace mlir;

namespace backplane {
namespace {

/// Rounding divisions of indices. Everything else that arith can expand LLVM
/// does better: its minimum and maximum order -0 below +0.
struct ExpandDivisionsPass
    : PassWrapper<ExpandDivisionsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandDivisionsPass)
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

/// Calls a function that needs LLVM's dialect at most.
template <void (*function)(ModuleOp)>
struct CallPass : PassWrapper<CallPass<function>, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CallPass)
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<LLVM::LLVMDialect>();
  }
  void runOnOperation() override { function(this->getOperation()); }
};

void buildToLlvm(OpPassManager &manager, bool fewRegisters) {
  manager.addPass(createConvertLinalgToLoopsPass());
  manager.addPass(createLoopInvariantCodeMotionPass());
  manager.addPass(createCanonicalizerPass());
  // Here, as masks are constants once sizes are folded.
  manager.addPass(std::make_unique<CallPass<storeKnownLanes>>());
  manager.addPass(createCSEPass());
  manager.addPass(createConvertVectorToSCFPass());
  manager.addPass(std::make_unique<CallPass<keepLoops>>());
  if (fewRegisters)
    manager.addPass(std::make_unique<CallPass<shortenWaits>>());
  manager.addPass(createSCFToControlFlowPass());
  manager.addPass(memref::createExpandStridedMetadataPass());
  manager.addPass(createLowerAffinePass());
  manager.addPass(std::make_unique<ExpandDivisionsPass>());
  ConvertVectorToLLVMPassOptions vector;
  vector.reassociateFPReductions = true;
  manager.addPass(createConvertVectorToLLVMPass(vector));
  manager.addPass(createConvertMathToLLVMPass());
  manager.addPass(createFinalizeMemRefToLLVMConversionPass());
  manager.addPass(createArithToLLVMConversionPass());
  manager.addPass(createConvertIndexToLLVMPass());
  manager.addPass(createUBToLLVMConversionPass());
  manager.addPass(createConvertControlFlowToLLVMPass());
  manager.addPass(createConvertFuncToLLVMPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
}

/// The operands of intrinsics that are vectors of bf16, with their types.
SmallVector<std::pair<OpOperand *, Type>> brainFloatOperands(ModuleOp module) {
  SmallVector<std::pair<OpOperand *, Type>> found;
  module.walk([&](LLVM::CallIntrinsicOp call) {
    for (OpOperand &operand : call->getOpOperands())
      if (getElementTypeOrSelf(operand.get().getType()).isBF16())
        found.emplace_back(&operand, operand.get().getType());
  });
  return found;
}

/// bf16 becomes i16: moves are left of it, which x86's code generator would
/// pass through f32, by a library call, and the operands of intrinsics, which
/// are cast back.
void moveBrainFloatsAsIntegers(ModuleOp module) {
  Type i16 = IntegerType::get(module.getContext(), 16);
  auto operands = brainFloatOperands(module);
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](BFloat16Type) { return i16; });
  replacer.addReplacement([&](FloatAttr value) -> std::optional<Attribute> {
    if (!value.getType().isBF16())
      return std::nullopt;
    return IntegerAttr::get(i16, value.getValue().bitcastToAPInt());
  });
  replacer.addReplacement(
      [&](DenseElementsAttr value) -> std::optional<Attribute> {
        if (!value.getElementType().isBF16())
          return std::nullopt;
        return value.bitcast(i16);
      });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
  for (auto [operand, type] : operands) {
    Operation *call = operand->getOwner();
    OpBuilder builder(call);
    operand->set(
        LLVM::BitcastOp::create(builder, call->getLoc(), type, operand->get()));
  }
}

struct ToLlvmPass : backplane::impl::ToLlvmPassBase<ToLlvmPass> {
  using ToLlvmPassBase::ToLlvmPassBase;
  void getDependentDialects(DialectRegistry &registry) const override {
    OpPassManager manager("builtin.module");
    buildToLlvm(manager, fewRegisters);
    manager.getDependentDialects(registry);
  }
  void runOnOperation() override {
    OpPassManager manager("builtin.module");
    buildToLlvm(manager, fewRegisters);
    if (failed(splitDynamicShapes(getOperation())) ||
        failed(runPipeline(manager, getOperation())))
      return signalPassFailure();
    moveBrainFloatsAsIntegers(getOperation());
    annotateKeptLoops(getOperation());
  }
};

} // namespace

} // namespace backplane
