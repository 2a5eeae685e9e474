// SPDX-License-Identifier: Apache-2.0
//
// bp-to-spirv: the code of one invocation becomes a SPIR-V module with one
// entry point for Vulkan. Bindings are storage buffers of set 0 in their order,
// the error word and the workspace come behind them, constants are pushed.
#include "sdk/dialect/Attributes.h"
#include "sdk/emit/common/Dispatch.h"
#include "sdk/emit/common/Passes.h"
#include "sdk/emit/gpu/GpuTarget.h"
#include "sdk/emit/spirv/GuardLoops.h"
#include "sdk/emit/spirv/Matrices.h"
#include "sdk/emit/spirv/NarrowCompares.h"
#include "sdk/emit/spirv/NarrowFloats.h"
#include "sdk/emit/spirv/Patterns.h"
#include "sdk/emit/spirv/PlainFloats.h"
#include "sdk/emit/spirv/Vec4.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToSPIRV/ArithToSPIRV.h"
#include "mlir/Conversion/GPUToSPIRV/GPUToSPIRV.h"
#include "mlir/Conversion/MathToSPIRV/MathToSPIRV.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToSPIRV/SCFToSPIRV.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVDialect.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "mlir/Dialect/SPIRV/Transforms/Passes.h"
#include "mlir/Dialect/SPIRV/Transforms/SPIRVConversion.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

namespace backplane {
#define GEN_PASS_DEF_TOSPIRVPASS
#include "sdk/emit/common/Passes.h.inc"
} // namespace backplane

using namespace mlir;

namespace backplane {
namespace {

struct ToSpirvPass : backplane::impl::ToSpirvPassBase<ToSpirvPass> {
  using ToSpirvPassBase::ToSpirvPassBase;
  void runOnOperation() override;
};

/// Divisions that round down or up or are done again for neighbours, and
/// comparisons that are wider than need be.
struct PlainIntegers : PassWrapper<PlainIntegers, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlainIntegers)
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    addNarrowCompares(patterns);
    addVec4Patterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

/// The least that Vulkan promises. Of subgroups, whose size depends on the
/// device, clusters are known.
spirv::ResourceLimitsAttr limits(MLIRContext *context,
                                 const GpuTarget &target) {
  spirv::ResourceLimitsAttr least = spirv::getDefaultResourceLimits(context);
  return spirv::ResourceLimitsAttr::get(
      context, int(target.sharedBytes), int(target.groupSize),
      least.getMaxComputeWorkgroupSize(), int(target.clusterSize), std::nullopt,
      std::nullopt, nullptr, nullptr);
}

/// What every module may use. A device that lists the target's features has
/// all of it.
spirv::TargetEnvAttr environment(MLIRContext *context, const GpuTarget &target,
                                 bool subgroups, bool matrices) {
  using C = spirv::Capability;
  using E = spirv::Extension;
  SmallVector<C> capabilities = {C::Shader,
                                 C::Int8,
                                 C::Int16,
                                 C::Int64,
                                 C::Float64,
                                 C::StorageBuffer8BitAccess,
                                 C::StorageBuffer16BitAccess,
                                 C::SignedZeroInfNanPreserve,
                                 C::RoundingModeRTE};
  if (subgroups)
    capabilities.push_back(C::GroupNonUniformShuffle);
  SmallVector<E> extensions = {
      E::SPV_KHR_storage_buffer_storage_class, E::SPV_KHR_8bit_storage,
      E::SPV_KHR_16bit_storage, E::SPV_KHR_float_controls};
  if (matrices) {
    llvm::append_range(capabilities, matrixCapabilities);
    llvm::append_range(extensions, matrixExtensions);
  }
  auto triple = spirv::VerCapExtAttr::get(matrices ? matrixVersion
                                                   : spirv::Version::V_1_3,
                                          capabilities, extensions, context);
  return spirv::TargetEnvAttr::get(
      triple, limits(context, target), spirv::ClientAPI::Vulkan,
      spirv::Vendor::Unknown, spirv::DeviceType::Unknown,
      spirv::TargetEnvAttr::kUnknownDeviceID);
}

/// Moves a function into a SPIR-V module of its own.
struct ModuleBuilder {
  ModuleOp module;
  func::FuncOp func;
  OpBuilder builder;
  Location loc;
  unsigned constants;
  GpuTarget target;
  bool subgroups, coherent, matrices;
  spirv::ModuleOp made;
  spirv::FuncOp entry;

  ModuleBuilder(func::FuncOp func, DictionaryAttr described,
                const GpuTarget &target, bool subgroups)
      : module(func->getParentOfType<ModuleOp>()), func(func),
        builder(func.getContext()), loc(func.getLoc()),
        constants(
            unsigned(cast<IntegerAttr>(described.get("constants")).getInt())),
        target(target), subgroups(subgroups),
        coherent(cast<BoolAttr>(described.get("coherent")).getValue()),
        matrices(usesMatrices(func)) {}

  void run();
  void bindArguments();
  Value buffer(unsigned number, unsigned binding, Type element);
  Value pushed(unsigned number);
  void finish(ArrayRef<int32_t> groupSize);
  void stateVersion();
};

} // namespace

