// SPDX-License-Identifier: Apache-2.0
//
// The published passes that take one dispatch from the `bp` dialect to linalg
// on tensors. README.md has the entry and exit contracts.
#ifndef BACKPLANE_LOWER_PASSES
#define BACKPLANE_LOWER_PASSES

include "sdk/compiler/Published.td"
include "mlir/Pass/PassBase.td"

def LowerToLinalgPass : Pass<"bp-lower-to-linalg", "mlir::ModuleOp"> {
  let summary = "Dispatches of bp primitives to linalg on tensors";
  let description = [{
    Every function that holds `bp` ops becomes linalg on tensors
    in destination-passing form. Fails with a diagnostic on the op that it
    cannot lower.
  }];
  let dependentDialects = [
    "mlir::affine::AffineDialect", "mlir::arith::ArithDialect",
    "mlir::func::FuncDialect", "mlir::linalg::LinalgDialect",
    "mlir::math::MathDialect", "mlir::memref::MemRefDialect",
    "mlir::scf::SCFDialect", "mlir::tensor::TensorDialect"];
}

def ExpandMathPass : Pass<"bp-expand-math">,
    Stable<"device", "math and arith on scalars and vectors",
      "arith, and those of math that the description lists"> {
  let summary = "Math functions and bf16 conversions to arithmetic";
  let description = [{
    Math functions, float remainders and bf16 conversions on
    scalars and vectors become arithmetic that needs no library: `arith` and
    `math.fma floor sqrt absf copysign roundeven trunc ceil`. Errors in ULP:
    docs/reference/math.md.
  }];
  let options = [
    Option<"scales", "scale-instruction", "bool", "false",
           "the target multiplies by powers of 2 in one instruction "
           "(`llvm.ldexp`)">
  ];
  let dependentDialects = [
    "mlir::arith::ArithDialect", "mlir::LLVM::LLVMDialect",
    "mlir::math::MathDialect", "mlir::scf::SCFDialect",
    "mlir::vector::VectorDialect"];
}

#endif // BACKPLANE_LOWER_PASSES
