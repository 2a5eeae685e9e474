// SPDX-License-Identifier: Apache-2.0
//
// A matrix unit of another vendor: another layout, no line loads, no copies of
// lines. It is a table and a function; the shared path does the rest.
#include "sdk/emit/gpu/MatrixUnit.h"
#include "sdk/emit/Emit.h"
#include "sdk/emit/common/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
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

/// m16n16k16 with these layouts of A and C.
MatrixInstruction ofHalves(FragmentLayout left, FragmentLayout sums) {
  return {.a = MatrixElement::F16,
          .b = MatrixElement::F16,
          .sum = MatrixElement::F32,
          .m = 16,
          .n = 16,
          .k = 16,
          .layoutA = left,
          .layoutB = {factorLanes, factorElements},
          .layoutC = sums};
}

/// m16n16k16 of 32 lanes, eight elements each; one op for each
/// sum, which uses all words, stands for a product.
struct OtherUnit : MatrixUnit {
  using MatrixUnit::MatrixUnit;

  ArrayRef<MatrixInstruction> instructions() const override {
    static const MatrixInstruction table[] = {
        ofHalves({factorLanes, factorElements}, {sumLanes, sumElements})};
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
func.func @product(%a: tensor<128x64xf16>, %b: tensor<64x64xf16>,
                   %out: tensor<128x64xf32>) -> tensor<128x64xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<128x64xf32>)
      -> tensor<128x64xf32>
  %c = linalg.matmul ins(%a, %b : tensor<128x64xf16>, tensor<64x64xf16>)
      outs(%f : tensor<128x64xf32>) -> tensor<128x64xf32>
  return %c : tensor<128x64xf32>
}
})";

constexpr MatrixPlace rowLanes[] = {{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}};
constexpr MatrixPlace rowElements[] = {{0, 1}, {8, 0}, {0, 8}};

/// The same, but what a lane has of sums it has of a left factor.
struct RowUnit : OtherUnit {
  using OtherUnit::OtherUnit;

  ArrayRef<MatrixInstruction> instructions() const override {
    static const MatrixInstruction table[] = {
        ofHalves({rowLanes, rowElements}, {rowLanes, rowElements})};
    return table;
  }
};

