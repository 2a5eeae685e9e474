// SPDX-License-Identifier: Apache-2.0
//
// Which of several kernels is used, by cost, and how long matching takes.
#include "sdk/kernels/test/MatchKernelsTest.h"

#include <chrono>
#include <ctime>

using namespace mlir;
using namespace bp;
using backplane::Dim;
using backplane::Graph;
using backplane::SymbolValues;

namespace {

TEST_F(MatchKernelsTest, WithoutCostThenLeastCostThenLargest) {
  const char *model = "%x = input f32[64]\n%a = exp(%x)\n%b = sin(%a)\n"
                      "output %b";
  const char *one = "symbol n\n%x = input f32[n]\n%a = exp(%x)\noutput %a";
  const char *two = "symbol n\n%x = input f32[n]\n%a = exp(%x)\n"
                    "%b = sin(%a)\noutput %b";
  add("one version 1", one, "n");
  add("two version 1", two, "n + 2");
  EXPECT_EQ(match(model).used,
            Lines{"kernel acme.two computes exp (%a), sin (%b)"});
  add("dear version 1", two, "100 * n");
  add("cheap version 1", one, "n floordiv 8");
  EXPECT_EQ(match(model).used, Lines{"kernel acme.cheap computes exp (%a)"});
  add("preferred version 1", one);
  EXPECT_EQ(match(model).used,
            Lines{"kernel acme.preferred computes exp (%a)"});
  add("larger version 1", two);
  EXPECT_EQ(match(model).used,
            Lines{"kernel acme.larger computes exp (%a), sin (%b)"});
}

TEST_F(MatchKernelsTest, ACostIsComparedWithGeneratedCode) {
  const char *body = "symbol n\n%x = input f32[n]\n%a = exp(%x)\noutput %a";
  const char *model = "%x = input f32[64]\n%y = exp(%x)\noutput %y";
  generated_ = [](const Graph &graph, const SymbolValues &sizes, auto &) {
    return 10.0 * double(sizes.at("n")) * double(graph.ops.size());
  };
  add("dear version 1", body, "n * 10");
  KernelReport report = match(model);
  EXPECT_TRUE(report.used.empty());
  EXPECT_EQ(report.nearMisses,
            Lines{"kernel acme.dear is not used at exp (%y): it costs 640 ns, "
                  "generated code an estimated 640 ns"});
  add("cheap version 1", body, "n * 10 - 1");
  report = match(model);
  EXPECT_EQ(report.used,
            Lines{"kernel acme.cheap computes exp (%y): it costs 639 ns, "
                  "generated code an estimated 640 ns"});
  EXPECT_TRUE(report.nearMisses.empty());
}

TEST_F(MatchKernelsTest, InputsThatGeneratedCodeFusesAreTold) {
  add("sum version 1",
      "symbol m, n\n%x = input f32[m, n]\n%y = input f32[m, n]\n"
      "%s = add(%x, %y)\n%r = relu(%s)\noutput %r",
      "n");
  std::set<int32_t> seen;
  generated_ = [&](const Graph &, const SymbolValues &, auto &fused) {
    seen = fused;
    return 0.0;
  };
  const std::string model = R"(
    %a = input f32[64, 8]
    %b = input f32[8, 16]
    %y = input f32[64, 16]
    %p = matmul(%a, %b)
    %s = add(%p, %y)
    %r = relu(%s)
    )";
  match(model + "output %r");
  EXPECT_EQ(seen, (std::set<int32_t>{0}));
  // Others need the product, too.
  match(model + "%e = exp(%p)\noutput %r, %e");
  EXPECT_TRUE(seen.empty());
}

TEST_F(MatchKernelsTest, ACostMayBeAPartOfThatOfGeneratedCode) {
  generated_ = [](const Graph &, const SymbolValues &sizes, auto &) {
    return 10.0 * double(sizes.at("n"));
  };
  add("large version 1", "symbol n\n%x = input f32[n]\n%a = exp(%x)\noutput %a",
      "generated * select(less(n, 64), 12, 9) floordiv 10");
  EXPECT_EQ(match("%x = input f32[63]\n%y = exp(%x)\noutput %y").nearMisses,
            Lines{"kernel acme.large is not used at exp (%y): it costs 756 ns, "
                  "generated code an estimated 630 ns"});
  EXPECT_EQ(match("%x = input f32[64]\n%y = exp(%x)\noutput %y").used,
            Lines{"kernel acme.large computes exp (%y): it costs 576 ns, "
                  "generated code an estimated 640 ns"});
}

/// Of sizes without a limit those at 1024 count.
TEST_F(MatchKernelsTest, ACostIsThatOfTheLargestSizes) {
  generated_ = [](const Graph &, const SymbolValues &sizes, auto &) {
    return double(sizes.at("n"));
  };
  add("fixed version 1", "symbol n\n%x = input f32[n]\n%a = exp(%x)\noutput %a",
      "1000");
  EXPECT_EQ(
      match("symbol s\n%x = input f32[s]\n%y = exp(%x)\noutput %y").used,
      Lines{"kernel acme.fixed computes exp (%y): it costs 1000 ns, generated "
            "code an estimated 1024 ns"});
  EXPECT_TRUE(match("symbol s\n%x = input f32[s]\n%y = exp(%x)\noutput %y",
                    " where s <= 900")
                  .used.empty());
}

/// Sums of sums agree in many ways: they are not all tried.
TEST_F(MatchKernelsTest, ManyWaysToMatchAreLimited) {
  std::string body = "symbol n\n";
  for (int i = 0; i < 25; ++i)
    body += "%x" + std::to_string(i) + " = input f32[n]\n";
  std::string sums = "%s0 = add(%x0, %x0)\n";
  for (int i = 1; i < 25; ++i)
    sums += "%s" + std::to_string(i) + " = add(%s" + std::to_string(i - 1) +
            ", %x" + std::to_string(i) + ")\n";
  add("sums version 1 where n == 3", body + sums + "output %s24");
  auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(match(body + sums + "output %s24").used.empty());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

/// Twice the ops take about twice the time, of this process alone.
TEST_F(MatchKernelsTest, TimeInProportionToTheModel) {
  add("linear version 1", linear);
  add("pair version 1", pair);
  auto time = [&](unsigned ops) {
    Graph graph;
    backplane::ValueId x =
        graph.addInput("x", {backplane::DType::F32, {Dim(8)}});
    backplane::ValueId y = x;
    for (unsigned i = 0; i < ops; i += 2) {
      y = graph.add("exp", {y})->front();
      y = graph.add("mul", {y, x})->front();
    }
    graph.addOutput(y, "y");
    model_ = importGraph(context_, graph);
    std::clock_t start = std::clock();
    EXPECT_EQ(matchKernels(*model_, 0, patterns_).used.size(), ops / 2);
    EXPECT_TRUE(succeeded(formDispatches(*model_, FusionOptions{})));
    return std::clock() - start;
  };
  time(1000);
  auto less = time(5000), more = time(20000);
  EXPECT_LT(more, 10 * less);
}

} // namespace