/// The address of a storage buffer.
Value ModuleBuilder::buffer(unsigned number, unsigned binding, Type element) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(entry);
  auto variable = spirv::GlobalVariableOp::create(
      builder, loc, storageBufferType(element),
      ("buffer" + Twine(number)).str(), /*descriptorSet=*/0, binding);
  variable->setAttr("aliased", builder.getUnitAttr());
  if (coherent)
    variable->setAttr("coherent", builder.getUnitAttr());
  builder.setInsertionPointToStart(&entry.front());
  return spirv::AddressOfOp::create(builder, loc, variable);
}

/// A constant of the call, as index.
Value ModuleBuilder::pushed(unsigned number) {
  builder.setInsertionPointToStart(&entry.front());
  Value word = spirv::getPushConstantValue(entry, constants, number,
                                           builder.getI32Type(), builder);
  return UnrealizedConversionCastOp::create(builder, loc,
                                            builder.getIndexType(), word)
      .getResult(0);
}

void ModuleBuilder::bindArguments() {
  Block &block = entry.front();
  unsigned buffers = 0, words = 0;
  for (BlockArgument argument : block.getArguments()) {
    Value value;
    if (auto type = dyn_cast<MemRefType>(argument.getType())) {
      auto binding = func.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(),
                                                        bp::bindingAttr);
      value =
          buffer(buffers++, unsigned(binding.getInt()), type.getElementType());
      value = UnrealizedConversionCastOp::create(builder, loc, type, value)
                  .getResult(0);
    } else {
      value = pushed(words++);
    }
    argument.replaceAllUsesWith(value);
  }
  block.eraseArguments(0, block.getNumArguments());
}

void ModuleBuilder::run() {
  builder.setInsertionPointToEnd(module.getBody());
  made = spirv::ModuleOp::create(builder, loc, spirv::AddressingModel::Logical,
                                 matrices ? spirv::MemoryModel::Vulkan
                                          : spirv::MemoryModel::GLSL450);
  made->setAttr(spirv::getTargetEnvAttrName(),
                environment(module.getContext(), target, subgroups, matrices));
  builder.setInsertionPointToStart(made.getBody());
  entry = spirv::FuncOp::create(builder, loc, func.getSymName(),
                                builder.getFunctionType({}, {}));
  entry.getBody().takeBody(func.getBody());
  bindArguments();
  for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
    if (isa<memref::GlobalOp>(op))
      op.moveBefore(entry);
  func.erase();
}

/// Sums and products round as written: what the passes before fused is fused.
static void forbidContraction(spirv::FuncOp entry) {
  entry.walk([](Operation *op) {
    if (isa<spirv::FAddOp, spirv::FSubOp, spirv::FMulOp, spirv::FDivOp,
            spirv::FNegateOp>(op))
      op->setAttr("no_contraction", UnitAttr::get(op->getContext()));
  });
}

/// What was written to buffers, too, is seen behind a barrier.
static void makeBuffersVisible(spirv::FuncOp entry) {
  entry.walk([](spirv::ControlBarrierOp barrier) {
    barrier.setMemorySemantics(barrier.getMemorySemantics() |
                               spirv::MemorySemantics::UniformMemory);
  });
}

void ModuleBuilder::finish(ArrayRef<int32_t> groupSize) {
  forbidContraction(entry);
  if (coherent)
    makeBuffersVisible(entry);
  if (matrices)
    shareGroupMemory(entry);
  builder.setInsertionPointToEnd(made.getBody());
  SmallVector<Attribute> interface;
  for (auto variable : made.getOps<spirv::GlobalVariableOp>())
    if (variable.storageClass() == spirv::StorageClass::Input)
      interface.push_back(SymbolRefAttr::get(variable));
  spirv::EntryPointOp::create(builder, loc, spirv::ExecutionModel::GLCompute,
                              entry, interface);
  spirv::ExecutionModeOp::create(builder, loc, entry,
                                 spirv::ExecutionMode::LocalSize, groupSize);
  for (int32_t width : {32, 64})
    if (usesFloats(entry, unsigned(width))) {
      spirv::ExecutionModeOp::create(
          builder, loc, entry, spirv::ExecutionMode::SignedZeroInfNanPreserve,
          {width});
      spirv::ExecutionModeOp::create(
          builder, loc, entry, spirv::ExecutionMode::RoundingModeRTE, {width});
    }
}

/// What is deduced may be less than the environment of the entry, and has no
/// model of memory.
void ModuleBuilder::stateVersion() {
  spirv::VerCapExtAttr found = *made.getVceTriple();
  llvm::SetVector<spirv::Capability> capabilities(
      llvm::from_range, llvm::to_vector(found.getCapabilities()));
  llvm::SetVector<spirv::Extension> extensions(
      llvm::from_range, llvm::to_vector(found.getExtensions()));
  if (matrices) {
    capabilities.insert_range(matrixCapabilities);
    extensions.insert_range(matrixExtensions);
  }
  made.setVceTripleAttr(spirv::VerCapExtAttr::get(
      spirv::Version::V_1_3, capabilities.getArrayRef(),
      extensions.getArrayRef(), builder.getContext()));
}