constexpr const char *kAttention = R"(
#all = affine_map<(b, m, t) -> (b, m, t)>
#row = affine_map<(b, m, t) -> (b, m)>
module attributes {bp.target = {group_threads = 128 : i64,
    shared_bytes = 49152 : i64, subgroup_sizes = array<i64: 32>,
    matrix_shapes.f16 = array<i64: 16, 16, 16>}} {
func.func @attention(%q: tensor<2x128x64xf16>, %k: tensor<2x64x96xf16>,
                     %v: tensor<2x96x32xf16>, %out: tensor<2x128x32xf32>)
    -> tensor<2x128x32xf32>
    attributes {bp.inputs = 3 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %s = tensor.empty() : tensor<2x128x96xf32>
  %r = tensor.empty() : tensor<2x128xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%s : tensor<2x128x96xf32>)
      -> tensor<2x128x96xf32>
  %x = linalg.batch_matmul
      ins(%q, %k : tensor<2x128x64xf16>, tensor<2x64x96xf16>)
      outs(%s0 : tensor<2x128x96xf32>) -> tensor<2x128x96xf32>
  %r0 = linalg.fill ins(%none : f32) outs(%r : tensor<2x128xf32>)
      -> tensor<2x128xf32>
  %top = linalg.generic {indexing_maps = [#all, #row],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x : tensor<2x128x96xf32>) outs(%r0 : tensor<2x128xf32>) {
  ^bb0(%e: f32, %o: f32):
    %m = arith.maximumf %o, %e : f32
    linalg.yield %m : f32
  } -> tensor<2x128xf32>
  %p = linalg.generic {indexing_maps = [#all, #row, #all],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %top : tensor<2x128x96xf32>, tensor<2x128xf32>)
      outs(%s : tensor<2x128x96xf32>) {
  ^bb0(%e: f32, %t: f32, %o: f32):
    %d = arith.subf %e, %t : f32
    %y = math.exp %d : f32
    linalg.yield %y : f32
  } -> tensor<2x128x96xf32>
  %r1 = linalg.fill ins(%zero : f32) outs(%r : tensor<2x128xf32>)
      -> tensor<2x128xf32>
  %sum = linalg.generic {indexing_maps = [#all, #row],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%p : tensor<2x128x96xf32>) outs(%r1 : tensor<2x128xf32>) {
  ^bb0(%e: f32, %o: f32):
    %m = arith.addf %o, %e : f32
    linalg.yield %m : f32
  } -> tensor<2x128xf32>
  %w = linalg.generic {indexing_maps = [#all, #row, #all],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%p, %sum : tensor<2x128x96xf32>, tensor<2x128xf32>)
      outs(%s : tensor<2x128x96xf32>) {
  ^bb0(%e: f32, %t: f32, %o: f32):
    %d = arith.divf %e, %t : f32
    linalg.yield %d : f32
  } -> tensor<2x128x96xf32>
  %c0 = linalg.fill ins(%zero : f32) outs(%out : tensor<2x128x32xf32>)
      -> tensor<2x128x32xf32>
  %c = linalg.batch_matmul
      ins(%w, %v : tensor<2x128x96xf32>, tensor<2x96x32xf16>)
      outs(%c0 : tensor<2x128x32xf32>) -> tensor<2x128x32xf32>
  return %c : tensor<2x128x32xf32>
}
})";

template <typename Unit>
OwningOpRef<ModuleOp> contract(MLIRContext &context, const char *text,
                               StringRef pipeline) {
  static const bool once = (registerEmitPasses(), true);
  EXPECT_TRUE(once);
  DialectRegistry registry;
  registerEmitDialects(registry);
  registry.addExtension(+[](MLIRContext *, math::MathDialect *dialect) {
    dialect->addInterfaces<Unit>();
  });
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  auto module = parseSourceString<ModuleOp>(text, &context);
  PassManager passes(&context);
  EXPECT_TRUE(module);
  EXPECT_TRUE(succeeded(parsePassPipeline(pipeline, passes)));
  EXPECT_TRUE(succeeded(passes.run(*module)));
  return module;
}

TEST(MatrixUnitTest, AnotherVendorWritesATable) {
  MLIRContext context;
  auto module = contract<OtherUnit>(
      context, kProduct, "bp-bind-buffers,bp-gpu-contract{matrix-unit=math}");
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

/// Sums that are factors stay where they are: lanes of a row exchange maxima
/// and sums, and nothing of a block but Q, K and V is in memory.
TEST(MatrixUnitTest, SumsThatAreFactorsStayInRegisters) {
  MLIRContext context;
  auto module = contract<RowUnit>(
      context, kAttention, "bp-bind-buffers,bp-gpu-contract{matrix-unit=math}");
  int64_t powers = 0, shuffles = 0, words = 0;
  scf::ForOp blocks;
  module->walk([&](gpu::ShuffleOp op) {
    ++shuffles;
    if (auto loop = op->getParentOfType<scf::ForOp>())
      blocks = loop;
  });
  module->walk(
      [&](memref::AllocOp op) { words += op.getType().getNumElements(); });
  ASSERT_TRUE(blocks);
  blocks.walk([&](math::ExpOp) { ++powers; });
  // A lane has two rows, a quarter of 64 columns of each, and what earlier sums
  // of each row are corrected by.
  constexpr int64_t rows = 2, columnsOfLane = 16, bits = 2;
  EXPECT_EQ(powers, rows * columnsOfLane + rows);
  EXPECT_EQ(shuffles, 2 * rows * bits);
  // 64 rows of Q; of K and V 64 each, twice.
  constexpr int64_t inWord = 2;
  EXPECT_EQ(words, (64 * 64 + 2 * 64 * (64 + 32)) / inWord);
}

} // namespace
