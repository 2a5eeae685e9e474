// SPDX-License-Identifier: Apache-2.0
//
// Compiled kernels against loops written here, and the fast pipelines against
// the plain one, at sizes around every edge of the blocking.
#include "sdk/emit/test/KernelHarness.h"

#include <gtest/gtest.h>

#include <random>

using namespace backplane;
using namespace backplane::test;

namespace {

std::string matmulText(const std::string &type, bool transposed,
                       const std::string &body) {
  std::string b = transposed ? "tensor<?x?x" + type +
                                   "> {bp.dims = [\"n\", "
                                   "\"k\"]}"
                             : "tensor<?x?x" + type +
                                   "> {bp.dims = [\"k\", "
                                   "\"n\"]}";
  std::string sum = type == "f64" ? "f64" : type[0] == 'i' ? "i32" : "f32";
  std::string zero = sum == "i32" ? "0" : "0.0";
  std::string c = "tensor<?x?x" + sum + ">";
  return "func.func @matmul(%a: tensor<?x?x" + type +
         "> {bp.dims = [\"m\", \"k\"]}, %b: " + b + ", %c: " + c +
         " {bp.dims = [\"m\", \"n\"]}, %m: index, %n: index, %k: index) -> " +
         c +
         " attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64, bp.symbols "
         "= [\"m\", \"n\", \"k\"]} {\n"
         "  %zero = arith.constant " +
         zero + " : " + sum +
         "\n"
         "  %start = linalg.fill ins(%zero : " +
         sum + ") outs(%c : " + c + ") -> " + c +
         "\n"
         "  %r = linalg.generic {indexing_maps = [affine_map<(i, j, l) -> (i, "
         "l)>, affine_map<(i, j, l) -> " +
         (transposed ? "(j, l)" : "(l, j)") +
         ">, affine_map<(i, j, l) -> (i, j)>], iterator_types = [\"parallel\","
         " \"parallel\", \"reduction\"]} ins(%a, %b : tensor<?x?x" +
         type + ">, tensor<?x?x" + type + ">) outs(%start : " + c +
         ") {\n"
         "  ^bb0(%x: " +
         type + ", %y: " + type + ", %old: " + sum + "):\n" + body +
         "    linalg.yield %s : " + sum + "\n  } -> " + c +
         "\n  return %r : " + c + "\n}\n";
}

const char *kMultiplyF32 = "    %p = arith.mulf %x, %y : f32\n"
                           "    %s = arith.addf %old, %p : f32\n";
const char *kMultiplyF64 = "    %p = arith.mulf %x, %y : f64\n"
                           "    %s = arith.addf %old, %p : f64\n";
const char *kMultiplyF16 = "    %u = arith.extf %x : f16 to f32\n"
                           "    %v = arith.extf %y : f16 to f32\n"
                           "    %p = arith.mulf %u, %v : f32\n"
                           "    %s = arith.addf %old, %p : f32\n";
const char *kMultiplyI8 = "    %u = arith.extsi %x : i8 to i32\n"
                          "    %v = arith.extui %y : i8 to i32\n"
                          "    %p = arith.muli %u, %v : i32\n"
                          "    %s = arith.addi %old, %p : i32\n";

/// A product of bytes that are widened before, by ops like `extsi`.
std::string bytesText(const std::string &widenA, const std::string &widenB) {
  auto widen = [](const std::string &name, const std::string &op) {
    return "  %e" + name + " = tensor.empty(%" +
           (name == "a" ? "m, %k" : "k, %n") + ") : tensor<?x?xi32>\n  %w" +
           name +
           " = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, "
           "affine_map<(i, j) -> (i, j)>], iterator_types = [\"parallel\", "
           "\"parallel\"]} ins(%" +
           name + " : tensor<?x?xi8>) outs(%e" + name +
           " : tensor<?x?xi32>) {\n  ^bb0(%x: i8, %old: i32):\n    %y = "
           "arith." +
           op +
           " %x : i8 to i32\n    linalg.yield %y : i32\n  } -> "
           "tensor<?x?xi32>\n";
  };
  return "func.func @matmul(%a: tensor<?x?xi8> {bp.dims = [\"m\", \"k\"]}, %b: "
         "tensor<?x?xi8> {bp.dims = [\"k\", \"n\"]}, %c: tensor<?x?xi32> "
         "{bp.dims = [\"m\", \"n\"]}, %m: index, %n: index, %k: index) -> "
         "tensor<?x?xi32> attributes {bp.inputs = 2 : i64, bp.outputs = 1 : "
         "i64, bp.symbols = [\"m\", \"n\", \"k\"]} {\n" +
         widen("a", widenA) + widen("b", widenB) +
         "  %zero = arith.constant 0 : i32\n"
         "  %start = linalg.fill ins(%zero : i32) outs(%c : tensor<?x?xi32>) "
         "-> "
         "tensor<?x?xi32>\n"
         "  %r = linalg.matmul ins(%wa, %wb : tensor<?x?xi32>, "
         "tensor<?x?xi32>) outs(%start : tensor<?x?xi32>) -> "
         "tensor<?x?xi32>\n  return %r : tensor<?x?xi32>\n}\n";
}

struct Shape {
  int64_t m, n, k;
};
const Shape kShapes[] = {{0, 5, 5},    {5, 0, 3},     {3, 4, 0},
                         {1, 1, 1},    {1, 33, 7},    {2, 100, 3},
                         {13, 31, 17}, {14, 32, 640}, {15, 65, 641},
                         {300, 40, 9}, {33, 530, 20}, {64, 64, 1300}};

void fillBytes(Buffers &buffers) {
  std::mt19937 random(5);
  for (size_t i : {0, 1})
    for (uint8_t &byte : buffers.storage[i])
      byte = uint8_t(random());
}

/// Compares the fast pipeline with the plain one at each shape, on small values
/// or on any bytes.
void expectSame(const std::string &text, Isa isa, double limit,
                bool anyBytes = false) {
  auto fast = Kernel::compile(text, hostTarget(isa), fastStages(isa));
  auto plain = Kernel::compile(text, hostTarget(isa), plainStages());
  ASSERT_TRUE(fast && plain);
  for (const Shape &shape : kShapes) {
    SymbolValues symbols{{"m", shape.m}, {"n", shape.n}, {"k", shape.k}};
    Buffers a(fast->bindings(), symbols, 3), b(fast->bindings(), symbols, 3);
    if (anyBytes) {
      fillBytes(a);
      fillBytes(b);
    }
    fast->run(a.pointers(), symbols, 2);
    plain->run(b.pointers(), symbols);
    EXPECT_LE(compareOutputs(fast->bindings(), a, b, symbols), limit)
        << shape.m << " x " << shape.n << " x " << shape.k;
  }
}

class Contract : public testing::TestWithParam<Isa> {
  void SetUp() override {
    if (!hasIsa(GetParam()))
      GTEST_SKIP() << "this CPU lacks the instructions";
  }
};

} // namespace

