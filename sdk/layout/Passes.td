// SPDX-License-Identifier: Apache-2.0
#ifndef BACKPLANE_LAYOUT_PASSES
#define BACKPLANE_LAYOUT_PASSES

include "mlir/Pass/PassBase.td"

def ChooseLayoutsPass : Pass<"bp-choose-layouts", "mlir::ModuleOp"> {
  let summary = "The forms in which products and convolutions read operands";
  let description = [{
    Operands that are known to fit 8 bits become bytes that are widened,
    transposed convolutions become convolutions, few long searches become
    reductions that work-groups share, and known weights lie in blocks
    in the order in which kernels read them, where the device has the bits for
    it. Weights are known to the compiler alone: here only what needs none of
    them is done.
  }];
  let options = [
    Option<"fusion", "fusion", "unsigned", "0", "BP_FUSE_ bits">,
    Option<"workGroups", "work-groups", "bool", "false",
           "kernels have work-groups that share reductions">
  ];
}

#endif // BACKPLANE_LAYOUT_PASSES
