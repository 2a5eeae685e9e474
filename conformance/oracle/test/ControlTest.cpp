// SPDX-License-Identifier: Apache-2.0
#include "conformance/oracle/Oracle.h"

#include <gtest/gtest.h>

namespace backplane::conformance {
namespace {

using Numbers = std::vector<int32_t>;

Tensor tensorOf(std::vector<int64_t> dims, const Numbers &numbers) {
  Tensor tensor{DType::I32, std::move(dims), {}};
  tensor.data.resize(numbers.size() * 4);
  for (size_t i = 0; i < numbers.size(); ++i)
    storeBits(tensor, i, static_cast<uint32_t>(numbers[i]));
  return tensor;
}

Tensor boolOf(bool value) { return {DType::Bool, {}, {value}}; }

Numbers numbersOf(const Expected &expected) {
  Numbers numbers;
  for (uint64_t bits : expected.bits)
    numbers.push_back(static_cast<int32_t>(bits));
  return numbers;
}

ValueId add(Graph &graph, std::string_view op, std::vector<ValueId> operands,
            Attributes attributes = {}) {
  auto results = graph.add(op, std::move(operands), std::move(attributes));
  EXPECT_TRUE(results.ok()) << results.message();
  return results ? results->front() : 0;
}

void addControl(Graph &graph, Op op) {
  auto results = graph.addControl(std::move(op));
  ASSERT_TRUE(results.ok()) << results.message();
  for (ValueId result : *results)
    graph.addOutput(result, "y" + std::to_string(graph.outputs.size()));
}

/// x op y of i32[2].
Graph regionOf(std::string_view op) {
  Graph region;
  ValueId x = region.addInput("x", {DType::I32, {2}});
  ValueId y = region.addInput("y", {DType::I32, {2}});
  region.addOutput(add(region, op, {x, y}), "z");
  return region;
}

TEST(Control, RunsTheRegionThatIsChosen) {
  Graph graph;
  ValueId predicate = graph.addInput("p", {DType::Bool, {}});
  ValueId x = graph.addInput("x", {DType::I32, {2}});
  ValueId y = graph.addInput("y", {DType::I32, {2}});
  Op op;
  op.name = "if";
  op.operands = {predicate, x, y};
  op.attributes = {{"condition", Dims()}};
  op.regions = {regionOf("add"), regionOf("div")};
  addControl(graph, op);
  Tensor left = tensorOf({2}, {7, 8}), right = tensorOf({2}, {2, 0});
  auto then = evaluate(graph, {boolOf(true), left, right}, {});
  ASSERT_TRUE(then.ok()) << then.message();
  EXPECT_EQ(numbersOf(then->at(0)), (Numbers{9, 8}));
  auto otherwise = evaluate(graph, {boolOf(false), left, right}, {});
  EXPECT_EQ(otherwise.code(), BP_STATUS_OUT_OF_RANGE);
}

/// sum + row i of x, and minus that for each iteration; `n` times.
Graph sums() {
  Graph graph, body;
  (void)graph.addSymbol({"n"});
  body.symbols = {{"n"}, {"i"}};
  Dim n = Dim::symbol("n");
  ValueId start = graph.addInput("start", {DType::I32, {2}});
  ValueId x = graph.addInput("x", {DType::I32, {n, 2}});
  ValueId sum = body.addInput("sum", {DType::I32, {2}});
  ValueId rows = body.addInput("rows", {DType::I32, {n, 2}});
  ValueId row = add(body, "slice", {rows},
                    {{"starts", Dims{Dim::symbol("i"), 0}},
                     {"sizes", Dims{1, 2}},
                     {"strides", std::vector<int64_t>{1, 1}}});
  ValueId next =
      add(body, "add", {sum, add(body, "reshape", {row}, {{"dims", Dims{2}}})});
  body.addOutput(next, "next");
  body.addOutput(add(body, "neg", {next}), "each");
  body.symbols = {{"i"}};
  Op op;
  op.name = "while";
  op.operands = {start, x};
  op.attributes = {{"carried", int64_t(1)},
                   {"conditional", int64_t(0)},
                   {"limit", Dims{n}},
                   {"iteration", std::string("i")}};
  op.regions = {body};
  addControl(graph, op);
  return graph;
}

TEST(Control, CarriesAndStacks) {
  Tensor start = tensorOf({2}, {10, 20});
  auto three =
      evaluate(sums(), {start, tensorOf({3, 2}, {1, 2, 3, 4, 5, 6})}, {});
  ASSERT_TRUE(three.ok()) << three.message();
  EXPECT_EQ(numbersOf(three->at(0)), (Numbers{19, 32}));
  EXPECT_EQ(numbersOf(three->at(1)), (Numbers{-11, -22, -14, -26, -19, -32}));
  EXPECT_EQ(three->at(1).dims, (std::vector<int64_t>{3, 2}));
  auto none = evaluate(sums(), {start, tensorOf({0, 2}, {})}, {});
  ASSERT_TRUE(none.ok()) << none.message();
  EXPECT_EQ(numbersOf(none->at(0)), (Numbers{10, 20}));
  EXPECT_EQ(none->at(1).dims, (std::vector<int64_t>{0, 2}));
}

/// Doubles x until its first element is not below y's.
Graph doubling(Dims limit) {
  Graph graph, body;
  ValueId first = graph.addInput("p", {DType::Bool, {}});
  ValueId x = graph.addInput("x", {DType::I32, {}});
  ValueId y = graph.addInput("y", {DType::I32, {}});
  ValueId value = body.addInput("value", {DType::I32, {}});
  ValueId bound = body.addInput("bound", {DType::I32, {}});
  ValueId twice = add(body, "add", {value, value});
  body.addOutput(
      add(body, "compare", {twice, bound}, {{"direction", std::string("lt")}}),
      "p");
  body.addOutput(twice, "twice");
  Op op;
  op.name = "while";
  op.operands = {first, x, y};
  op.attributes = {{"carried", int64_t(1)},
                   {"conditional", int64_t(1)},
                   {"limit", std::move(limit)},
                   {"iteration", std::string()}};
  op.regions = {body};
  addControl(graph, op);
  return graph;
}

TEST(Control, StopsWithItsPredicateOrItsLimit) {
  Tensor three = tensorOf({}, {3}), forty = tensorOf({}, {40});
  auto open = evaluate(doubling({}), {boolOf(true), three, forty}, {});
  ASSERT_TRUE(open.ok()) << open.message();
  EXPECT_EQ(numbersOf(open->at(0)), Numbers{48});
  auto twice = evaluate(doubling({2}), {boolOf(true), three, forty}, {});
  ASSERT_TRUE(twice.ok()) << twice.message();
  EXPECT_EQ(numbersOf(twice->at(0)), Numbers{12});
  auto never = evaluate(doubling({}), {boolOf(false), three, forty}, {});
  ASSERT_TRUE(never.ok()) << never.message();
  EXPECT_EQ(numbersOf(never->at(0)), Numbers{3});
  auto endless =
      evaluate(doubling({}), {boolOf(true), tensorOf({}, {0}), forty}, {});
  EXPECT_NE(endless.message().find("does not end"), std::string::npos);
}

} // namespace
} // namespace backplane::conformance
