// SPDX-License-Identifier: Apache-2.0
#include "sdk/optimize/Passes.h"
#include "sdk/optimize/Patterns.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace {

struct SimplifyPass : PassWrapper<SimplifyPass, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SimplifyPass)

  StringRef getArgument() const final { return "bp-simplify"; }
  StringRef getDescription() const final {
    return "Removes bp ops that do nothing and merges those that compose";
  }
  void runOnOperation() final {
    RewritePatternSet patterns(&getContext());
    bp::addMovementPatterns(patterns);
    bp::addReshapePatterns(patterns);
    bp::addArithmeticPatterns(patterns);
    bp::addEmptyPatterns(patterns);
    GreedyRewriteConfig config;
    config.enableConstantCSE(false);
    if (failed(
            applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> bp::createSimplifyPass() {
  return std::make_unique<SimplifyPass>();
}
