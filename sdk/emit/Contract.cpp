// SPDX-License-Identifier: Apache-2.0
//
// bp-contract: a dispatch that is one matrix product or convolution, with or
// without an elementwise op behind it, becomes packed loops around a kernel in
// registers. Other dispatches are left alone.
#include "sdk/emit/ContractEmit.h"
#include "sdk/emit/Passes.h"

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

using namespace mlir;

namespace backplane {
namespace {

struct ContractPass : PassWrapper<ContractPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ContractPass)
  ContractPass() = default;
  ContractPass(const ContractPass &other) : PassWrapper(other) {}
  StringRef getArgument() const override { return "bp-contract"; }
  StringRef getDescription() const override {
    return "matrix products and convolutions to packed loops";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<affine::AffineDialect, arith::ArithDialect,
                    bufferization::BufferizationDialect, math::MathDialect,
                    LLVM::LLVMDialect, memref::MemRefDialect, scf::SCFDialect,
                    vector::VectorDialect>();
  }
  void runOnOperation() override;

  Option<unsigned> vectorBits{*this, "vector-bits",
                              llvm::cl::desc("width of a vector register"),
                              llvm::cl::init(256)};
  Option<bool> scalable{
      *this, "scalable",
      llvm::cl::desc("vector-bits is the least width; the machine's is known "
                     "at run time"),
      llvm::cl::init(false)};
  Option<unsigned> registers{*this, "registers",
                             llvm::cl::desc("number of vector registers; 0: 32 "
                                            "of 512 bits, else 16"),
                             llvm::cl::init(0)};
  Option<std::string> intrinsics{
      *this, "intrinsics",
      llvm::cl::desc("what the names of LLVM's intrinsics for `products` begin "
                     "with: llvm.aarch64.neon, llvm.aarch64.sve")};
  ListOption<std::string> products{
      *this, "products",
      llvm::cl::desc("how the machine multiplies narrow factors: dot (bytes of "
                     "one sign), usdot (of both), mmla (blocks of those), "
                     "bfmlal, bfmmla")};
};

constexpr StringRef productNames[] = {"dot", "usdot", "mmla", "bfmlal",
                                      "bfmmla"};

} // namespace

static void contract(func::FuncOp func, unsigned vectorBits, bool scalable,
                     unsigned registers, const NarrowProducts &products) {
  std::optional<Contraction> contraction = matchContraction(func);
  if (!contraction)
    return;
  // Behind all that the results are made of, in front of what states them.
  OpBuilder builder(func.getBody().front().getTerminator());
  int64_t lanes = vectorBits / contraction->accumulator.getIntOrFloatBitWidth();
  if (!registers)
    registers = vectorBits == 512 ? 32 : 16;
  ContractEmitter(builder, *contraction, VectorWidth(lanes, scalable),
                  registers, products)
      .run();
  for (ContractionResult &result : contraction->results)
    result.op->erase();
}

void ContractPass::runOnOperation() {
  for (const std::string &name : products)
    if (!llvm::is_contained(productNames, name) || intrinsics.empty()) {
      getOperation().emitError()
          << "bp-contract has no products '" << name << "' of intrinsics '"
          << intrinsics
          << "'; take dot, usdot, mmla, bfmlal or bfmmla, and name intrinsics";
      return signalPassFailure();
    }
  for (auto func : getOperation().getOps<func::FuncOp>())
    if (func->hasAttr("bp.inputs"))
      contract(func, vectorBits, scalable, registers,
               {intrinsics, llvm::to_vector(products)});
  // The tensor form is dead now.
  OpPassManager clean("builtin.module");
  clean.addPass(createCanonicalizerPass());
  clean.addPass(createCSEPass());
  if (failed(runPipeline(clean, getOperation())))
    signalPassFailure();
}

std::unique_ptr<Pass> createContractPass() {
  return std::make_unique<ContractPass>();
}

} // namespace backplane
