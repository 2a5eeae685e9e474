// SPDX-License-Identifier: Apache-2.0
//
// bp-opt: runs passes on textual IR, for tests and for people who look at one
// stage of the compiler.
#include "sdk/dialect/Graph.h"
#include "sdk/emit/Emit.h"
#include "sdk/emit/Passes.h"
#include "sdk/fusion/Passes.h"
#include "sdk/lower/Passes.h"
#include "sdk/optimize/Passes.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<bp::BpDialect, mlir::func::FuncDialect>();
  backplane::registerEmitDialects(registry);
  mlir::registerTransformsPasses();
  bp::registerOptimizePasses();
  bp::registerFusionPasses();
  backplane::registerLowerPasses();
  backplane::registerEmitPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Backplane pass driver\n", registry));
}