TEST_P(Contract, F32) {
  expectSame(matmulText("f32", false, kMultiplyF32), GetParam(), 1e-4);
}
TEST_P(Contract, F32TransposedB) {
  expectSame(matmulText("f32", true, kMultiplyF32), GetParam(), 1e-4);
}
TEST_P(Contract, F64) {
  expectSame(matmulText("f64", false, kMultiplyF64), GetParam(), 1e-12);
}
TEST_P(Contract, F16) {
  expectSame(matmulText("f16", false, kMultiplyF16), GetParam(), 1e-4);
}
TEST_P(Contract, I8) {
  expectSame(matmulText("i8", false, kMultiplyI8), GetParam(), 0);
}

TEST_P(Contract, WidenedBytes) {
  for (const char *a : {"extsi", "extui"})
    for (const char *b : {"extsi", "extui"})
      expectSame(bytesText(a, b), GetParam(), 0, true);
}

namespace {

/// bytesText of 7 x 40001 x 37: few rows, an odd depth, and a B that no near
/// cache holds.
std::string fewRowsOfBytesText(const std::string &widenA,
                               const std::string &widenB) {
  auto widen = [](const std::string &name, const std::string &sizes,
                  const std::string &op) {
    std::string bytes = "tensor<" + sizes + "xi8>";
    std::string wide = "tensor<" + sizes + "xi32>";
    return "  %e" + name + " = tensor.empty() : " + wide + "\n  %w" + name +
           " = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, "
           "affine_map<(i, j) -> (i, j)>], iterator_types = [\"parallel\", "
           "\"parallel\"]} ins(%" +
           name + " : " + bytes + ") outs(%e" + name + " : " + wide +
           ") {\n  ^bb0(%x: i8, %old: i32):\n    %y = arith." + op +
           " %x : i8 to i32\n    linalg.yield %y : i32\n  } -> " + wide + "\n";
  };
  return "func.func @few(%a: tensor<7x37xi8> {bp.dims = [\"7\", \"37\"]}, %b: "
         "tensor<37x40001xi8> {bp.dims = [\"37\", \"40001\"]}, %c: "
         "tensor<7x40001xi32> {bp.dims = [\"7\", \"40001\"]}) -> "
         "tensor<7x40001xi32> attributes {bp.inputs = 2 : i64, bp.outputs = 1 "
         ": i64, bp.symbols = []} {\n" +
         widen("a", "7x37", widenA) + widen("b", "37x40001", widenB) +
         "  %zero = arith.constant 0 : i32\n"
         "  %start = linalg.fill ins(%zero : i32) outs(%c : "
         "tensor<7x40001xi32>) -> tensor<7x40001xi32>\n"
         "  %r = linalg.matmul ins(%wa, %wb : tensor<7x37xi32>, "
         "tensor<37x40001xi32>) outs(%start : tensor<7x40001xi32>) -> "
         "tensor<7x40001xi32>\n  return %r : tensor<7x40001xi32>\n}\n";
}

} // namespace

