// SPDX-License-Identifier: Apache-2.0
//
// bp-to-nvvm: the code of one invocation becomes a CUDA kernel in LLVM's
// dialect. Its parameters are a pointer for each binding, the error word, the
// scratch of the dispatch, then the constants and maps of tensors.
#include "sdk/dialect/Attributes.h"
#include "sdk/emit/common/Dispatch.h"
#include "sdk/emit/common/Passes.h"
#include "sdk/emit/nvptx/Patterns.h"
#include "sdk/emit/nvptx/TensorMaps.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

namespace backplane {
#define GEN_PASS_DEF_TONVVMPASS
#include "sdk/emit/common/Passes.h.inc"
} // namespace backplane

using namespace mlir;

namespace backplane {
namespace {

struct ToNvvmPass : backplane::impl::ToNvvmPassBase<ToNvvmPass> {
  void runOnOperation() override;
  LogicalResult expand();
};

/// Moves a function into a kernel.
struct KernelBuilder {
  func::FuncOp func;
  OpBuilder builder;
  Location loc;
  unsigned bindings, constants;
  SmallVector<DictionaryAttr> tensors;
  LLVM::LLVMFuncOp kernel;

  KernelBuilder(func::FuncOp func, DictionaryAttr described)
      : func(func), builder(func), loc(func.getLoc()),
        bindings(unsigned(cast<ArrayAttr>(described.get("access")).size())),
        constants(
            unsigned(cast<IntegerAttr>(described.get("constants")).getInt())),
        tensors(tensorsOf(func)) {}

  void run(ArrayRef<int32_t> groupSize);
  Type buffer() {
    return LLVM::LLVMPointerType::get(builder.getContext(), nvptxGlobal);
  }
  void declare(ArrayRef<int32_t> groupSize);
  void bindArguments();
};

} // namespace

/// Bindings start at multiples of 256 bytes, of which 16 are enough for
/// vectors.
void KernelBuilder::declare(ArrayRef<int32_t> groupSize) {
  constexpr int64_t vectorBytes = 16, wordBytes = 4;
  SmallVector<Type> parameters(bindings + 2, buffer());
  parameters.append(constants, builder.getI32Type());
  parameters.append(tensors.size(),
                    LLVM::LLVMPointerType::get(builder.getContext()));
  kernel = LLVM::LLVMFuncOp::create(
      builder, loc, func.getSymName(),
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()),
                                  parameters));
  kernel->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(),
                  builder.getUnitAttr());
  kernel->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                  builder.getDenseI32ArrayAttr(groupSize));
  for (unsigned i = 0; i < bindings + 2; ++i)
    kernel.setArgAttr(
        i, LLVM::LLVMDialect::getAlignAttrName(),
        builder.getI64IntegerAttr(i == bindings ? wordBytes : vectorBytes));
}

void KernelBuilder::bindArguments() {
  Block &block = kernel.getBody().front();
  unsigned olds = block.getNumArguments();
  for (Type type : kernel.getFunctionType().getParams())
    block.addArgument(type, loc);
  builder.setInsertionPointToStart(&block);
  unsigned constant = bindings + 2;
  for (unsigned i = 0; i < olds; ++i) {
    BlockArgument old = block.getArgument(i);
    auto number = func.getArgAttrOfType<IntegerAttr>(i, bp::bindingAttr);
    Value value;
    if (number)
      value = UnrealizedConversionCastOp::create(
                  builder, loc, old.getType(),
                  block.getArgument(olds + unsigned(number.getInt())))
                  .getResult(0);
    else
      value =
          arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(),
                                       block.getArgument(olds + constant++));
    old.replaceAllUsesWith(value);
  }
  block.eraseArguments(0, olds);
}

void KernelBuilder::run(ArrayRef<int32_t> groupSize) {
  declare(groupSize);
  kernel.getBody().takeBody(func.getBody());
  bindArguments();
  bindTensorMaps(kernel, tensors);
  func.erase();
}

static LogicalResult convert(LLVM::LLVMFuncOp kernel) {
  MLIRContext *context = kernel.getContext();
  LLVMTypeConverter types(context);
  addNvptxTypes(types);
  RewritePatternSet patterns(context);
  addNvptxPatterns(types, patterns);
  arith::populateArithToLLVMConversionPatterns(types, patterns);
  populateMathToLLVMConversionPatterns(types, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
  ub::populateUBToLLVMConversionPatterns(types, patterns);
  LLVMConversionTarget legal(*context);
  legal.addLegalDialect<NVVM::NVVMDialect>();
  legal.addLegalOp<UnrealizedConversionCastOp>();
  return applyFullConversion(kernel, legal, std::move(patterns));
}

/// Loops as branches, divisions that round down or up as plain ones.
LogicalResult ToNvvmPass::expand() {
  ModuleOp module = getOperation();
  OpPassManager indices("builtin.module"), loops("builtin.module");
  indices.addPass(createLowerAffinePass());
  if (failed(runPipeline(indices, module)))
    return failure();
  RewritePatternSet divisions(&getContext());
  arith::populateCeilFloorDivExpandOpsPatterns(divisions);
  if (failed(applyPatternsGreedily(module, std::move(divisions))))
    return failure();
  loops.addPass(createCanonicalizerPass());
  loops.addPass(createLoopInvariantCodeMotionPass());
  loops.addPass(createCSEPass());
  loops.addPass(createSCFToControlFlowPass());
  return runPipeline(loops, module);
}

void ToNvvmPass::runOnOperation() {
  ModuleOp module = getOperation();
  auto described = module->getAttrOfType<DictionaryAttr>(bp::entryAttr);
  auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
  if (!described || !described.get("workgroup") || functions.size() != 1) {
    module.emitError("expected what bp-to-gpu-entry leaves");
    return signalPassFailure();
  }
  SmallVector<int32_t> groupSize;
  for (Attribute axis : cast<ArrayAttr>(described.get("workgroup")))
    groupSize.push_back(int32_t(cast<IntegerAttr>(axis).getInt()));
  if (failed(expand()))
    return signalPassFailure();
  KernelBuilder builder(functions.front(), described);
  builder.run(groupSize);
  if (failed(convert(builder.kernel)))
    return signalPassFailure();
  for (auto table :
       llvm::make_early_inc_range(module.getOps<memref::GlobalOp>()))
    table.erase();
  OpPassManager clean("builtin.module");
  clean.addPass(createReconcileUnrealizedCastsPass());
  clean.addPass(createCSEPass());
  if (failed(runPipeline(clean, module)))
    return signalPassFailure();
}

} // namespace backplane
