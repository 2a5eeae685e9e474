// SPDX-License-Identifier: Apache-2.0
#include "sdk/fusion/Fusion.h"
#include "sdk/fusion/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

LogicalResult bp::formDispatches(ModuleOp module,
                                 ArrayRef<FusionOptions> devices,
                                 backplane::WeightPool &pool) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main || main.isExternal() || !main.getBody().hasOneBlock())
    return module.emitError("expected a function main of one block");
  limitOperands(main, devices);
  markFiniteWeights(main, pool);
  if (failed(narrowFactors(main, devices, pool)))
    return failure();
  Partition found = partition(main, devices);
  Builder b(module.getContext());
  SmallVector<Attribute> report;
  for (const std::string &cut : found.cuts)
    report.push_back(b.getStringAttr(cut));
  module->setAttr("bp.report", b.getArrayAttr(report));
  return outline(main, found);
}

namespace {

struct FormDispatchesPass
    : PassWrapper<FormDispatchesPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FormDispatchesPass)

  FormDispatchesPass() = default;
  FormDispatchesPass(const FormDispatchesPass &other) : PassWrapper(other) {}

  StringRef getArgument() const final { return "bp-form-dispatches"; }
  StringRef getDescription() const final {
    return "Groups the ops of main into functions that become kernels";
  }
  void runOnOperation() final {
    bp::FusionOptions options;
    options.fusion = fusion;
    options.maxBindings = maxBindings;
    options.maxOps = maxOps;
    backplane::WeightPool none;
    if (failed(bp::formDispatches(getOperation(), options, none)))
      signalPassFailure();
  }

  Option<unsigned> fusion{*this, "fusion", llvm::cl::desc("BP_FUSE_ bits"),
                          llvm::cl::init(0)};
  Option<unsigned> maxBindings{*this, "max-bindings",
                               llvm::cl::desc("per dispatch, 0: unlimited"),
                               llvm::cl::init(0)};
  Option<unsigned> maxOps{*this, "max-ops",
                          llvm::cl::desc("per dispatch, 0: unlimited"),
                          llvm::cl::init(0)};
};

} // namespace

void bp::registerFusionPasses() { PassRegistration<FormDispatchesPass>(); }
