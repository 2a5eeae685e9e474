// SPDX-License-Identifier: Apache-2.0
#include "conformance/graphs/Graphs.h"
#include "conformance/cases/Data.h"
#include "conformance/cases/Judge.h"
#include "conformance/compare/Elements.h"
#include "sdk/graph/OpTable.h"

#include <gtest/gtest.h>

#include <set>

namespace backplane::conformance {
namespace {

using Family = void (*)(const Sink &);

std::vector<Unit> unitsOf(Family family, Depth depth = Depth::Standard) {
  std::vector<Unit> units;
  Selection selection;
  selection.depth = depth;
  family({selection, [&](Unit unit) { units.push_back(std::move(unit)); }});
  return units;
}

/// Ops and types, which decide what a graph is.
uint64_t shapeOf(const Graph &graph) {
  std::string text;
  for (const Op &op : graph.ops) {
    text += op.name;
    for (ValueId result : op.results)
      text += graph.type(result).str();
  }
  return hashText(text);
}

TEST(Graphs, SeedsAreFrozen) {
  uint64_t hash = 0;
  size_t count = 0;
  for (const Unit &unit : unitsOf(makeFuzz))
    hash = randomBits(hash ^ shapeOf(unit.graph), ++count);
  EXPECT_EQ(count, 500u);
  EXPECT_EQ(hash, 14819831415047873679u)
      << "the graphs of published seeds have changed";
}

TEST(Graphs, SeedsUseNearlyAllOps) {
  std::set<std::string, std::less<>> used;
  for (const Unit &unit : unitsOf(makeFuzz))
    for (const Op &op : unit.graph.ops)
      used.insert(op.name);
  size_t missing = 0;
  for (const OpSpec &spec : opTable())
    missing += !used.contains(spec.name);
  EXPECT_LE(missing, 12u) << "of " << opTable().size();
}

TEST(Graphs, SmokeHasThirtySeedsAndNoModels) {
  EXPECT_EQ(unitsOf(makeFuzz, Depth::Smoke).size(), 30u);
  EXPECT_TRUE(unitsOf(makeModels, Depth::Smoke).empty());
}

/// What a device computes that rounds every element once.
std::vector<Tensor> rounded(const std::vector<Expected> &expected) {
  std::vector<Tensor> outputs;
  for (const Expected &answer : expected) {
    Tensor tensor{answer.dtype, answer.dims, {}};
    tensor.data.resize(packedBytes(answer.dtype, answer.bits.size()));
    for (size_t i = 0; i < answer.bits.size(); ++i)
      storeBits(tensor, i, answer.bits[i]);
    outputs.push_back(std::move(tensor));
  }
  return outputs;
}

class EachFamily : public testing::TestWithParam<Family> {};

TEST_P(EachFamily, IsKnownToTheOracleAndConstrained) {
  for (const Unit &unit : unitsOf(GetParam())) {
    ASSERT_TRUE(unit.graph.verify().ok()) << unit.id;
    ASSERT_FALSE(unit.graph.outputs.empty())
        << unit.id << ": " << unit.graph.name;
    const Case &testCase = unit.cases.back();
    auto expected =
        evaluate(unit.graph, inputsOf(unit, testCase), {}, &unit.weights);
    ASSERT_TRUE(expected.ok()) << unit.id << ": " << expected.message();
    for (const Verdict &verdict :
         judge(unit, testCase, *expected, rounded(*expected), {})) {
      EXPECT_TRUE(verdict.pass) << unit.id << ": " << verdict.reason;
      EXPECT_LE(verdict.unbounded, verdict.elements / 2) << unit.id;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Graphs, EachFamily,
                         testing::Values(makeFusions, makeLayouts, makeSharing,
                                         makeFolding, makeModels, makeFuzz));

/// The two outputs of a relation are the same by the oracle alone.
TEST(Graphs, RelationsHoldInTheOracle) {
  for (const Unit &unit : unitsOf(makeFuzz)) {
    if (unit.op != "relation")
      continue;
    auto expected =
        evaluate(unit.graph, inputsOf(unit, unit.cases[0]), {}, &unit.weights);
    ASSERT_TRUE(expected.ok()) << unit.id << ": " << expected.message();
    const Expected &a = (*expected)[0], &b = (*expected)[1];
    ASSERT_EQ(a.dims, b.dims) << unit.id;
    for (size_t i = 0; i < a.value.size(); ++i)
      EXPECT_NEAR(double(a.value[i]), double(b.value[i]), 1e-12) << unit.id;
  }
}

} // namespace
} // namespace backplane::conformance
