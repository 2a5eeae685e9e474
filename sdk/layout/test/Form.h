// SPDX-License-Identifier: Apache-2.0
//
// Form.h: what tests of layouts look at, dispatches.
#ifndef BACKPLANE_LAYOUT_TEST_FORM_H
#define BACKPLANE_LAYOUT_TEST_FORM_H

#include "sdk/fusion/Fusion.h"
#include "sdk/layout/Layout.h"

/// Chooses layouts, and makes dispatches of what is there then.
inline bool formsDispatches(mlir::ModuleOp module,
                            const bp::LayoutOptions &layout,
                            backplane::WeightPool &pool) {
  bp::FusionOptions fusion;
  fusion.fusion = layout.fusion;
  return succeeded(bp::chooseLayouts(module, layout, pool)) &&
         succeeded(bp::formDispatches(module, fusion));
}

#endif // BACKPLANE_LAYOUT_TEST_FORM_H
