// SPDX-License-Identifier: Apache-2.0
#include "sdk/kernels/RegisteredKernel.h"
#include "sdk/support/Element.h"

#include <gtest/gtest.h>

using namespace backplane;

namespace {

constexpr const char *attention = R"(// scaled by the caller
kernel attention version 3
where T in [f32, f16], d <= 128, d mod 8 == 0, m <= n
{
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
  output %y
}
)";

Status failureOf(std::string_view text) {
  auto kernel = parseKernelText(text);
  EXPECT_FALSE(kernel) << text;
  return kernel.status();
}

/// The failure of a body of which only this part is of interest.
std::string messageOf(const std::string &body, const std::string &where = "") {
  return failureOf("kernel k version 1" + where + "\n{\n" + body + "\n}")
      .message();
}

TEST(KernelTextTest, DeclaresBindingsSymbolsAndConditions) {
  auto kernel = parseKernelText(attention);
  ASSERT_TRUE(kernel) << kernel.message();
  EXPECT_EQ(kernel->name, "attention");
  EXPECT_EQ(kernel->version, 3u);
  EXPECT_EQ(kernel->bindings,
            (std::vector<std::string>{"q", "k", "v", "bias", "y"}));
  EXPECT_EQ(kernel->inputCount, 4u);
  EXPECT_EQ(
      kernel->symbols,
      (std::vector<Symbol>{
          {"b"}, {"m"}, {"n"}, {.name = "d", .maximum = 128, .divisor = 8}}));
  ASSERT_EQ(kernel->where.size(), 3u);
  EXPECT_EQ(kernel->where[2].text, "m <= n");
  auto holds = [&](int64_t m, int64_t n) {
    return *kernel->where[2].holds.evaluate({{"m", m}, {"n", n}});
  };
  EXPECT_EQ(holds(3, 3), 1);
  EXPECT_EQ(holds(4, 3), 0);
}

TEST(KernelTextTest, ExpandsToAGraphForEachChoice) {
  auto kernel = parseKernelText(attention);
  ASSERT_TRUE(kernel) << kernel.message();
  ASSERT_EQ(kernel->graphs.size(), 4u);
  const KernelGraph &with = kernel->graphs[0], &without = kernel->graphs[3];
  EXPECT_EQ(with.choice, "T = f32, with bias");
  EXPECT_EQ(with.bindings, (std::vector<int32_t>{0, 1, 2, 3, 0}));
  EXPECT_EQ(with.graph.ops.size(), 6u);
  EXPECT_EQ(without.choice, "T = f16, without bias");
  EXPECT_EQ(without.bindings, (std::vector<int32_t>{0, 1, 2, -1, 0}));
  ASSERT_EQ(without.graph.ops.size(), 4u);
  EXPECT_EQ(without.graph.ops.back().name, "matmul");
  EXPECT_EQ(without.graph.type(without.graph.outputs[0].value).str(),
            "f16[b, m, d]");
  for (const KernelGraph &graph : kernel->graphs)
    EXPECT_TRUE(graph.graph.verify().ok());
}

TEST(KernelTextTest, NumbersTakeTheDTypeOfTheChoice) {
  auto kernel = parseKernelText(R"(kernel k version 1 where T in [f32, f16] {
    symbol n
    %x = input T[n]
    %half = constant() {value = 0.5, dtype = T, dims = [n]}
    %y = mul(%x, %half)
    output %y
  })");
  ASSERT_TRUE(kernel) << kernel.message();
  for (size_t i : {0, 1}) {
    const Graph &graph = kernel->graphs[i].graph;
    EXPECT_EQ(*graph.ops[0].bytes("value"),
              encodeElement(i ? DType::F16 : DType::F32, 0.5));
  }
}

TEST(KernelTextTest, SeveralResultsAndOutputs) {
  auto kernel = parseKernelText(R"(kernel top version 1 {
    symbol n
    %x = input f32[n]
    %values, %indices = top_k(%x) {k = [1], axis = 0}
    %twice = add(%values, %values)
    output %indices, %twice
  })");
  ASSERT_TRUE(kernel) << kernel.message();
  EXPECT_EQ(kernel->bindings,
            (std::vector<std::string>{"x", "indices", "twice"}));
  EXPECT_EQ(kernel->graphs[0].choice, "");
  EXPECT_EQ(kernel->graphs[0].bindings, (std::vector<int32_t>{0, 0, 1}));
}

