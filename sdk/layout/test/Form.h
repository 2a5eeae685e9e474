// SPDX-License-Identifier: Apache-2.0
//
// Form.h: what tests of layouts look at, dispatches.
#ifndef BACKPLANE_LAYOUT_TEST_FORM_H
#define BACKPLANE_LAYOUT_TEST_FORM_H

#include "sdk/fusion/Fusion.h"
#include "sdk/layout/Layout.h"

#include <string>

/// Chooses layouts, and makes dispatches of what is there then.
inline bool formsDispatches(mlir::ModuleOp module,
                            const bp::LayoutOptions &layout,
                            backplane::WeightPool &pool) {
  bp::FusionOptions fusion;
  fusion.fusion = layout.fusion;
  return succeeded(bp::chooseLayouts(module, layout, pool)) &&
         succeeded(bp::formDispatches(module, fusion));
}

/// A module that takes a weight of the pool.
class FixtureBase {
public:
  FixtureBase() {
    context.loadDialect<bp::BpDialect, mlir::func::FuncDialect>();
  }

  bool form(uint32_t fusion, bool keepsWeights = false) {
    return formsDispatches(*module, {fusion, keepsWeights}, pool);
  }
  std::string print() {
    std::string out;
    llvm::raw_string_ostream stream(out);
    module->print(stream);
    return out;
  }
  unsigned count(llvm::StringRef name) {
    unsigned found = 0;
    module->walk([&](mlir::Operation *op) {
      found += op->getName().stripDialect() == name;
    });
    return found;
  }

  mlir::MLIRContext context;
  backplane::WeightPool pool;
  std::string id; ///< of the weight
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

#endif // BACKPLANE_LAYOUT_TEST_FORM_H
