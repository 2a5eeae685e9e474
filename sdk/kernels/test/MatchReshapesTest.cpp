// SPDX-License-Identifier: Apache-2.0
//
// Kernels are found where a model has reshapes between their ops.
#include "sdk/kernels/test/MatchKernelsTest.h"

using namespace bp;
using backplane::Dim;

namespace {

/// linear with a residual and the maximum of each row.
constexpr const char *residual = R"(
  symbol m, n, k
  %x = input f32[m, k]
  %w = input f32[k, n]
  %b = input f32[n]
  %r = input f32[m, n]
  %p = matmul(%x, %w)
  %all = broadcast(%b) {dims = [m, n], axes = [1]}
  %s = add(%p, %all)
  %y = add(%s, %r)
  %top = reduce(%y) {kind = "max", axes = [1]}
  %tops = broadcast(%top) {dims = [m, n], axes = [0]}
  %z = sub(%y, %tops)
  output %z)";

using MatchReshapesTest = MatchKernelsTest;

/// `reshape` stands for what makes `%q` of `%p`, `axis` for that of the bias.
std::string reshapedModel(const std::string &reshape, const std::string &dims,
                          const std::string &axes, const std::string &end) {
  return "symbol batch\n%x = input f32[batch*6, 8]\n"
         "%w = input f32[8, 16]\n%b = input f32[16]\n%r = input f32[" +
         dims + "]\n%p = matmul(%x, %w)\n" + reshape +
         "%all = broadcast(%b) {dims = [" + dims + "], axes = [" + axes +
         "]}\n%s = add(%all, %q)\n%y = add(%s, %r)\n" + end;
}

TEST_F(MatchReshapesTest, ThroughReshapes) {
  add("residual version 1", residual);
  const std::string split = "%q = reshape(%p) {dims = [batch, 2, 3, 16]}\n";
  const std::string rows = R"(
    %top = reduce(%y) {kind = "max", axes = [3]}
    %tops = broadcast(%top) {dims = [batch, 2, 3, 16], axes = [0, 1, 2]}
    %z = sub(%y, %tops)
    output %z)";
  KernelReport report =
      match(reshapedModel(split, "batch, 2, 3, 16", "3", rows));
  EXPECT_EQ(report.used.size(), 1u)
      << testing::PrintToString(report.nearMisses);
  auto found = dispatches();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].symbols.at("m"), Dim(6) * Dim::symbol("batch"));
  EXPECT_EQ(others_, 0u);
  for (size_t i = 0; i < found[0].bindings.size(); ++i)
    EXPECT_GE(found[0].bindings[i], 0) << i;
}

TEST_F(MatchReshapesTest, ThroughReshapesThatOthersUse) {
  add("residual version 1", residual);
  // A reshape before the end, whose result others use, is copied.
  KernelReport report = match(R"(
    symbol batch
    %x = input f32[batch*6, 8]
    %w = input f32[8, 16]
    %b = input f32[16]
    %r = input f32[batch, 6, 16]
    %flat = reshape(%r) {dims = [batch*6, 16]}
    %p = matmul(%x, %w)
    %all = broadcast(%b) {dims = [batch*6, 16], axes = [1]}
    %s = add(%all, %p)
    %y = add(%s, %flat)
    %whole = reshape(%y) {dims = [batch, 6, 16]}
    %top = reduce(%whole) {kind = "max", axes = [2]}
    %tops = broadcast(%top) {dims = [batch, 6, 16], axes = [0, 1]}
    %z = sub(%whole, %tops)
    %e = exp(%r)
    output %z, %e)");
  EXPECT_EQ(report.used.size(), 1u)
      << testing::PrintToString(report.nearMisses);
  EXPECT_EQ(dispatches().size(), 1u);
  EXPECT_EQ(others_, 1u); // exp
}