TEST_P(Contract, FewRowsOfBytes) {
  for (const char *widenA : {"extsi", "extui"})
    for (const char *widenB : {"extsi", "extui"}) {
      std::string text = fewRowsOfBytesText(widenA, widenB);
      Isa isa = GetParam();
      auto fast = Kernel::compile(text, hostTarget(isa), fastStages(isa));
      auto plain = Kernel::compile(text, hostTarget(isa), plainStages());
      ASSERT_TRUE(fast && plain);
      Buffers a(fast->bindings(), {}, 3), b(fast->bindings(), {}, 3);
      fillBytes(a);
      fillBytes(b);
      fast->run(a.pointers(), {}, 2);
      plain->run(b.pointers(), {});
      EXPECT_EQ(compareOutputs(fast->bindings(), a, b, {}), 0)
          << widenA << " " << widenB;
    }
}

INSTANTIATE_TEST_SUITE_P(Isas, Contract, testing::ValuesIn(ownIsas()));

namespace {

/// y[m, n] = x[m, at[n]].
std::string pickText() {
  return "func.func @pick(%x: tensor<?x?xf32> {bp.dims = [\"m\", \"k\"]}, %i: "
         "tensor<?xi64> {bp.dims = [\"n\"]}, %y: tensor<?x?xf32> {bp.dims = "
         "[\"m\", \"n\"]}, %m: index, %n: index, %k: index) -> "
         "tensor<?x?xf32> attributes {bp.inputs = 2 : i64, bp.outputs = 1 : "
         "i64, bp.symbols = [\"m\", \"n\", \"k\"]} {\n"
         "  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j)>, "
         "affine_map<(i, j) -> (i, j)>], iterator_types = [\"parallel\", "
         "\"parallel\"]} ins(%i : tensor<?xi64>) outs(%y : tensor<?x?xf32>) {\n"
         "  ^bb0(%p: i64, %old: f32):\n"
         "    %row = linalg.index 0 : index\n"
         "    %column = arith.index_cast %p : i64 to index\n"
         "    %e = tensor.extract %x[%row, %column] : tensor<?x?xf32>\n"
         "    linalg.yield %e : f32\n  } -> tensor<?x?xf32>\n"
         "  return %r : tensor<?x?xf32>\n}\n";
}

class Gather : public testing::TestWithParam<Isa> {};

} // namespace

TEST_P(Gather, PicksColumns) {
  if (!hasIsa(GetParam()))
    GTEST_SKIP() << "this CPU lacks the instructions";
  auto kernel = Kernel::compile(pickText(), hostTarget(GetParam()),
                                fastStages(GetParam()));
  ASSERT_TRUE(kernel);
  // Backwards, the same one, each twice, next to each other, far apart.
  for (int64_t step : {-1, 0, 1, 2, 5})
    for (const Shape &shape : {Shape{1, 1, 1}, {70, 56, 28}, {3, 37, 13}}) {
      SymbolValues symbols{{"m", shape.m}, {"n", shape.n}, {"k", shape.k}};
      Buffers buffers(kernel->bindings(), symbols, 4);
      auto *x = reinterpret_cast<const float *>(buffers.storage[0].data());
      auto *at = reinterpret_cast<int64_t *>(buffers.storage[1].data());
      auto *y = reinterpret_cast<const float *>(buffers.storage[2].data());
      for (int64_t j = 0; j < shape.n; ++j)
        at[j] = (shape.n * shape.k + j * step / 2) % shape.k;
      kernel->run(buffers.pointers(), symbols);
      for (int64_t i = 0; i < shape.m * shape.n; ++i)
        ASSERT_EQ(y[i], x[i / shape.n * shape.k + at[i % shape.n]])
            << "step " << step << " element " << i;
    }
}

INSTANTIATE_TEST_SUITE_P(Isas, Gather, testing::ValuesIn(ownIsas()));

TEST(Kernel, MatmulIsTheProduct) {
  Isa isa = hasIsa(ownIsas()[0]) ? ownIsas()[0] : ownIsas().back();
  auto kernel = Kernel::compile(matmulText("f32", false, kMultiplyF32),
                                hostTarget(isa), fastStages(isa));
  ASSERT_TRUE(kernel);
  const int64_t m = 37, n = 45, k = 83;
  SymbolValues symbols{{"m", m}, {"n", n}, {"k", k}};
  Buffers buffers(kernel->bindings(), symbols, 1);
  kernel->run(buffers.pointers(), symbols);
  auto *a = reinterpret_cast<const float *>(buffers.storage[0].data());
  auto *b = reinterpret_cast<const float *>(buffers.storage[1].data());
  auto *c = reinterpret_cast<const float *>(buffers.storage[2].data());
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < k; ++l)
        sum += double(a[i * k + l]) * double(b[l * n + j]);
      ASSERT_NEAR(c[i * n + j], sum, 1e-5) << i << ", " << j;
    }
}

TEST(Kernel, SameTextGivesSameBytes) {
  std::string text = matmulText("f32", false, kMultiplyF32);
  const Isa isa = ownIsas().back();
  auto a = Kernel::compile(text, hostTarget(isa), fastStages(isa));
  auto b = Kernel::compile(text, hostTarget(isa), fastStages(isa));
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->image(), b->image());
}
