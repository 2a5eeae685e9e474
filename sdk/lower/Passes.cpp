// SPDX-License-Identifier: Apache-2.0
#include "sdk/lower/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

void bp::registerLowerPasses() {
  mlir::registerPass([] { return createLowerToLinalgPass(); });
  mlir::registerPass([] { return createExpandMathPass(); });
}

void bp::buildLowerPipeline(mlir::OpPassManager &manager) {
  manager.addPass(createLowerToLinalgPass());
}
