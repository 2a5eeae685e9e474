// SPDX-License-Identifier: Apache-2.0
#include "conformance/cases/Large.h"
#include "conformance/cases/CaseBuilder.h"
#include "conformance/cases/Data.h"
#include "conformance/cases/Integers.h"
#include "conformance/cases/Judge.h"
#include "conformance/cases/LargeBuilder.h"
#include "conformance/cases/Work.h"
#include "conformance/compare/Elements.h"
#include "conformance/suite/Generate.h"
#include "sdk/graph/OpTable.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace backplane::conformance {
namespace {

/// Budgets at which the oracle can answer at the sizes of the cases.
constexpr uint64_t smallBudget = 1 << 17;

/// The large units whose ids start with one of these, with few multiply-adds a
/// case; all of them at once, as the whole suite is generated for it.
std::vector<Unit> unitsOf(const std::set<std::string_view> &prefixes,
                          uint64_t seed = 0) {
  std::vector<Unit> units;
  std::set<std::string_view> missing = prefixes;
  generateUnits({.seed = seed, .budget = smallBudget}, [&](Unit unit) {
    bool isOne = false;
    for (std::string_view prefix : prefixes)
      if (unit.large && (unit.id + "/").starts_with(prefix)) {
        isOne = true;
        missing.erase(prefix);
      }
    if (isOne)
      units.push_back(std::move(unit));
  });
  for (std::string_view prefix : missing)
    ADD_FAILURE() << prefix;
  return units;
}

/// What a right device computes.
std::vector<Tensor> outputsOf(const Unit &unit, const Case &testCase) {
  auto whole = withWeights(unit);
  EXPECT_TRUE(whole.ok()) << testCase.id;
  auto expected =
      evaluate(whole->graph, largeInputs(unit, testCase), {}, &whole->weights);
  EXPECT_TRUE(expected.ok()) << testCase.id << ": " << expected.message();
  std::vector<Tensor> outputs;
  for (const Expected &answer : *expected)
    outputs.push_back(tensorOf(answer));
  return outputs;
}

Verdict worstOf(const Unit &unit, const Case &testCase,
                const std::vector<Tensor> &outputs) {
  Verdict worst;
  for (const Verdict &verdict : judge(unit, testCase, {}, outputs, {}))
    if (worst = verdict; !verdict.pass)
      break;
  return worst;
}

/// Every case passes a right device, and fails it with one element changed.
void expectJudged(const std::set<std::string_view> &prefixes) {
  for (const Unit &unit : unitsOf(prefixes))
    for (const Case &testCase : unit.cases) {
      std::vector<Tensor> outputs = outputsOf(unit, testCase);
      EXPECT_TRUE(worstOf(unit, testCase, outputs).pass)
          << testCase.id << ": " << worstOf(unit, testCase, outputs).reason;
      Tensor &output = outputs[0];
      size_t count = output.elementCount();
      if (count == 0)
        continue;
      size_t element = randomBits(testCase.seed, 7) % count;
      uint64_t half = uint64_t(1) << (bitWidth(output.dtype) - 2);
      uint64_t flip = output.dtype == DType::Bool ? 1 : half;
      storeBits(output, element, loadBits(output, element) ^ flip);
      Verdict verdict = worstOf(unit, testCase, outputs);
      EXPECT_FALSE(verdict.pass) << testCase.id << " element " << element;
      EXPECT_EQ(verdict.worst, element) << testCase.id;
    }
}

TEST(Large, OneWrongElementOfAProductIsFound) {
  expectJudged({"L3/matmul/f32/models/", "L3/matmul/f32/models-rank6",
                "L3/matmul/bf16/models/", "L3/matmul_integer/u8/models-u8",
                "L3/conv/f32/models-3x3/", "L3/conv/f32/models-3/",
                "L3/conv/f32/models-3x3-depthwise",
                "L3/conv_transpose/f32/models-4x4-stride2/",
                "L3/conv_integer/i8/models"});
}

/// Ops that have no sizes of their own: the program moves the bytes.
bool hasNoSizes(const OpSpec &spec) { return !spec.pure; }

TEST(Large, EveryOpOfTheTableHasUnitsAtSizesThatModelsHave) {
  std::set<std::string_view> missing;
  for (const OpSpec &spec : opTable())
    if (!hasNoSizes(spec))
      missing.insert(spec.name);
  generateUnits({.budget = smallBudget}, [&](const Unit &unit) {
    if (unit.large)
      missing.erase(findOp(unit.op)->name);
  });
  for (std::string_view op : missing)
    ADD_FAILURE() << op;
}

TEST(Large, OneWrongElementOfAnyOpIsFound) {
  expectJudged({"L3/add/f32/models-rank6",
                "L3/exp/f16/models/",
                "L3/select/bool/models",
                "L3/cast/f32/models-quantize",
                "L3/transpose/i4/models",
                "L3/transpose/f32/models-rank6",
                "L3/pad/f32/models",
                "L3/gather/f32/models",
                "L3/scatter/f32/models",
                "L3/weight/f16/models",
                "L3/dim/i64/models",
                "L3/iota/f32/models",
                "L3/reduce/f32/models-l",
                "L3/top_k/f32/models",
                "L3/softmax/bf16/models",
                "L3/attention/f32/models-m",
                "L3/layer_norm/f32/models",
                "L3/pool/i8/models",
                "L3/arg_reduce/i32/models-max",
                "L3/conv/f32/attributes-0/",
                "L3/pool/f32/attributes-0/",
                "L3/reduce/f32/attributes-0/",
                "L3/scatter/f32/attributes-0/",
                "L3/transpose/f32/attributes-0/"});
}

TEST(Large, ProductsAreExactIntegersInEveryDType) {
  for (DType dtype : {DType::F32, DType::F16, DType::BF16, DType::I32}) {
    auto range = exactIntegers(dtype, dtype, 4096);
    ASSERT_TRUE(range) << name(dtype);
    EXPECT_GE(range->limit, 1);
  }
  EXPECT_FALSE(exactIntegers(DType::BF16, DType::BF16, 1 << 20));
}

TEST(Large, AnotherSeedDrawsOtherSizesUnderTheSameIds) {
  auto sizes = [](uint64_t seed) {
    std::map<std::string, SymbolValues> all;
    for (const Unit &unit : unitsOf({"L3/matmul/f32/models"}, seed))
      for (const Case &testCase : unit.cases)
        all[testCase.id] = testCase.symbols;
    return all;
  };
  auto first = sizes(1), second = sizes(2);
  ASSERT_EQ(first.size(), second.size());
  size_t differ = 0;
  for (const auto &[id, symbols] : first) {
    ASSERT_TRUE(second.contains(id)) << id;
    differ += second[id] != symbols;
  }
  EXPECT_GT(differ * 2, first.size());
}

TEST(Large, CasesStayWithinTheBudget) {
  for (uint64_t budget : {100'000u, 10'000'000u, 1'000'000'000u})
    generateUnits({.budget = budget}, [&](const Unit &unit) {
      for (const Case &testCase : unit.cases)
        if (unit.large)
          EXPECT_LE(workOf(unit.graph, testCase.symbols).macs, budget)
              << testCase.id;
    });
}

/// Graphs by id of the units whose attributes are drawn.
std::map<std::string, std::string> drawnGraphs(uint64_t seed, uint64_t budget) {
  std::map<std::string, std::string> graphs;
  generateUnits({.seed = seed, .budget = budget}, [&](const Unit &unit) {
    if (unit.id.find("/attributes-") == std::string::npos)
      return;
    EXPECT_FALSE(unit.graph.outputs.empty()) << unit.id;
    EXPECT_EQ(unit.cases.size(), 1u) << unit.id;
    for (const Case &testCase : unit.cases)
      EXPECT_LE(workOf(unit.graph, testCase.symbols).elements, 1u << 20)
          << testCase.id;
    graphs[unit.id] = unit.graph.str();
  });
  return graphs;
}

/// Sizes of some attributes cannot be expressed: none of those is drawn.
TEST(Large, AttributesOfAnySeedMakeAGraph) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const Selection selection{.seed = seed};
    makeDrawn({selection, [&](const Unit &unit) {
                 EXPECT_FALSE(unit.graph.outputs.empty())
                     << unit.id << ", seed " << seed;
               }});
  }
}

