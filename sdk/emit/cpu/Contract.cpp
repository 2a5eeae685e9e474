// SPDX-License-Identifier: Apache-2.0
//
// bp-contract: a dispatch that is one matrix product or convolution, with or
// without an elementwise op behind it, becomes packed loops around a kernel in
// registers. Other dispatches are left alone.
#include "sdk/dialect/Attributes.h"
#include "sdk/emit/common/CodePaths.h"
#include "sdk/emit/common/Passes.h"
#include "sdk/emit/common/TargetProperties.h"
#include "sdk/emit/cpu/Attention.h"
#include "sdk/emit/cpu/ContractEmit.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"

namespace backplane {
#define GEN_PASS_DEF_CONTRACTPASS
#include "sdk/emit/common/Passes.h.inc"
} // namespace backplane

using namespace mlir;

namespace backplane {
namespace {

struct ContractPass : backplane::impl::ContractPassBase<ContractPass> {
  using ContractPassBase::ContractPassBase;
  void runOnOperation() override;
  FailureOr<ContractMachine> readMachine();
};

constexpr StringRef productNames[] = {"dot",    "usdot",  "mmla",
                                      "bfmlal", "bfmmla", "dpbusd",
                                      "dpwssd", "pmadd",  "tdpb"};

} // namespace

/// Whether the dispatch is an attention, which it was then.
static bool contractAttention(func::FuncOp func, unsigned vectorBits,
                              ContractMachine machine) {
  OpBuilder builder(func.getBody().front().getTerminator());
  machine.width.count = vectorBits / 32;
  VectorBuilder lanes(builder, func.getLoc(), machine.width);
  std::optional<Attention> attention = matchAttention(lanes, func);
  if (!attention)
    return false;
  tellPath(func.getLoc(), path::attention);
  emitAttention(lanes, *attention, machine);
  attention->product.results.front().op->erase();
  return true;
}

static void contract(func::FuncOp func, unsigned vectorBits,
                     ContractMachine machine) {
  if (contractAttention(func, vectorBits, machine))
    return;
  std::optional<Contraction> contraction = matchContraction(func);
  if (!contraction)
    return;
  // Behind all that the results are made of, in front of what states them.
  OpBuilder builder(func.getBody().front().getTerminator());
  machine.width.count =
      vectorBits / contraction->accumulator.getIntOrFloatBitWidth();
  emitContraction(builder, *contraction, machine);
  for (ContractionResult &result : contraction->results)
    result.op->erase();
}

/// What options do not say is what the target has.
FailureOr<ContractMachine> ContractPass::readMachine() {
  ContractMachine machine = {
      .width = VectorWidth(1, scalable),
      .registers = vectorBits == 512 ? 32 : 16,
      .products = {intrinsics, llvm::to_vector(products)}};
  TargetProperties properties(getOperation());
  if (failed(properties.read("registers", machine.registers)) ||
      failed(properties.read("cache_bytes.2", machine.cacheBytes)))
    return failure();
  if (registers)
    machine.registers = registers;
  return machine;
}

void ContractPass::runOnOperation() {
  for (const std::string &name : products)
    if (!llvm::is_contained(productNames, name) || intrinsics.empty()) {
      getOperation().emitError()
          << "bp-contract has no products '" << name << "' of intrinsics '"
          << intrinsics << "'; take "
          << llvm::join(ArrayRef<StringRef>(productNames), ", ")
          << ", and name intrinsics";
      return signalPassFailure();
    }
  FailureOr<ContractMachine> machine = readMachine();
  if (failed(machine))
    return signalPassFailure();
  for (auto func : getOperation().getOps<func::FuncOp>())
    if (func->hasAttr(bp::inputsAttr))
      contract(func, vectorBits, *machine);
  // The tensor form is dead now.
  OpPassManager clean("builtin.module");
  clean.addPass(createCanonicalizerPass());
  clean.addPass(createCSEPass());
  if (failed(runPipeline(clean, getOperation())))
    signalPassFailure();
}

} // namespace backplane
