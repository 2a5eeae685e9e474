// SPDX-License-Identifier: Apache-2.0
//
// The table of mutants is whole, and what breaks a graph breaks it as its
// description says.
#include "conformance/cases/Tags.h"
#include "conformance/mutants/Contract.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace backplane::mutants {
namespace {

using conformance::allTags;
using conformance::isTag;

TEST(Mutants, HaveIdsTitlesAndKnownTags) {
  std::set<std::string> ids;
  for (const Mutant &mutant : allMutants()) {
    EXPECT_TRUE(ids.insert(mutant.id()).second) << mutant.id();
    EXPECT_FALSE(mutant.title.empty()) << mutant.id();
    EXPECT_FALSE(mutant.description.empty()) << mutant.id();
    EXPECT_EQ(findMutant(mutant.id()), &mutant);
    for (std::string_view tag : mutant.tags)
      EXPECT_TRUE(isTag(tag)) << mutant.id() << " " << tag;
  }
}

TEST(Mutants, AreThoseOfTheDesign) {
  for (int number = 1; number <= 55; ++number)
    EXPECT_TRUE(findMutant("m" + std::to_string(number))) << number;
  for (const conformance::Tag &tag : allTags)
    for (uint16_t number : tag.mutants)
      if (number != 0)
        EXPECT_TRUE(findMutant("m" + std::to_string(number))) << number;
}

TEST(Mutants, ChangeSomethingOrSayWhyNot) {
  for (const Mutant &mutant : allMutants()) {
    if (mutant.family == Family::Legal || mutant.family == Family::Comparator)
      continue;
    int changes = (mutant.run != nullptr) + (mutant.compiler != nullptr) +
                  (mutant.fault != Fault::None) + (mutant.touch != nullptr) +
                  !mutant.equivalent.empty();
    EXPECT_EQ(changes, 1) << mutant.id();
  }
}

// ---- compilers ----

Graph broken(const char *id, const Graph &graph) {
  Result<Graph> result = findMutant(id)->compiler(graph);
  EXPECT_TRUE(result.ok()) << result.message();
  return result ? *result : Graph();
}

std::string opsOf(const Graph &graph) {
  std::string names;
  for (const Op &op : graph.ops)
    names += (names.empty() ? "" : " ") + op.name;
  return names;
}

ValueId add(Graph &graph, std::string_view op, std::vector<ValueId> operands,
            Attributes attributes = {}) {
  auto results = graph.add(op, std::move(operands), std::move(attributes));
  EXPECT_TRUE(results.ok()) << results.message();
  return results ? results->front() : 0;
}

TEST(CompilerMutants, ClampBeforeTheBias) {
  Graph graph;
  ValueId a = graph.addInput("a", {DType::F32, {2, 2}});
  ValueId sum = add(graph, "add", {add(graph, "matmul", {a, a}), a});
  graph.addOutput(add(graph, "relu", {sum}), "y");
  Graph after = broken("m36", graph);
  EXPECT_EQ(opsOf(after), "matmul add relu add");
  EXPECT_EQ(after.ops[2].operands, after.ops[0].results);
  EXPECT_EQ(after.outputs[0].value, after.ops[3].results[0]);
}

TEST(CompilerMutants, DropTheResidual) {
  Graph graph;
  ValueId x = graph.addInput("x", {DType::F32, {4}});
  ValueId early = add(graph, "exp", {x});
  ValueId late = add(graph, "sin", {early});
  graph.addOutput(add(graph, "add", {late, early}), "y");
  Graph after = broken("m37", graph);
  EXPECT_EQ(opsOf(after), "exp sin");
  EXPECT_EQ(after.outputs[0].value, after.ops[1].results[0]);
}

TEST(CompilerMutants, OverwriteALiveOperand) {
  Graph graph;
  ValueId x = graph.addInput("x", {DType::F32, {4}});
  ValueId first = add(graph, "exp", {x});
  graph.addOutput(add(graph, "sub", {first, x}), "y");
  Graph after = broken("m38", graph);
  ValueId clobbered = after.ops[0].results[0];
  EXPECT_EQ(after.ops[1].operands, (std::vector{clobbered, clobbered}));
}

TEST(CompilerMutants, MergeOpsThatDiffer) {
  Graph graph;
  ValueId x = graph.addInput("x", {DType::F32, {4, 4}});
  ValueId a = add(graph, "softmax", {x}, {{"axis", int64_t(0)}});
  ValueId b = add(graph, "softmax", {x}, {{"axis", int64_t(1)}});
  graph.addOutput(a, "a");
  graph.addOutput(b, "b");
  Graph after = broken("m39", graph);
  EXPECT_EQ(after.outputs[0].value, after.outputs[1].value);
}

TEST(CompilerMutants, FoldInHalfTheWidth) {
  Graph graph;
  Bytes tenth = {0x9a, 0x99, 0x99, 0x99, 0x99, 0x99, 0xb9, 0x3f};
  graph.addOutput(
      add(graph, "constant", {},
          {{"value", tenth}, {"dtype", int64_t(DType::F64)}, {"dims", Dims{}}}),
      "y");
  Graph after = broken("m40", graph);
  EXPECT_EQ(*after.ops[0].bytes("value"),
            (Bytes{0, 0, 0, 0xa0, 0x99, 0x99, 0xb9, 0x3f}));
}

// ---- contractions ----

/// matmul of 1 x k and k x 1 by rules, operands all as given.
Real product(const ContractRules &rules, const std::vector<Real> &a,
             const std::vector<Real> &b) {
  auto size = int64_t(a.size());
  Tensor x{DType::F32, {1, size}, Bytes(4 * size)};
  Tensor y{DType::F32, {size, 1}, Bytes(4 * size)};
  for (size_t i = 0; i < a.size(); ++i) {
    setNumber(x, i, a[i]);
    setNumber(y, i, b[i]);
  }
  Tensor out{DType::F32, {1, 1}, Bytes(4)};
  Graph graph;
  ValueId left = graph.addInput("x", {DType::F32, {1, size}});
  ValueId right = graph.addInput("y", {DType::F32, {size, 1}});
  (void)add(graph, "matmul", {left, right});
  Memory memory;
  bp_command_dispatch_t command = {BP_HEADER(bp_command_dispatch_t)};
  Call call{graph, graph.ops[0], 0, {&x, &y}, {&out}, memory, {}, command};
  EXPECT_TRUE(contract(call, rules));
  return numberAt(out, 0);
}

TEST(Contract, SumsAndBreaksAsAsked) {
  std::vector<Real> ones(18, 1), counts;
  for (int i = 0; i < 18; ++i)
    counts.push_back(i);
  EXPECT_EQ(product({}, ones, counts), 153);
  EXPECT_EQ(product({.dropsLast = true}, ones, counts), 153 - 17);
  EXPECT_EQ(product({.repeatsBoundary = true}, ones, counts), 153 + 16);
  auto negate = [](DType, Real value) { return -value; };
  EXPECT_EQ(product({.operand = negate}, ones, counts), 153);
}

// ---- numbers ----

TEST(Numbers, TruncateTowardsZero) {
  EXPECT_EQ(encodeTowardsZero(DType::F16, 1 + 0x1.8p-11L), 0x3c00u);
  EXPECT_EQ(encodeTowardsZero(DType::F16, -1 - 0x1.8p-11L), 0xbc00u);
  EXPECT_EQ(encodeTowardsZero(DType::F16, 1e6L), 0x7bffu);
  EXPECT_EQ(encodeTowardsZero(DType::F16, INFINITY), 0x7c00u);
  EXPECT_EQ(encodeTowardsZero(DType::F16, 0x1p-30L), 0u);
}

} // namespace
} // namespace backplane::mutants