TEST(Large, AttributesAreDrawnUnderTheSameIds) {
  for (uint64_t budget : {uint64_t(0), smallBudget}) {
    auto first = drawnGraphs(1, budget), second = drawnGraphs(2, budget);
    EXPECT_GT(first.size(), 250u);
    ASSERT_EQ(first.size(), second.size());
    size_t differ = 0;
    for (const auto &[id, graph] : first) {
      ASSERT_TRUE(second.contains(id)) << id;
      differ += second[id] != graph;
    }
    // Elementwise ops with symbols have no attributes.
    EXPECT_GT(differ, 150u);
  }
}

/// Whether some drawn case of a unit has all of these sizes.
bool meets(const SymbolValues &symbols, const SymbolValues &least) {
  return std::ranges::all_of(least, [&](const auto &size) {
    return symbols.at(size.first) >= size.second;
  });
}

TEST(Large, EverySizeOfAProductIsMetFromAboveWhateverTheSeed) {
  const std::vector<SymbolValues> thresholds = {
      {{"m", 30000}},
      {{"n", 30000}},
      {{"k", 30000}},
      {{"m", 3500}, {"n", 3500}, {"k", 3500}}};
  for (uint64_t seed = 0; seed < 4; ++seed) {
    std::vector<size_t> met(thresholds.size());
    generateUnits({.seed = seed}, [&](const Unit &unit) {
      for (const Case &testCase : unit.cases)
        for (size_t i = 0; i < met.size(); ++i)
          met[i] += unit.id == "L3/matmul/f32/models" &&
                    meets(testCase.symbols, thresholds[i]);
    });
    for (size_t count : met)
      EXPECT_GT(count, 0u) << "seed " << seed;
  }
}

} // namespace
} // namespace backplane::conformance