/// What a counted loop carries leaves it in variables, which MLIR sets at the
/// end of each iteration. They start with what the loop starts with: there may
/// be no turn. Loops with a condition set theirs before it.
static void startVariables(spirv::LoopOp loop) {
  auto enter = dyn_cast<spirv::BranchOp>(loop.getEntryBlock()->getTerminator());
  auto repeat =
      dyn_cast<spirv::BranchOp>(loop.getContinueBlock()->getTerminator());
  if (!enter || !repeat || enter.getTargetOperands().empty() ||
      !loop.getHeaderBlock()->getOps<spirv::StoreOp>().empty())
    return;
  // The first operand is the induction variable.
  OpBuilder builder(loop);
  auto starts = enter.getTargetOperands().drop_front();
  auto ends = repeat.getTargetOperands().drop_front();
  Operation *op = repeat->getPrevNode();
  for (size_t i = ends.size(); i-- > 0; op = op->getPrevNode()) {
    while (op && !isa<spirv::StoreOp>(op))
      op = op->getPrevNode();
    auto store = dyn_cast_or_null<spirv::StoreOp>(op);
    if (!store || store.getValue() != ends[i] ||
        !store.getPtr().getDefiningOp<spirv::VariableOp>())
      return;
    spirv::StoreOp::create(builder, loop.getLoc(), store.getPtr(), starts[i]);
  }
}

static LogicalResult convert(spirv::ModuleOp module) {
  spirv::TargetEnvAttr target = spirv::lookupTargetEnv(module);
  SPIRVConversionOptions options;
  options.emulateLT32BitScalarTypes = false;
  SPIRVTypeConverter types(target, options);
  addBufferTypes(types);
  addMatrixTypes(types);
  RewritePatternSet patterns(module.getContext());
  ScfToSPIRVContext loops;
  addSpirvPatterns(types, patterns);
  addMatrixPatterns(types, patterns);
  arith::populateArithToSPIRVPatterns(types, patterns);
  populateMathToSPIRVPatterns(types, patterns);
  populateSCFToSPIRVPatterns(types, loops, patterns);
  populateGPUToSPIRVPatterns(types, patterns);
  auto legal = SPIRVConversionTarget::get(target);
  legal->addLegalOp<UnrealizedConversionCastOp>();
  legal->addLegalOp<memref::GlobalOp>();
  SmallVector<Operation *> functions(module.getOps<spirv::FuncOp>());
  return applyFullConversion(functions, *legal, std::move(patterns));
}

/// Index arithmetic as plain arithmetic.
static void buildExpansion(OpPassManager &manager) {
  manager.addPass(createLowerAffinePass());
  manager.addPass(std::make_unique<PlainIntegers>());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createLoopInvariantCodeMotionPass());
  manager.addPass(createCSEPass());
}

void ToSpirvPass::runOnOperation() {
  ModuleOp module = getOperation();
  auto described = module->getAttrOfType<DictionaryAttr>(bp::entryAttr);
  auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
  if (!described || !described.get("workgroup") || functions.size() != 1) {
    module.emitError("expected what bp-to-gpu-entry leaves");
    return signalPassFailure();
  }
  FailureOr<GpuTarget> target = readGpuTarget(module);
  if (failed(target))
    return signalPassFailure();
  OpPassManager expansion("builtin.module");
  buildExpansion(expansion);
  if (failed(runPipeline(expansion, module)) ||
      failed(holdNarrowFloatsAsBits(module)) || failed(usePlainFloats(module)))
    return signalPassFailure();
  ModuleBuilder builder(functions.front(), described, *target, subgroups);
  mergeVec4(functions.front(), /*halves=*/builder.matrices);
  if (builder.matrices && builder.coherent) {
    module.emitError("matrices, and results that are handed on by buffers, "
                     "are of two models of memory");
    return signalPassFailure();
  }
  builder.run();
  guardLoops(builder.made, builder.entry,
             unsigned(cast<ArrayAttr>(described.get("access")).size()));
  if (failed(convert(builder.made)))
    return signalPassFailure();
  builder.entry.walk([](spirv::LoopOp loop) { startVariables(loop); });
  for (auto op :
       llvm::make_early_inc_range(builder.made.getOps<memref::GlobalOp>()))
    op.erase();
  SmallVector<int32_t> size;
  for (Attribute axis : cast<ArrayAttr>(described.get("workgroup")))
    size.push_back(int32_t(cast<IntegerAttr>(axis).getInt()));
  builder.finish(size);
  OpPassManager clean("builtin.module");
  clean.addPass(createReconcileUnrealizedCastsPass());
  OpPassManager &inner = clean.nest<spirv::ModuleOp>();
  inner.addPass(createCanonicalizerPass());
  inner.addPass(createCSEPass());
  inner.addPass(spirv::createSPIRVUpdateVCEPass());
  if (failed(runPipeline(clean, module)))
    return signalPassFailure();
  builder.stateVersion();
}

} // namespace backplane
