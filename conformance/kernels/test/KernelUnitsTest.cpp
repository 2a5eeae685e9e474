// SPDX-License-Identifier: Apache-2.0
#include "conformance/kernels/KernelUnits.h"
#include "conformance/kernels/GraphRules.h"
#include "conformance/kernels/KernelDomain.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace backplane;
using namespace backplane::conformance;

namespace {

JudgedKernel kernelOf(const std::string &text, uint64_t weights = 0) {
  return {"acme", "1.0.0", {text}, weights};
}

std::vector<Unit> unitsOf(const std::string &text, uint64_t weights = 0,
                          Selection selection = {Depth::Smoke}) {
  auto units = kernelUnits(kernelOf(text, weights), selection);
  EXPECT_TRUE(units.ok()) << units.message();
  return units ? std::move(*units) : std::vector<Unit>();
}

constexpr const char *linearText = R"(kernel linear version 1
where T in [f32, f16], n mod 8 == 0, k <= 300, k >= 5
{
  symbol m, k, n
  %x = input T[m, k]
  %w = input T[k, n]
  %b = optional input T[n]
  %s = matmul(%x, %w)
  %all = broadcast(%b) {dims = [m, n], axes = [1]}
  %y = add(%s, %all)
  output %y
})";

std::set<int64_t> sizesOf(const std::vector<Unit> &units,
                          const std::string &symbol) {
  std::set<int64_t> sizes;
  for (const Unit &unit : units)
    for (const Case &testCase : unit.cases)
      if (auto at = testCase.symbols.find(symbol); at != testCase.symbols.end())
        sizes.insert(at->second);
  return sizes;
}

TEST(KernelUnits, AreOneForEachChoice) {
  std::vector<Unit> units = unitsOf(linearText);
  std::vector<std::string> ids;
  for (const Unit &unit : units)
    ids.push_back(unit.id);
  EXPECT_EQ(ids,
            (std::vector<std::string>{"L8/acme.linear/f32/T=f32+with-b",
                                      "L8/acme.linear/f16/T=f16+with-b",
                                      "L8/acme.linear/f32/T=f32+without-b",
                                      "L8/acme.linear/f16/T=f16+without-b"}));
  EXPECT_EQ(units[0].kernel, "acme.linear");
  EXPECT_EQ(units[0].layer, 8);
  EXPECT_EQ(units[0].rules.size(), 3u);
  EXPECT_EQ(units[2].rules.size(), 2u);
}

TEST(KernelUnits, HaveTheEdgesOfTheDomain) {
  std::vector<Unit> units = unitsOf(linearText);
  std::set<int64_t> k = sizesOf(units, "k"), m = sizesOf(units, "m"),
                    n = sizesOf(units, "n");
  for (int64_t size : {5, 6, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127,
                       128, 129, 299, 300})
    EXPECT_TRUE(k.contains(size)) << size;
  EXPECT_EQ(*k.begin(), 5);
  EXPECT_EQ(*k.rbegin(), 300);
  for (int64_t size : {0, 1, 2, 3, 7, 15, 16, 17, 65})
    EXPECT_TRUE(m.contains(size)) << size;
  for (int64_t size : {0, 8, 16, 24, 64, 72})
    EXPECT_TRUE(n.contains(size)) << size;
  for (int64_t size : n)
    EXPECT_EQ(size % 8, 0);
}

constexpr const char *boxText = R"(kernel box version 1
{
  symbol a, b, c, d
  %x = input f32[a, b, c, d]
  %y = relu(%x)
  output %y
})";

/// Kernels divide their work where one size is large.
TEST(KernelUnits, HaveOneLargeSizeOfEachSymbol) {
  std::vector<Unit> units = unitsOf(boxText);
  for (const char *symbol : {"a", "b", "c", "d"})
    EXPECT_GT(*sizesOf(units, symbol).rbegin(), 1 << 13) << symbol;
}

/// What is kept for the sizes of a call must not serve others.
TEST(KernelUnits, HavePairsThatDifferInOneSymbol) {
  std::vector<SymbolValues> tuples;
  for (const Unit &unit : unitsOf(boxText))
    for (const Case &testCase : unit.cases)
      if (std::ranges::all_of(testCase.symbols, [](const auto &each) {
            return each.second > 0 && each.second < 64;
          }))
        tuples.push_back(testCase.symbols);
  std::set<std::string> differing;
  for (const SymbolValues &one : tuples)
    for (const SymbolValues &other : tuples) {
      std::vector<std::string> names;
      for (const auto &[name, value] : one)
        if (other.at(name) != value)
          names.push_back(name);
      if (names.size() == 1)
        differing.insert(names[0]);
    }
  EXPECT_EQ(differing, (std::set<std::string>{"a", "b", "c", "d"}));
}

