// SPDX-License-Identifier: Apache-2.0
//
// Values that are rounded to a narrow float more than once on their way.
#include "sdk/graph/Rounding.h"
#include "TestGraphs.h"

using namespace backplane;
using namespace backplane::test;

namespace {

TEST(Rounding, SeesTwoOnTheWay) {
  Builder b;
  ValueId x = b.graph.addInput("x", T("f16[4, 4]"));
  auto second = [&](size_t first) {
    for (Op &op : b.graph.ops)
      op.location = "here";
    const Op *found = secondRounding(b.graph, first, "here");
    return found ? found->name : "";
  };
  ValueId square = b.add("mul", {x, x});
  EXPECT_EQ(second(0), "");
  ValueId wide = b.add("cast", {square}, {{"dtype", DT(DType::F32)}});
  ValueId root = b.add("sqrt", {wide});
  EXPECT_EQ(second(0), "");
  b.add("cast", {root}, {{"dtype", DT(DType::F16)}});
  EXPECT_EQ(second(0), "cast") << "f32 does not bring digits back";
  EXPECT_EQ(second(1), "") << "what was there before is an operand";
  size_t first = b.graph.ops.size();
  ValueId sums = b.add("matmul", {x, x}, {{"wide", I(1)}});
  ValueId moved = b.add("transpose", {sums}, {{"permutation", L({1, 0})}});
  ValueId bias = b.add("cast", {x}, {{"dtype", DT(DType::F32)}});
  ValueId biased = b.add("add", {moved, bias});
  b.add("cast", {biased}, {{"dtype", DT(DType::F16)}});
  EXPECT_EQ(second(first), "");
  first = b.graph.ops.size();
  b.add("add", {b.add("matmul", {x, x}), x});
  EXPECT_EQ(second(first), "add") << "a bias is added before sums are rounded";
  first = b.graph.ops.size();
  ValueId factor = b.add("exp", {x});
  ValueId ofFactors = b.add("matmul", {factor, x}, {{"wide", I(1)}});
  b.add("cast", {ofFactors}, {{"dtype", DT(DType::F16)}});
  EXPECT_EQ(second(first), "") << "a factor may be rounded";
  first = b.graph.ops.size();
  b.add("add", {b.add("max", {x, x}), b.add("neg", {x})});
  EXPECT_EQ(second(first), "");
  EXPECT_EQ(secondRounding(b.graph, 0, "elsewhere"), nullptr);
}

/// A loop over x and y; its body adds what it carries to a square in `inside`.
Graph loopOf(DType inside, std::string_view carriedType) {
  Builder body;
  ValueId sum = body.graph.addInput("sum", T(carriedType));
  ValueId x = body.graph.addInput("x", T(carriedType));
  ValueId wide = body.add("cast", {x}, {{"dtype", DT(inside)}});
  ValueId square = body.add("mul", {wide, wide});
  ValueId term =
      body.add("cast", {square}, {{"dtype", DT(T(carriedType).dtype)}});
  body.graph.addOutput(body.add("add", {sum, term}), "sum");
  for (Op &op : body.graph.ops)
    op.location = "here";
  Graph graph;
  ValueId first = graph.addInput("first", T(carriedType));
  ValueId all = graph.addInput("all", T(carriedType));
  Op op{"while",
        1,
        {first, all},
        {},
        {{"carried", I(1)},
         {"conditional", I(0)},
         {"iteration", S("")},
         {"limit", Ds("3")}},
        {body.graph},
        "here"};
  auto results = graph.addControl(op);
  EXPECT_TRUE(results.ok()) << results.message();
  return graph;
}

TEST(Rounding, SeesWhatRegionsRound) {
  auto second = [](const Graph &graph) {
    const Op *found = secondRounding(graph, 0, "here");
    return found ? found->name : "";
  };
  EXPECT_EQ(second(loopOf(DType::F32, "f32[4]")), "");
  EXPECT_EQ(second(loopOf(DType::F32, "f16[4]")), "add");
  EXPECT_EQ(second(loopOf(DType::F16, "f16[4]")), "add");
  EXPECT_EQ(second(loopOf(DType::F16, "f32[4]")), "mul");
  Graph carried = loopOf(DType::F32, "bf16[4]");
  Graph &body = carried.ops[0].regions[0];
  // Only the sum rounds: to what the next iteration rounds again.
  body.ops.back().operands[1] = body.inputs[1];
  std::erase_if(body.ops, [](const Op &op) { return op.name != "add"; });
  EXPECT_EQ(second(carried), "add");
  carried.ops[0].attributes["carried"] = I(0);
  EXPECT_EQ(second(carried), "") << "each iteration rounds once";
  body.ops[0].location = "elsewhere";
  carried.ops[0].attributes["carried"] = I(1);
  EXPECT_EQ(second(carried), "");
}

} // namespace
