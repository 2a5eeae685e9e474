// SPDX-License-Identifier: Apache-2.0
//
// bp-opt: runs passes on textual IR, for tests and for people who look at one
// stage of the compiler.
#include "sdk/dialect/Graph.h"
#include "sdk/emit/Emit.h"
#include "sdk/emit/common/Passes.h"
#include "sdk/fusion/Passes.h"
#include "sdk/kernels/Passes.h"
#include "sdk/layout/Passes.h"
#include "sdk/lower/Passes.h"
#include "sdk/optimize/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<bp::BpDialect, mlir::affine::AffineDialect,
                  mlir::arith::ArithDialect, mlir::func::FuncDialect,
                  mlir::linalg::LinalgDialect, mlir::math::MathDialect,
                  mlir::memref::MemRefDialect, mlir::scf::SCFDialect,
                  mlir::tensor::TensorDialect>();
  mlir::registerTransformsPasses();
  bp::registerOptimizePasses();
  bp::registerLayoutPasses();
  bp::registerFusionPasses();
  bp::registerKernelsPasses();
  bp::registerLowerPasses();
  backplane::registerEmitDialects(registry);
  backplane::registerEmitPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Backplane pass driver\n", registry));
}