TEST_F(MatchReshapesTest, AnInputInTwoShapes) {
  add("gate version 1", R"(
    symbol m, n
    %x = input f32[m, n]
    %w = input f32[n, n]
    %p = matmul(%x, %w)
    %y = mul(%p, %x)
    output %y)");
  KernelReport report = match(R"(
    symbol batch
    %x = input f32[batch, 6, 16]
    %w = input f32[16, 16]
    %flat = reshape(%x) {dims = [batch*6, 16]}
    %p = matmul(%flat, %w)
    %whole = reshape(%p) {dims = [batch, 6, 16]}
    %y = mul(%x, %whole)
    output %y)");
  EXPECT_EQ(report.used.size(), 1u)
      << testing::PrintToString(report.nearMisses);
  auto found = dispatches();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].bindings, (std::vector<int32_t>{0, 1, 2}));
  EXPECT_EQ(others_, 0u);
}

TEST_F(MatchReshapesTest, NotThroughReshapesThatMix) {
  add("residual version 1", residual);
  const std::string rows = R"(
    %top = reduce(%y) {kind = "max", axes = [AXIS]}
    %tops = broadcast(%top) {dims = [batch, 6, 4, 4], axes = [0, 1, 2]}
    %z = sub(%y, %tops)
    output %z)";
  // A maximum over a part of a row.
  std::string end = rows;
  end.replace(end.find("AXIS"), 4, "3");
  std::string model =
      reshapedModel("%q = reshape(%p) {dims = [batch, 6, 4, 4]}\n"
                    "%b4 = reshape(%b) {dims = [4, 4]}\n",
                    "batch, 6, 4, 4", "2, 3", end);
  model.replace(model.find("broadcast(%b)"), 13, "broadcast(%b4)");
  EXPECT_TRUE(match(model).used.empty());
  // A bias for each of some columns in another order.
  EXPECT_TRUE(match(reshapedModel("%q = reshape(%p) {dims = [batch, 16, 6]}\n",
                                  "batch, 16, 6", "1", R"(
    %top = reduce(%y) {kind = "max", axes = [2]}
    %tops = broadcast(%top) {dims = [batch, 16, 6], axes = [0, 1]}
    %z = sub(%y, %tops)
    output %z)"))
                  .used.empty());
}

TEST_F(MatchReshapesTest, AReshapeWithinTheKernelIsNotUsedOutside) {
  add("residual version 1", residual);
  KernelReport report = match(reshapedModel(
      "%q = reshape(%p) {dims = [batch, 6, 16]}\n", "batch, 6, 16", "2", R"(
    %top = reduce(%y) {kind = "max", axes = [2]}
    %tops = broadcast(%top) {dims = [batch, 6, 16], axes = [0, 1]}
    %z = sub(%y, %tops)
    %e = exp(%q)
    output %z, %e)"));
  EXPECT_TRUE(report.used.empty());
  ASSERT_EQ(report.nearMisses.size(), 1u);
  EXPECT_NE(report.nearMisses[0].find("the kernel does not return matmul"),
            std::string::npos)
      << report.nearMisses[0];
}

TEST_F(MatchReshapesTest, ThroughTheCastsOfASoftmax) {
  add("attention version 1 where T in [f32, f16]", R"(
    symbol b, m, n, d
    %q = input T[b, m, d]
    %k = input T[b, d, n]
    %v = input T[b, n, d]
    %s = matmul(%q, %k)
    %p = softmax(%s) {axis = 2}
    %y = matmul(%p, %v)
    output %y)");
  KernelReport report = match(R"(
    symbol batch, seq
    %q = input f16[batch, seq, 64]
    %k = input f16[batch, 64, seq]
    %v = input f16[batch, seq, 64]
    %s = matmul(%q, %k)
    %w = cast(%s) {dtype = f32}
    %p = softmax(%w) {axis = 2}
    %h = cast(%p) {dtype = f16}
    %y = matmul(%h, %v)
    output %y)");
  EXPECT_EQ(report.used.size(), 1u)
      << testing::PrintToString(report.nearMisses);
}

} // namespace
