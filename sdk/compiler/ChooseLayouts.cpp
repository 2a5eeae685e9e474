// SPDX-License-Identifier: Apache-2.0
//
// ChooseLayouts.cpp: the stage `layout` for the targets of a variant.
#include "sdk/compiler/Variant.h"

#include "sdk/compiler/Phase.h"
#include "sdk/layout/Layout.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace backplane;

Status backplane::chooseLayouts(VariantContext &context, ModuleOp module) {
  Phase phase(context.services, stage::layout.name);
  std::vector<bp::LayoutOptions> devices;
  for (const Target &target : context.targets)
    devices.push_back(
        {target.fusion, context.keepsWeights,
         findProperty(target.properties, "group_threads") != nullptr});
  if (failed(bp::chooseLayouts(module, devices, context.pool)) ||
      failed(mlir::verify(module)))
    return context.diagnostics.take(internalError("layouts cannot be chosen"));
  return {};
}
