// SPDX-License-Identifier: Apache-2.0
//
// Results that others use, conditions that are not proved, and what nearly
// matches.
#include "sdk/kernels/test/MatchKernelsTest.h"

using namespace mlir;
using namespace bp;

namespace {

TEST_F(MatchKernelsTest, AValueWithinTheKernelIsNotUsedOutside) {
  add("linear version 1", linear);
  KernelReport report = match(R"(
    %x = input f32[4, 8]
    %w = input f32[8, 16]
    %b = input f32[16]
    %p = matmul(%x, %w)
    %all = broadcast(%b) {dims = [4, 16], axes = [1]}
    %s = add(%p, %all)
    %y = gelu(%s)
    %z = exp(%p)
    output %y, %z)");
  EXPECT_TRUE(report.used.empty());
  EXPECT_EQ(report.nearMisses,
            Lines{"kernel acme.linear is not used at matmul (%p): the "
                  "kernel does not return matmul (%p), which is used "
                  "by exp (%z)"});
}

TEST_F(MatchKernelsTest, TwoOutputs) {
  add("pair version 1", pair);
  KernelReport report = match(R"(
    %x = input f32[16]
    %y = input f32[16]
    %a = exp(%x)
    %n = neg(%a)
    %b = mul(%y, %a)
    %z = sub(%n, %b)
    output %z)");
  EXPECT_EQ(report.used.size(), 1u);
  auto found = dispatches();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].bindings.size(), 4u);
  EXPECT_EQ(others_, 1u);
}

TEST_F(MatchKernelsTest, NoPathLeavesTheKernelAndReturns) {
  add("pair version 1", pair);
  KernelReport report = match(R"(
    %x = input f32[16]
    %a = exp(%x)
    %n = neg(%a)
    %b = mul(%a, %n)
    output %a, %b)");
  EXPECT_TRUE(report.used.empty());
  ASSERT_EQ(report.nearMisses.size(), 1u);
  EXPECT_TRUE(has(report.nearMisses[0],
                  "the kernel would need neg (%n), which needs the "
                  "kernel's own result of exp (%a)"))
      << report.nearMisses[0];
}

/// Each alone would do, both together need each other.
TEST_F(MatchKernelsTest, TwoKernelsDoNotWaitForEachOther) {
  add("fork version 1", R"(
    symbol n
    %x = input f32[n]
    %y = input f32[n]
    %a = exp(%x)
    %b = mul(%x, %y)
    output %a, %b)");
  KernelReport report = match(R"(
    %p = input f32[16]
    %q = input f32[16]
    %a = exp(%p)
    %c = exp(%q)
    %d = mul(%p, %c)
    %b = mul(%q, %a)
    output %b, %d)");
  EXPECT_EQ(report.used.size(), 2u);
  EXPECT_EQ(dispatches().size(), 1u);
  EXPECT_TRUE(model_->lookupSymbol("acme_fork_1"));
  auto lines = (*model_)->getAttrOfType<ArrayAttr>(reportAttr);
  EXPECT_EQ(cast<StringAttr>(lines[0]).str(),
            "kernel acme.fork is not used: its ops depend on its own results");
}

TEST_F(MatchKernelsTest, ConditionsAreProvedForAllSizes) {
  add("matmul version 1 where k mod 16 == 0, n <= 128, m >= n", matmul);
  std::string body = R"(
    symbol r, s
    %x = input f32[r, s]
    %w = input f32[s, 64]
    %y = matmul(%x, %w)
    output %y)";
  EXPECT_EQ(match(body, " where r >= 64, s mod 32 == 0").used.size(), 1u);
  KernelReport report = match(body, " where r >= 64, s mod 8 == 0");
  EXPECT_EQ(report.nearMisses,
            Lines{"kernel acme.matmul is not used at matmul (%y): the "
                  "condition k mod 16 == 0 is not proved for k = s, m "
                  "= r, n = 64"});
  report = match(body, " where s mod 16 == 0");
  ASSERT_EQ(report.nearMisses.size(), 1u);
  EXPECT_TRUE(has(report.nearMisses[0], "condition m >= n is not"))
      << report.nearMisses[0];
}

TEST_F(MatchKernelsTest, NearMissesNameTheFirstDifference) {
  add(attentionHead, attention);
  KernelReport report = match(R"(
    %v = input f32[2, 9, 64]
    %k = input f32[2, 64, 9]
    %q = input f32[2, 7, 64]
    %s = matmul(%q, %k)
    %p = softmax(%s) {axis = 2}
    %o = matmul(%p, %v)
    output %o)");
  EXPECT_TRUE(report.used.empty());
  EXPECT_EQ(report.nearMisses,
            Lines{"kernel acme.attention (T = f32, with bias) is not used at "
                  "matmul (%o): its graph has transpose_b = true, matmul (%s) "
                  "has transpose_b = false"});
  // A dtype.
  std::string sum = "%x = input f32[4, 8]\n"
                    "%y = reduce(%x) {axes = [1], kind = \"sum\"}\n";
  add("sum version 1", sum + "%z = cast(%y) {dtype = i8}\noutput %z");
  report = match(sum + "%z = cast(%y) {dtype = i32}\noutput %z");
  EXPECT_EQ(report.nearMisses,
            Lines{"kernel acme.sum is not used at reduce (%y): its graph has "
                  "dtype = i8, cast (%z) has dtype = i32"});
  // An op.
  report = match(sum + "%z = exp(%y)\noutput %z");
  EXPECT_EQ(report.nearMisses,
            Lines{"kernel acme.sum is not used at reduce (%y): its graph has "
                  "cast (%z), which no user of reduce (%y) is"});
  // The first op is another one.
  EXPECT_TRUE(
      match("%x = input f32[9]\n%y = exp(%x)\noutput %y").nearMisses.empty());
}

TEST_F(MatchKernelsTest, AKernelWhoseGraphVanishesIsNamed) {
  add("copy version 1", "symbol n\n%x = input f32[n]\n"
                        "%y = transpose(%x) {permutation = [0]}\noutput %y");
  KernelReport report = match("%x = input f32[4]\n%y = exp(%x)\noutput %y");
  ASSERT_EQ(report.nearMisses.size(), 1u);
  EXPECT_TRUE(has(report.nearMisses[0], "kernel acme.copy is never used: "))
      << report.nearMisses[0];
}

} // namespace
