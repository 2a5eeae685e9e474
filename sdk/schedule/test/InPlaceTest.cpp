// SPDX-License-Identifier: Apache-2.0
#include "sdk/schedule/InPlace.h"

#include <gtest/gtest.h>

using namespace backplane;

namespace {

using Numbers = std::vector<uint32_t>;

class InPlaceTest : public testing::Test {
protected:
  ValueId input(DType type, Dims dims) {
    return graph.addInput("x" + std::to_string(graph.inputs.size()),
                          {type, std::move(dims)});
  }
  ValueId f32(Dims dims = {4, 8}) { return input(DType::F32, std::move(dims)); }
  ValueId add(std::string_view op, std::vector<ValueId> operands,
              Attributes attributes = {}) {
    auto results = graph.add(op, std::move(operands), std::move(attributes));
    EXPECT_TRUE(results.ok()) << results.message();
    return results.ok() ? (*results)[0] : 0;
  }
  ValueId reduce(ValueId x, bool keep) {
    return add("reduce", {x},
               {{"kind", std::string("sum")},
                {"axes", std::vector<int64_t>{1}},
                {"keep", int64_t(keep)}});
  }
  ValueId broadcast(ValueId x, std::vector<int64_t> axes) {
    return add("broadcast", {x}, {{"dims", Dims{4, 8}}, {"axes", axes}});
  }
  Numbers replaceable(ValueId result) {
    graph.addOutput(result, "y" + std::to_string(graph.outputs.size()));
    EXPECT_TRUE(graph.verify().ok()) << graph.verify().message();
    return replaceableInputs(graph);
  }

  Graph graph;
};

TEST_F(InPlaceTest, EveryOperandOfElementwiseOps) {
  ValueId a = f32(), b = f32();
  EXPECT_EQ(replaceable(add("add", {add("exp", {a}), b})), (Numbers{0, 1}));
}

TEST_F(InPlaceTest, AnOperandReadTwiceAtItsIndex) {
  ValueId a = f32();
  EXPECT_EQ(replaceable(add("mul", {add("tanh", {a}), a})), Numbers{0});
}

TEST_F(InPlaceTest, SymbolicShapes) {
  ASSERT_TRUE(graph.addSymbol({"n", 0, INT64_MAX, 1}).ok());
  Dim n = Dim::symbol("n");
  ValueId a = f32({n, 8});
  EXPECT_EQ(replaceable(add("neg", {a})), Numbers{0});
}

TEST_F(InPlaceTest, WhatIsBroadcastStays) {
  ValueId a = f32(), row = f32({8});
  EXPECT_EQ(replaceable(add("add", {a, broadcast(row, {1})})), Numbers{0});
}

TEST_F(InPlaceTest, ABroadcastToTheSameShapeIsNoElementwiseOp) {
  ValueId a = f32();
  EXPECT_EQ(replaceable(add("neg", {broadcast(a, {0, 1})})), Numbers{});
}

TEST_F(InPlaceTest, SoftmaxReadsWholeRows) {
  ValueId a = f32(), b = f32();
  ValueId e = add("exp", {a});
  ValueId sum = broadcast(reduce(e, true), {0, 1});
  ValueId y = add("mul", {add("div", {e, sum}), b});
  EXPECT_EQ(replaceable(y), Numbers{1});
}

TEST_F(InPlaceTest, AReductionBehindTheElementwiseUseCounts) {
  ValueId a = f32();
  ValueId y = add("neg", {a});
  ValueId sum = broadcast(reduce(y, false), {0});
  EXPECT_EQ(replaceable(add("add", {y, sum})), Numbers{});
}

TEST_F(InPlaceTest, ATransposeMovesElements) {
  ValueId a = f32({8, 8}), b = f32({8, 8});
  ValueId moved =
      add("transpose", {a}, {{"permutation", std::vector<int64_t>{1, 0}}});
  EXPECT_EQ(replaceable(add("add", {moved, b})), Numbers{1});
}

TEST_F(InPlaceTest, AReshapeIsNotFollowed) {
  ValueId a = f32({32}), b = f32();
  ValueId shaped = add("reshape", {a}, {{"dims", Dims{4, 8}}});
  EXPECT_EQ(replaceable(add("add", {shaped, b})), Numbers{1});
}

TEST_F(InPlaceTest, ASliceBehindTheResultReadsOtherElements) {
  ValueId a = f32();
  ValueId y = add("neg", {a});
  add("slice", {y},
      {{"starts", Dims{0, 1}},
       {"sizes", Dims{4, 2}},
       {"strides", std::vector<int64_t>{1, 1}}});
  EXPECT_EQ(replaceable(y), Numbers{});
}

TEST_F(InPlaceTest, AResidualBehindAContraction) {
  ValueId a = f32({8, 8}), w = f32({8, 8}), r = f32({8, 8});
  ValueId product = add("matmul", {a, w});
  EXPECT_EQ(replaceable(add("add", {product, r})), Numbers{2});
}

TEST_F(InPlaceTest, AnOperandOfBothContractionAndSum) {
  ValueId a = f32({8, 8}), w = f32({8, 8});
  EXPECT_EQ(replaceable(add("add", {add("matmul", {a, w}), a})), Numbers{});
}

TEST_F(InPlaceTest, ElementsOfAnotherWidth) {
  ValueId condition = input(DType::Bool, {4, 8});
  ValueId i = input(DType::I32, {4, 8}), a = f32();
  ValueId cast = add("cast", {i}, {{"dtype", int64_t(DType::F32)}});
  EXPECT_EQ(replaceable(add("select", {condition, cast, a})), (Numbers{1, 2}));
}

TEST_F(InPlaceTest, ElementsThatShareAByte) {
  ValueId condition = input(DType::Bool, {4, 8});
  ValueId a = input(DType::I4, {4, 8});
  EXPECT_EQ(replaceable(add("select", {condition, a, a})), Numbers{});
}

TEST_F(InPlaceTest, SeveralResults) {
  ValueId a = f32();
  graph.addOutput(add("neg", {a}), "first");
  EXPECT_EQ(replaceable(add("exp", {a})), Numbers{});
}

TEST_F(InPlaceTest, AnInputThatIsTheResult) {
  ValueId a = f32();
  EXPECT_EQ(replaceable(a), Numbers{});
}

} // namespace