TEST(KernelTextTest, BoundsOfSymbols) {
  auto kernel = parseKernelText(
      "kernel k version 1 where 2 < m, m < 9, n == 4, k >= m {\n"
      "symbol m, n, k\n%x = input f32[m, n, k]\n%y = relu(%x)\noutput %y\n}");
  ASSERT_TRUE(kernel) << kernel.message();
  EXPECT_EQ(kernel->symbols,
            (std::vector<Symbol>{{"m", 3, 8}, {"n", 4, 4}, {"k"}}));
  EXPECT_EQ(kernel->where.size(), 4u);
}

TEST(KernelTextTest, ErrorsNameLineColumnAndWhatWasFound) {
  EXPECT_EQ(failureOf("").message(),
            "line 1, column 1: expected kernel, found the end");
  EXPECT_EQ(failureOf("kernel 1x").message(),
            "line 1, column 8: expected a letter or _, then letters, digits "
            "and _, at most 64, found \"1x\"");
  EXPECT_EQ(failureOf("kernel k version 0 {}").message(),
            "line 1, column 18: expected a version from 1 to 4294967295");
  EXPECT_EQ(messageOf("  %x = input f33[4]"),
            "line 3, column 14: expected a dtype or a variable for one, found "
            "\"f33\"");
  EXPECT_EQ(messageOf("%x = input f32[4]\n%y = rleu(%x)"),
            "line 4, column 6: no op has the name \"rleu\"");
  EXPECT_EQ(messageOf("%x = input f32[4]\n%y = relu(%z)"),
            "line 4, column 11: %z is not defined before this");
  EXPECT_EQ(messageOf("%x = input f32[n]\n%y = relu(%x)\noutput %y"),
            "line 3, column 16: the symbol n is not declared");
  EXPECT_EQ(messageOf("%x = input f32[4]\n%y = relu(%x) {axis = 1}"),
            "line 4, column 16: relu has no attribute axis, it has none");
  EXPECT_EQ(messageOf("%x = input f32[4]\n%y = softmax(%x) {axis = 1}\n"
                      "output %y"),
            "line 4, column 6: softmax C1: axis is below the rank, found axis "
            "1 of rank 1");
}

TEST(KernelTextTest, RefusesWhatIsNoFunctionOfItsInputs) {
  EXPECT_EQ(messageOf("%w = weight() {id = \"0\", dtype = f32, dims = [4]}"),
            "line 3, column 6: a kernel is a function of its inputs, weight is "
            "not");
  EXPECT_NE(messageOf("%w = variable_read() {name = \"a\"}").find("is not"),
            std::string::npos);
}

TEST(KernelTextTest, RefusesNamesThatAreTakenOrUnused) {
  EXPECT_EQ(messageOf("symbol n, n"),
            "line 3, column 11: the name \"n\" is taken");
  EXPECT_EQ(messageOf("symbol T", " where T in [f32]"),
            "line 3, column 8: the name \"T\" is taken");
  EXPECT_EQ(messageOf("symbol mod"),
            "line 3, column 8: \"mod\" cannot name a symbol");
  EXPECT_EQ(messageOf("%x = input f32[4]\n%x = relu(%x)\noutput %x"),
            "line 4, column 1: %x is defined twice");
  EXPECT_EQ(messageOf("%x = input f32[4]\n%z = input f32[4]\n"
                      "%y = relu(%x)\noutput %y"),
            "line 4, column 1: %z is never used");
  EXPECT_EQ(messageOf("%x = input f32[4]\noutput %x"),
            "line 4, column 8: an input is no output");
  EXPECT_EQ(messageOf("%x = input f32[4]\n%y = relu(%x)\noutput %y, %y"),
            "line 5, column 12: this value is an output already");
}

TEST(KernelTextTest, AnOpWithoutItsOptionalInputIsLeftOutOnlyWhereThatIsPlain) {
  EXPECT_EQ(messageOf("%x = input f32[4, 4]\n%w = optional input f32[4, 4]\n"
                      "%y = matmul(%x, %w)\noutput %y"),
            "line 5, column 6: matmul cannot be left out, without w");
  EXPECT_EQ(messageOf("%x = input f32[4]\n%w = optional input f32[4]\n"
                      "%y = sub(%w, %x)\noutput %y"),
            "line 5, column 6: sub cannot be left out, without w");
  EXPECT_EQ(messageOf("%x = input f32[4]\n%w = optional input f32[4]\n"
                      "%y = sub(%x, %w)\noutput %y"),
            "line 6, column 8: the output is an input, without w");
}