TEST(KernelUnits, EveryCaseIsAllowedAndItsIdIsItsOwn) {
  auto text = parseKernelText(linearText);
  ASSERT_TRUE(text.ok());
  std::set<std::string> ids;
  for (const Unit &unit : unitsOf(linearText))
    for (const Case &testCase : unit.cases) {
      EXPECT_TRUE(ids.insert(testCase.id).second) << testCase.id;
      EXPECT_TRUE(isAllowed(*text, unit.graph, testCase.symbols))
          << testCase.id;
    }
}

TEST(KernelUnits, AreAFunctionOfTheSeed) {
  auto idsOf = [](uint64_t seed) {
    std::vector<std::string> ids;
    for (const Unit &unit : unitsOf(linearText, 0, {Depth::Smoke, seed}))
      for (const Case &testCase : unit.cases)
        ids.push_back(testCase.id);
    return ids;
  };
  EXPECT_EQ(idsOf(1), idsOf(1));
  EXPECT_NE(idsOf(1), idsOf(2));
}

/// What ranges do not prove, the compiler takes as numbers only.
TEST(KernelUnits, ConditionsOfSeveralSymbolsMakeNumbers) {
  std::vector<Unit> units = unitsOf(R"(kernel pairs version 1
where n == 2 * m + 1, k < m
{
  symbol m, n, k
  %x = input f32[m, k]
  %w = input f32[k, n]
  %y = matmul(%x, %w)
  output %y
})");
  EXPECT_GT(units.size(), 10u);
  for (const Unit &unit : units) {
    EXPECT_TRUE(unit.graph.symbols.empty()) << unit.id;
    const Dims &x = unit.graph.type(unit.graph.inputs[0]).dims,
               &w = unit.graph.type(unit.graph.inputs[1]).dims;
    EXPECT_EQ(w[1].constant(), 2 * *x[0].constant() + 1) << unit.id;
    EXPECT_LT(*x[1].constant(), *x[0].constant()) << unit.id;
  }
}

/// What init launches take is a weight, of a size that is a number.
TEST(KernelUnits, PackedInputsAreWeights) {
  std::vector<Unit> units = unitsOf(R"(kernel packed version 1
where k == 12, n == 5
{
  symbol m, k, n
  %x = input f32[m, k]
  %w = input f32[k, n]
  %y = matmul(%x, %w)
  output %y
})",
                                    2);
  ASSERT_EQ(units.size(), 1u);
  EXPECT_EQ(units[0].id, "L8/acme.packed/f32/all/k=12/n=5");
  EXPECT_EQ(units[0].graph.inputs.size(), 1u);
  EXPECT_EQ(units[0].weights.all().size(), 1u);
  EXPECT_TRUE(units[0].graph.verify().ok()) << units[0].graph.str();
}

TEST(KernelUnits, SayWhyThereAreNone) {
  const std::pair<const char *, const char *> bad[] = {
      {"kernel k version 1 { symbol n %x = inptu f32[n] }", "inptu"},
      {R"(kernel k version 1
where m * m == 2 * n * n + 3, n > 0
{
  symbol m, n
  %x = input f32[m, n]
  %y = relu(%x)
  output %y
})",
       "no sizes were found that meet the conditions of kernel 'k'"},
  };
  for (auto [text, message] : bad) {
    auto units = kernelUnits(std::vector{kernelOf(text)}, {Depth::Smoke});
    ASSERT_FALSE(units.ok());
    EXPECT_TRUE(units.message().starts_with("kernels of 'acme': "));
    EXPECT_NE(units.message().find(message), std::string::npos)
        << units.message();
  }
}

TEST(GraphRules, FollowWhatOpsDo) {
  Graph graph;
  EXPECT_TRUE(graph.addSymbol({"n"}).ok());
  Dim n = Dim::symbol("n");
  ValueId x = graph.addInput("x", {DType::F32, {n, Dim(7)}});
  ValueId index = graph.addInput("i", {DType::I64, {Dim(3)}});
  ValueId divisor = graph.addInput("d", {DType::I32, {n}});
  ValueId number = graph.addInput("e", {DType::I32, {n}});
  ValueId root = graph.addInput("r", {DType::F32, {n}});
  (void)graph.add("gather", {x, index}, {{"axis", int64_t(1)}});
  (void)graph.add("div", {number, divisor});
  (void)graph.add("sqrt", {root});
  std::vector<InputRule> rules = rulesOf(graph);
  using Kind = InputRule::Kind;
  EXPECT_EQ(rules[0].kind, Kind::Range);
  EXPECT_EQ(rules[1].kind, Kind::Index);
  EXPECT_EQ(rules[1].bound, Dim(7));
  EXPECT_EQ(rules[2].kind, Kind::Divisor);
  EXPECT_EQ(rules[3].kind, Kind::Values);
  EXPECT_EQ(rules[4].kind, Kind::Positive);
}

} // namespace
