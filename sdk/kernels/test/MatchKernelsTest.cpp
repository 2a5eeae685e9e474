// SPDX-License-Identifier: Apache-2.0
#include "sdk/kernels/test/MatchKernelsTest.h"

#include <chrono>
#include <ctime>

using namespace mlir;
using namespace bp;
using backplane::Dim;
using backplane::Graph;
using backplane::RegisteredKernel;
using backplane::SymbolValues;

namespace {

using Lines = std::vector<std::string>;

bool has(const std::string &text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

constexpr const char *matmul = R"(
  symbol m, n, k
  %a = input f32[m, k]
  %b = input f32[k, n]
  %c = matmul(%a, %b)
  output %c)";

constexpr const char *attention = R"(
  symbol b, m, n, d
  %q = input T[b, m, d]
  %k = input T[b, n, d]
  %v = input T[b, n, d]
  %bias = optional input T[d]
  %kt = transpose(%k) {permutation = [0, 2, 1]}
  %s = matmul(%q, %kt)
  %p = softmax(%s) {axis = 2}
  %o = matmul(%p, %v)
  %all = broadcast(%bias) {dims = [b, m, d], axes = [2]}
  %y = add(%o, %all)
  output %y)";
constexpr const char *attentionHead =
    "attention version 1 where T in [f32, f16], d <= 128";

TEST_F(MatchKernelsTest, OneOp) {
  add("matmul version 1", matmul);
  KernelReport report = match(R"(
    symbol batch
    %w = input f32[64, 32]
    %x = input f32[2 * batch, 64]
    %y = matmul(%x, %w)
    %z = relu(%y)
    output %z)");
  EXPECT_EQ(report.used, Lines{"kernel acme.matmul computes matmul (%y)"});
  EXPECT_TRUE(report.nearMisses.empty());
  auto found = dispatches();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kernel, kernels_[0].get());
  EXPECT_EQ(found[0].symbols,
            (std::map<std::string, Dim>{
                {"m", Dim(2) * Dim::symbol("batch")}, {"n", 32}, {"k", 64}}));
  EXPECT_EQ(found[0].bindings, (std::vector<int32_t>{0, 1, 2}));
  EXPECT_EQ(others_, 1u);
}

TEST_F(MatchKernelsTest, AttentionOfEachDTypeWithAndWithoutBias) {
  add(attentionHead, attention);
  for (std::string type : {"f32", "f16"})
    for (bool bias : {true, false}) {
      std::string body = "%v = input " + type + "[2, 9, 64]\n%k = input " +
                         type + "[2, 9, 64]\n%q = input " + type +
                         "[2, 7, 64]\n";
      if (bias)
        body += "%bias = input " + type + "[64]\n";
      body += "%kt = transpose(%k) {permutation = [0, 2, 1]}\n"
              "%s = matmul(%q, %kt)\n%p = softmax(%s) {axis = 2}\n"
              "%o = matmul(%p, %v)\n";
      if (bias)
        body += "%all = broadcast(%bias) {dims = [2, 7, 64], axes = [2]}\n"
                "%y = add(%all, %o)\n";
      KernelReport report = match(body + (bias ? "output %y" : "output %o"));
      EXPECT_EQ(report.used.size(), 1u) << type << bias;
      auto found = dispatches();
      ASSERT_EQ(found.size(), 1u) << type << bias;
      EXPECT_EQ(others_, 0u);
      EXPECT_EQ(found[0].kernel->text.graphs[found[0].graph].choice,
                "T = " + type + (bias ? ", with bias" : ", without bias"));
      EXPECT_EQ(found[0].symbols,
                (std::map<std::string, Dim>{
                    {"b", 2}, {"d", 64}, {"m", 7}, {"n", 9}}));
      func::FuncOp dispatch;
      for (auto function : model_->getOps<func::FuncOp>())
        if (function->hasAttr(kernelAttr))
          dispatch = function;
      const std::vector<int32_t> &bindings = found[0].bindings;
      ASSERT_EQ(bindings.size(), 5u);
      auto dims = [&](int32_t binding) {
        return dimsOf(dispatch.getArgumentTypes()[size_t(binding)]);
      };
      EXPECT_EQ(dims(bindings[0])[1], Dim(7));
      EXPECT_NE(bindings[1], bindings[2]);
      EXPECT_EQ(bindings[3] >= 0, bias);
      EXPECT_EQ(size_t(bindings[4]), dispatch.getNumArguments());
    }
}