TEST(KernelTextTest, RefusesConditionsThatNothingMeets) {
  std::string body = "symbol n\n%x = input f32[n]\n%y = relu(%x)\noutput %y";
  EXPECT_EQ(messageOf(body, " where 1 == 2"),
            "line 1, column 26: the condition never holds");
  EXPECT_EQ(messageOf(body, " where n > 4, n < 5"),
            "line 1, column 33: no size of n is left");
  EXPECT_EQ(messageOf(body, " where n"),
            "line 2, column 1: expected ==, !=, <, <=, > or >=, found \"{\"");
  EXPECT_EQ(messageOf(body, " where T in [f32, f32]"),
            "line 1, column 37: expected dtypes that differ");
  EXPECT_EQ(messageOf(body, " where n + == 2").substr(0, 26),
            "line 1, column 26: dim \"n ");
}

TEST(KernelTextTest, RefusesMoreThanItsLimits) {
  EXPECT_EQ(failureOf(std::string(65537, ' ')).message(),
            "the text of a kernel has 65537 bytes, the limit is 65536");
  std::string optional, sum = "%s0 = relu(%x)\n";
  for (int i = 0; i < 7; ++i) {
    std::string n = std::to_string(i), next = std::to_string(i + 1);
    optional += "%i" + n + " = optional input f32[4]\n";
    sum += "%s" + next + " = add(%s" + n + ", %i" + n + ")\n";
  }
  EXPECT_EQ(messageOf("%x = input f32[4]\n" + optional + sum + "output %s7"),
            "the variables and optional inputs allow more than 64 choices; "
            "register several kernels");
  std::string chain = "%v0 = input f32[4]\n";
  for (int i = 0; i < 257; ++i)
    chain +=
        "%v" + std::to_string(i + 1) + " = neg(%v" + std::to_string(i) + ")\n";
  EXPECT_EQ(messageOf(chain + "output %v257"),
            "line 260, column 1: expected at most 256 ops");
  std::string symbols = "symbol s";
  for (int i = 0; i < 32; ++i)
    symbols += ", s" + std::to_string(i);
  EXPECT_NE(messageOf(symbols).find("expected at most 32 symbols"),
            std::string::npos);
  std::string dims = "%x = input f32[1";
  for (int i = 0; i < 16; ++i)
    dims += ", 1";
  EXPECT_NE(messageOf(dims + "]").find("expected at most 16 dims"),
            std::string::npos);
}

TEST(KernelTextTest, CostsUseWhatTheTextHas) {
  auto costOf = [](const char *symbol, const std::string &cost) {
    auto text = parseKernelText(std::string("kernel neg version 1 { symbol ") +
                                symbol + "\n%x = input f32[" + symbol +
                                "]\n%y = neg(%x)\noutput %y }");
    EXPECT_TRUE(text) << text.status().message();
    return std::string(checkCost(*text, cost).message());
  };
  EXPECT_EQ(costOf("n", ""), "");
  EXPECT_EQ(costOf("n", "generated * n floordiv 2 + has_x"), "");
  EXPECT_NE(costOf("n", "n * rows").find("uses symbol 'rows'"),
            std::string::npos);
  EXPECT_NE(costOf("n", "n +"), "");
  EXPECT_NE(costOf("generated", "7").find("give it another name"),
            std::string::npos);
}

/// Each start of a good text, and each text with one byte changed, is read or
/// refused.
TEST(KernelTextTest, SurvivesDamage) {
  std::string text = attention;
  for (size_t i = 0; i < text.size(); ++i) {
    EXPECT_FALSE(parseKernelText(text.substr(0, i)) && i + 2 < text.size());
    for (char c : {'\0', '\xff', '(', ']', '%', '9', '"', '-', '\n'}) {
      std::string damaged = text;
      damaged[i] = c;
      if (auto kernel = parseKernelText(damaged); !kernel)
        EXPECT_NE(kernel.message(), "");
    }
  }
}

} // namespace
