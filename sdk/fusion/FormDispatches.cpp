// SPDX-License-Identifier: Apache-2.0
#include "sdk/dialect/Attributes.h"
#include "sdk/fusion/Fusion.h"
#include "sdk/fusion/KernelGroups.h"
#include "sdk/fusion/Passes.h"
#include "sdk/fusion/SymbolReads.h"

#include "mlir/IR/Builders.h"
#include "mlir/Pass/Pass.h"

namespace bp {
#define GEN_PASS_DEF_FORMDISPATCHESPASS
#include "sdk/fusion/Passes.h.inc"
} // namespace bp

using namespace mlir;

LogicalResult bp::formDispatches(ModuleOp module,
                                 ArrayRef<FusionOptions> devices) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main || main.isExternal() || !main.getBody().hasOneBlock())
    return module.emitError("expected a function main of one block");
  orderReads(main);
  limitOperands(main, devices);
  gatherAttention(main, devices);
  std::vector<std::string> refused = gatherKernels(main);
  Grouping found = groupOps(main, devices);
  Builder b(module.getContext());
  SmallVector<Attribute> report;
  for (const std::string &reason : refused)
    report.push_back(b.getStringAttr(reason));
  for (const std::string &cut : found.cuts)
    report.push_back(b.getStringAttr(cut));
  module->setAttr(bp::reportAttr, b.getArrayAttr(report));
  return outline(main, found);
}

namespace {

struct FormDispatchesPass
    : bp::impl::FormDispatchesPassBase<FormDispatchesPass> {
  using FormDispatchesPassBase::FormDispatchesPassBase;
  void runOnOperation() override {
    bp::FusionOptions options;
    options.fusion = fusion;
    options.maxBindings = maxBindings;
    options.maxOps = maxOps;
    if (failed(bp::formDispatches(getOperation(), options)))
      signalPassFailure();
  }
};

} // namespace
