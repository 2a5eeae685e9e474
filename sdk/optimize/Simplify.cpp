// SPDX-License-Identifier: Apache-2.0
#include "sdk/optimize/Passes.h"
#include "sdk/optimize/Patterns.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace bp {
#define GEN_PASS_DEF_SIMPLIFYPASS
#include "sdk/optimize/Passes.h.inc"
} // namespace bp

using namespace mlir;

namespace {

struct SimplifyPass : bp::impl::SimplifyPassBase<SimplifyPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    bp::addMovementPatterns(patterns);
    bp::addLayoutPatterns(patterns);
    bp::addReshapePatterns(patterns);
    bp::addArithmeticPatterns(patterns);
    bp::addPowerPatterns(patterns);
    bp::addWindowPatterns(patterns);
    bp::addEmptyPatterns(patterns);
    GreedyRewriteConfig config;
    config.enableConstantCSE(false);
    if (failed(
            applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      signalPassFailure();
  }
};

} // namespace
