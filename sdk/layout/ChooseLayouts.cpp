// SPDX-License-Identifier: Apache-2.0
#include "sdk/layout/Layout.h"
#include "sdk/layout/Passes.h"

#include "mlir/Pass/Pass.h"

namespace bp {
#define GEN_PASS_DEF_CHOOSELAYOUTSPASS
#include "sdk/layout/Passes.h.inc"
} // namespace bp

using namespace mlir;

LogicalResult bp::chooseLayouts(ModuleOp module,
                                ArrayRef<LayoutOptions> devices,
                                backplane::WeightPool &pool) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main || main.isExternal() || !main.getBody().hasOneBlock())
    return module.emitError("expected a function main of one block");
  markFiniteWeights(main, pool);
  shareSearches(main, devices);
  return success(succeeded(narrowOperands(main, devices, pool)) &&
                 succeeded(splitPhases(main, devices, pool)) &&
                 succeeded(divideAtBorders(main, devices, pool)) &&
                 succeeded(arrangeWeights(main, devices, pool)) &&
                 succeeded(arrangeColumns(main, devices, pool)));
}

namespace {

struct ChooseLayoutsPass : bp::impl::ChooseLayoutsPassBase<ChooseLayoutsPass> {
  using ChooseLayoutsPassBase::ChooseLayoutsPassBase;
  void runOnOperation() override {
    backplane::WeightPool none;
    bp::LayoutOptions options{.fusion = fusion, .workGroups = workGroups};
    if (failed(bp::chooseLayouts(getOperation(), options, none)))
      signalPassFailure();
  }
};

} // namespace