constexpr const char *linear = R"(
  symbol m, n, k
  %x = input f32[m, k]
  %w = input f32[k, n]
  %b = input f32[n]
  %p = matmul(%x, %w)
  %all = broadcast(%b) {dims = [m, n], axes = [1]}
  %s = add(%p, %all)
  %y = gelu(%s)
  output %y)";

TEST_F(MatchKernelsTest, DecomposedCompositesAndCommutedOperands) {
  add("linear version 1", linear);
  KernelReport report = match(R"(
    symbol rows
    %x = input f32[rows, 8]
    %w = input f32[8, 16]
    %b = input f32[16]
    %p = matmul(%x, %w)
    %all = broadcast(%b) {dims = [rows, 16], axes = [1]}
    %s = add(%all, %p)
    %y = gelu(%s)
    output %y)");
  EXPECT_EQ(report.used.size(), 1u);
  EXPECT_EQ(dispatches().size(), 1u);
  EXPECT_EQ(others_, 0u);
}

TEST_F(MatchKernelsTest, AConstantOfOneNumberIsAScalarInput) {
  add("scaled version 1", R"(
    symbol m, n
    %x = input f32[m, n]
    %y = input f32[m, n]
    %s = input f32[]
    %p = mul(%x, %y)
    %all = broadcast(%s) {dims = [m, n], axes = []}
    %z = sub(%p, %all)
    output %z)");
  const std::string model = R"(
    symbol rows
    %a = input f32[rows, 8]
    %b = input f32[rows, 8]
    %half = constant() {value = 0.5, dtype = f32, dims = [rows, 8]}
    %p = mul(%a, %b)
    %y = sub(%p, %half)
    %q = mul(%y, %b)
    %z = sub(%q, %half)
    %u = max(%z, %half)
    output %u)";
  EXPECT_EQ(match(model).used.size(), 2u);
  auto found = dispatches();
  ASSERT_EQ(found.size(), 2u);
  for (const KernelMatch &one : found)
    EXPECT_EQ(one.bindings, (std::vector<int32_t>{1, 2, 0, 3}));
  EXPECT_EQ(others_, 2u); // the scalar, and what uses the whole constant
}

TEST_F(MatchKernelsTest, ConstantsOfModelsWithoutAMatchStay) {
  const std::string model = R"(
    %a = input f32[4]
    %half = constant() {value = 0.5, dtype = f32, dims = [4]}
    %y = sub(%a, %half)
    output %y)";
  auto text = [&] {
    EXPECT_TRUE(match(model).used.empty());
    std::string text;
    llvm::raw_string_ostream out(text);
    model_->print(out);
    return text;
  };
  const std::string before = text();
  add("scaled version 1", "symbol n\n%x = input f32[n]\n%s = input f32[]\n"
                          "%all = broadcast(%s) {dims = [n], axes = []}\n"
                          "%y = add(%x, %all)\noutput %y");
  EXPECT_EQ(text(), before);
}

TEST_F(MatchKernelsTest, SeveralAxesForTheFirst) {
  add("linear version 1 where m mod 4 == 0", linear);
  auto model = [](const std::string &axis, const std::string &bias) {
    return "symbol batch\n%x = input f32[batch, 16, 8]\n"
           "%w = input f32[8, 16]\n%b = input f32[" +
           bias +
           "]\n%p = matmul(%x, %w)\n%all = broadcast(%b) {dims = [batch, 16, "
           "16], axes = [" +
           axis + "]}\n%s = add(%all, %p)\n%y = gelu(%s)\noutput %y";
  };
  EXPECT_EQ(match(model("2", "16")).used.size(), 1u);
  auto found = dispatches();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].symbols.at("m"), Dim(16) * Dim::symbol("batch"));
  EXPECT_EQ(found[0].symbols.at("n"), Dim(16));
  EXPECT_EQ(found[0].bindings.size(), 4u);
  // A bias for each row is another graph.
  EXPECT_TRUE(match(model("1", "16")).used.empty());
}

