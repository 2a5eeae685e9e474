// SPDX-License-Identifier: Apache-2.0
#ifndef BACKPLANE_KERNELS_PASSES
#define BACKPLANE_KERNELS_PASSES

include "mlir/Pass/PassBase.td"

def MatchKernelsPass : Pass<"bp-match-kernels", "mlir::ModuleOp"> {
  let summary = "Marks the ops of main that registered kernels compute";
  let description = [{
    Looks in `main` for the graphs of kernels and gives their
    ops `bp.kernel`; the module's `bp.report` says which were used, and for
    what nearly matches what differs. The graphs come from the texts of
    kernels in files, see `docs/reference/kernels.md`.
  }];
  let options = [
    ListOption<"files", "file", "std::string", "texts of kernels">,
    Option<"device", "device", "unsigned", "0", "only ops of this device">
  ];
  let dependentDialects = ["::bp::BpDialect", "::mlir::func::FuncDialect"];
}

#endif // BACKPLANE_KERNELS_PASSES
