// SPDX-License-Identifier: Apache-2.0
//
// A matrix unit of another vendor: another layout, no line loads, no copies of
// lines. It is a table and a function; the shared path does the rest.
#include "sdk/emit/gpu/MatrixUnit.h"
#include "sdk/emit/Emit.h"
#include "sdk/emit/common/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

#include <gtest/gtest.h>

using namespace backplane;
using namespace mlir;

namespace {

constexpr MatrixPlace factorLanes[] = {{1, 0}, {2, 0}, {4, 0}, {8, 0}, {0, 8}};
constexpr MatrixPlace factorElements[] = {{0, 1}, {0, 2}, {0, 4}};
constexpr MatrixPlace sumLanes[] = {{0, 1}, {0, 2}, {0, 4}, {0, 8}, {8, 0}};
constexpr MatrixPlace sumElements[] = {{1, 0}, {2, 0}, {4, 0}};

/// m16n16k16 of 32 lanes, eight elements each; one op for each
/// sum, which uses all words, stands for a product.
struct OtherUnit : MatrixUnit {
  using MatrixUnit::MatrixUnit;

  ArrayRef<MatrixInstruction> instructions() const override {
    static const MatrixInstruction table[] = {{MatrixElement::F16,
                                               MatrixElement::F16,
                                               MatrixElement::F32,
                                               16,
                                               16,
                                               16,
                                               {factorLanes, factorElements},
                                               {factorLanes, factorElements},
                                               {sumLanes, sumElements}}};
    return table;
  }
  SmallVector<Value> multiply(ImplicitLocOpBuilder &b,
                              const MatrixInstruction &, ValueRange wordsA,
                              ValueRange wordsB,
                              ValueRange sums) const override {
    EXPECT_EQ(wordsA.size(), 4U);
    EXPECT_EQ(wordsB.size(), 4U);
    EXPECT_EQ(sums.size(), 8U);
    auto single = [&](Value word) -> Value {
      return arith::BitcastOp::create(b, b.getF32Type(), word);
    };
    SmallVector<Value> results;
    for (size_t i = 0; i < sums.size(); ++i)
      results.push_back(math::FmaOp::create(b, single(wordsA[i % 4]),
                                            single(wordsB[i / 2]), sums[i]));
    return results;
  }
};

constexpr const char *kProduct = R"(
module attributes {bp.target = {group_threads = 128 : i64,
    shared_bytes = 49152 : i64, subgroup_sizes = array<i64: 32>,
    matrix_shapes.f16 = array<i64: 16, 16, 16>}} {
func.func @product(%a: tensor<64x64xf16>, %b: tensor<64x64xf16>,
                   %out: tensor<64x64xf32>) -> tensor<64x64xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<64x64xf32>)
      -> tensor<64x64xf32>
  %c = linalg.matmul ins(%a, %b : tensor<64x64xf16>, tensor<64x64xf16>)
      outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %c : tensor<64x64xf32>
}
})";

TEST(MatrixUnitTest, AnotherVendorWritesATable) {
  static const bool once = (registerEmitPasses(), true);
  ASSERT_TRUE(once);
  DialectRegistry registry;
  registerEmitDialects(registry);
  registry.addExtension(+[](MLIRContext *, math::MathDialect *dialect) {
    dialect->addInterfaces<OtherUnit>();
  });
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  auto module = parseSourceString<ModuleOp>(kProduct, &context);
  ASSERT_TRUE(module);
  PassManager passes(&context);
  ASSERT_TRUE(succeeded(parsePassPipeline(
      "bp-bind-buffers,bp-gpu-contract{matrix-unit=math}", passes)));
  ASSERT_TRUE(succeeded(passes.run(*module)));
  // A block of 64 bytes of k is two instructions deep, and a subgroup has two
  // of them one below the other.
  int64_t results = 0, words = 0;
  module->walk([&](math::FmaOp) { ++results; });
  module->walk([&](memref::LoadOp load) {
    words += load.getMemRefType().getElementType().isInteger(32) &&
             load->getParentOfType<scf::ForOp>();
  });
  constexpr int64_t depths = 2, products = 2, sums = 8, fragmentWords = 4;
  EXPECT_EQ(results, depths * products * sums);
  // Those of two A and one B for each depth; then, of each row of instructions,
  // the four elements that an invocation finishes at once.
  constexpr int64_t finished = 4;
  EXPECT_EQ(words,
            depths * (products + 1) * fragmentWords + products * finished);
}

} // namespace
