// SPDX-License-Identifier: Apache-2.0
#ifndef BACKPLANE_FUSION_PASSES
#define BACKPLANE_FUSION_PASSES

include "mlir/Pass/PassBase.td"

def FormDispatchesPass : Pass<"bp-form-dispatches", "mlir::ModuleOp"> {
  let summary = "The ops of main to functions that become kernels";
  let description = [{
    Groups the ops of `main` into dispatches, functions of one
    kernel each; `main` then holds calls and what needs no kernel: weights,
    constants, reshapes, reads and writes of variables.
  }];
  let options = [
    Option<"fusion", "fusion", "unsigned", "0", "BP_FUSE_ bits">,
    Option<"maxBindings", "max-bindings", "unsigned", "0",
           "per dispatch, 0: unlimited">,
    Option<"maxOps", "max-ops", "unsigned", "0", "per dispatch, 0: unlimited">
  ];
}

#endif // BACKPLANE_FUSION_PASSES