TEST_F(MatchKernelsTest, ManyMatchesShareConstants) {
  add("linear version 1", linear);
  std::string body = "symbol rows\n%w = input f32[8, 8]\n%b = input f32[8]\n"
                     "%y0 = input f32[rows, 8]\n"
                     "%all = broadcast(%b) {dims = [rows, 8], axes = [1]}\n";
  for (int i = 0; i < 20; ++i) {
    std::string n = std::to_string(i), next = std::to_string(i + 1);
    body += "%p" + n + " = matmul(%y" + n + ", %w)\n%s" + n + " = add(%p" + n +
            ", %all)\n%y" + next + " = gelu(%s" + n + ")\n";
  }
  EXPECT_EQ(match(body + "output %y20").used.size(), 20u);
  auto found = dispatches();
  EXPECT_EQ(found.size(), 20u);
  EXPECT_EQ(others_, 0u);
  for (const KernelMatch &match : found)
    EXPECT_EQ(match.bindings.size(), 4u);
}

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

constexpr const char *pair = R"(
  symbol n
  %x = input f32[n]
  %y = input f32[n]
  %a = exp(%x)
  %b = mul(%a, %y)
  output %a, %b)";

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

TEST_F(MatchKernelsTest, ASizeThatIsAnExpression) {
  add("join version 1", R"(
    symbol m, n
    %x = input f32[m]
    %y = input f32[n]
    %j = concat(%x, %y) {axis = 0}
    %z = exp(%j)
    output %z)");
  KernelReport report = match(R"(
    symbol s
    %x = input f32[s]
    %y = input f32[2 * s + 1]
    %j = concat(%x, %y) {axis = 0}
    %z = exp(%j)
    output %z)");
  EXPECT_EQ(report.used.size(), 1u);
  auto found = dispatches();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].symbols.at("n"), Dim(2) * Dim::symbol("s") + Dim(1));
}

TEST_F(MatchKernelsTest, OneValueForTwoInputs) {
  add("square version 1",
      "symbol n\n%x = input f32[n]\n%y = input f32[n]\n%z = mul(%x, %y)\n"
      "output %z");
  match("%x = input f32[4]\n%z = mul(%x, %x)\noutput %z");
  auto found = dispatches();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].bindings, (std::vector<int32_t>{0, 0, 1}));
}

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

TEST_F(MatchKernelsTest, OnlyOpsOfTheDevice) {
  add("exp version 1", "symbol n\n%x = input f32[n]\n%a = exp(%x)\noutput %a");
  match("%x = input f32[64]\n%a = exp(%x)\n%b = exp(%a)\noutput %b");
  for (Operation &op : model_->lookupSymbol<func::FuncOp>("main").front())
    op.removeAttr(kernelAttr);
  auto main = model_->lookupSymbol<func::FuncOp>("main");
  (*main.getOps<ExpOp>().begin())
      ->setAttr(deviceAttr, Builder(&context_).getI64IntegerAttr(1));
  EXPECT_EQ(matchKernels(*model_, 0, patterns_).used,
            Lines{"kernel acme.exp computes exp (%b)"});
  EXPECT_EQ(matchKernels(*model_, 1, patterns_).used,
            Lines{"kernel acme.exp computes exp (%a)"});
}

TEST_F(MatchKernelsTest, AKernelWhoseGraphVanishesIsNamed) {
  add("copy version 1", "symbol n\n%x = input f32[n]\n"
                        "%y = transpose(%x) {permutation = [0]}\noutput %y");
  KernelReport report = match("%x = input f32[4]\n%y = exp(%x)\noutput %y");
  ASSERT_EQ(report.nearMisses.size(), 1u);
  EXPECT_TRUE(has(report.nearMisses[0], "kernel acme.copy is never used: "))
      << report.nearMisses[0];
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
