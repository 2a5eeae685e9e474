// SPDX-License-Identifier: Apache-2.0
#include "sdk/optimize/Passes.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

void bp::registerOptimizePasses() {
  mlir::registerPass(createForwardVariablesPass);
  mlir::registerPass(createSimplifyPass);
  mlir::registerPass(createFoldScalesPass);
  mlir::registerPass([] { return createTableLookupPass(); });
  mlir::registerPass(createOutlineConstantsPass);
  mlir::registerPass([] {
    static backplane::WeightPool pool;
    return createMoveTablesPass(pool);
  });
}
