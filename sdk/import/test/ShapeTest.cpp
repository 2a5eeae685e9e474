// SPDX-License-Identifier: Apache-2.0
//
// Shapes that the model computes, and the ops that use them.
#include "ModelBuilder.h"

#include <gtest/gtest.h>

using namespace backplane;
using namespace backplane::frontend;
using T = onnx::TensorProto;

namespace {

/// x: f32[n, 6, m], a constant s, and one node of both.
Result<Model> withInts(const std::string &op, std::vector<int64_t> dims,
                       std::vector<int64_t> values, int64_t opset = 17) {
  ModelBuilder model(opset);
  model.input("x", {"n", "6", "m"}).ints("s", dims, values).output("y");
  model.node(op, {"x", "s"}, {"y"});
  return model.import();
}

std::string reshaped(std::vector<int64_t> shape) {
  return summary(
      withInts("Reshape", {static_cast<int64_t>(shape.size())}, shape));
}

} // namespace

TEST(OnnxShape, ReshapeEntries) {
  EXPECT_EQ(reshaped({0, -1}), "reshape -> f32[n, 6*m]");
  EXPECT_EQ(reshaped({-1, 2, 3}), "reshape -> f32[m*n, 2, 3]");
  EXPECT_EQ(reshaped({0, 6, -1}), "-> f32[n, 6, m]");
  EXPECT_EQ(reshaped({-1, -1}),
            "Reshape node 'Reshape1': its shape has -1 twice");
  EXPECT_EQ(reshaped({-2, 3}), "Reshape node 'Reshape1': its shape has the "
                               "entry -2, which is negative");
  EXPECT_EQ(reshaped({0, 0, 0, 0}),
            "Reshape node 'Reshape1': its shape has 0 at axis 3, which the "
            "input f32[n, 6, m] lacks");
}

TEST(OnnxShape, ReshapeThatIsNotKnownToFitIsAsserted) {
  auto result = withInts("Reshape", {2}, {-1, 4});
  ASSERT_TRUE(result.ok()) << result.message();
  const Graph &graph = result->graph;
  const Dim &rows = graph.type(graph.outputs[0].value).dims[0];
  EXPECT_EQ(*rows.evaluate({{"n", 2}, {"m", 3}}), 9);
  ASSERT_EQ(graph.assertions.size(), 1u);
  auto holds = [&](int64_t n, int64_t m) {
    SymbolValues values{{"n", n}, {"m", m}};
    return *graph.assertions[0].lhs.evaluate(values) ==
           *graph.assertions[0].rhs.evaluate(values);
  };
  EXPECT_TRUE(holds(2, 3));
  EXPECT_FALSE(holds(1, 1));
}

TEST(OnnxShape, QuestionMarksAreNoName) {
  ModelBuilder model(17);
  model.input("x", {"?", "?"}).output("y");
  model.node("Relu", {"x"}, {"y"});
  auto result = model.import();
  ASSERT_TRUE(result.ok()) << result.message();
  const Graph &graph = result->graph;
  const TensorType &type = graph.type(graph.inputs[0]);
  EXPECT_FALSE(type.dims[0] == type.dims[1]);
}

TEST(OnnxShape, ComputedShapesStaySymbolic) {
  // Reshape(x, Concat(Shape(x)[0:1], [-1])), as exporters write a flatten.
  ModelBuilder model;
  model.input("x", {"n", "6", "m"})
      .ints("zero", {}, {0})
      .ints("rest", {1}, {-1});
  model.ints("axes", {1}, {0}).output("y");
  model.node("Shape", {"x"}, {"shape"});
  model.node("Gather", {"shape", "zero"}, {"first"});
  model.node("Unsqueeze", {"first", "axes"}, {"vector"});
  model.node("Concat", {"vector", "rest"}, {"target"}).i("axis", 0);
  model.node("Reshape", {"x", "target"}, {"y"});
  EXPECT_EQ(summary(model.import()), "reshape -> f32[n, 6*m]");
}

TEST(OnnxShape, ArithmeticOnSizes) {
  ModelBuilder model;
  model.input("x", {"n", "6"}).ints("two", {}, {2}).ints("one", {1}, {1});
  model.output("y");
  model.node("Shape", {"x"}, {"shape"}).i("start", 0).i("end", 1);
  model.node("Mul", {"shape", "two"}, {"twice"});
  model.node("Add", {"twice", "one"}, {"odd"});
  model.node("Div", {"odd", "two"}, {"half"});
  model.node("ConstantOfShape", {"half"}, {"y"});
  EXPECT_EQ(summary(model.import()), "-> f32[n]");
}

TEST(OnnxShape, DivisionOfNegativesRoundsToZero) {
  ModelBuilder model;
  model.ints("a", {2}, {-7, 7}).ints("b", {}, {2}).output("y");
  model.node("Div", {"a", "b"}, {"y"});
  auto result = model.import();
  const Bytes *bytes = opOf(result, "constant").bytes("value");
  ASSERT_TRUE(bytes && bytes->size() == 16);
  EXPECT_EQ(static_cast<int8_t>((*bytes)[0]), -3);
  EXPECT_EQ((*bytes)[8], 3);
}

TEST(OnnxShape, KnownSizesBecomeDataOnDemand) {
  ModelBuilder model;
  model.input("x", {"n", "6"}).output("y");
  model.node("Shape", {"x"}, {"shape"});
  model.node("Cast", {"shape"}, {"y"}).i("to", T::FLOAT);
  auto result = model.import();
  EXPECT_EQ(summary(result), "dim cast -> f32[2]");
  EXPECT_EQ(text(opOf(result, "dim").dims("value")), "[n, 6]");
}

TEST(OnnxShape, WhereChoosesKnownSizes) {
  // The Expand of PyTorch: -1 stands for the size of the input.
  ModelBuilder model;
  model.input("x", {"n", "1"}).ints("minus", {2}, {-1, -1}).output("y");
  model.ints("four", {1}, {4}).ints("zero", {}, {0}).ints("axes", {1}, {0});
  model.node("Shape", {"x"}, {"shape"});
  model.node("Gather", {"shape", "axes"}, {"first"});
  model.node("Concat", {"first", "four"}, {"wanted"}).i("axis", 0);
  model.node("Equal", {"wanted", "minus"}, {"open"});
  model.node("Where", {"open", "shape", "wanted"}, {"target"});
  model.node("Expand", {"x", "target"}, {"y"});
  EXPECT_EQ(summary(model.import()), "-> f32[n, 4]");
}

/// What Expand makes of x: f32[n, 1] and a size that Where chooses by
/// n < 4 or by its opposite.
std::string chosenByCall(const char *relation, bool inverted) {
  ModelBuilder model;
  model.input("x", {"n", "1"}).ints("zero", {1}, {0}).output("y");
  model.ints("four", {1}, {4}).ints("seven", {1}, {7});
  model.node("Shape", {"x"}, {"shape"});
  model.node("Gather", {"shape", "zero"}, {"first"});
  model.node(relation, {"first", "four"}, {"holds"});
  model.node("Not", {"holds"}, {"fails"});
  model.node("Where", {inverted ? "fails" : "holds", "seven", "first"},
             {"last"});
  model.node("Concat", {"first", "last"}, {"target"}).i("axis", 0);
  model.node("Expand", {"x", "target"}, {"y"});
  return summary(model.import());
}

TEST(OnnxShape, WhereChoosesByWhatOnlyTheCallKnows) {
  const char *below = "-> f32[n, select(min(1, max(0, -n + 4)), 7, n)]";
  EXPECT_EQ(chosenByCall("Less", false), below);
  EXPECT_EQ(chosenByCall("GreaterOrEqual", true), below);
  EXPECT_EQ(chosenByCall("Equal", false),
            "-> f32[n, select(-min(1, max(-n + 4, n - 4)) + 1, 7, n)]");
}

TEST(OnnxShape, QuotientsRoundTowardsZero) {
  ModelBuilder model;
  model.input("x", {"n"}).ints("three", {1}, {3}).ints("two", {1}, {2});
  model.output("y");
  model.node("Shape", {"x"}, {"shape"});
  model.node("Sub", {"shape", "three"}, {"less"});
  model.node("Div", {"less", "two"}, {"half"});
  model.node("Abs", {"half"}, {"size"});
  model.node("ConstantOfShape", {"size"}, {"y"});
  EXPECT_EQ(summary(model.import()),
            "-> f32[max(-truncdiv(n - 3, 2), truncdiv(n - 3, 2))]");
}

TEST(OnnxShape, SqueezeAndUnsqueeze) {
  ModelBuilder old(11);
  old.input("x", {"n", "1", "1"}).output("y");
  old.node("Squeeze", {"x"}, {"y"}).is("axes", {-1});
  EXPECT_EQ(summary(old.import()), "reshape -> f32[n, 1]");
  EXPECT_EQ(summary(withInts("Unsqueeze", {2}, {0, -1})),
            "reshape -> f32[1, n, 6, m, 1]");
  EXPECT_EQ(summary(withInts("Squeeze", {1}, {1})),
            "Squeeze node 'Squeeze1': a squeezed axis must have size 1: 6 is "
            "not 1");
  ModelBuilder all;
  all.input("x", {"n", "1"}).output("y").node("Squeeze", {"x"}, {"y"});
  EXPECT_NE(summary(all.import()).find("symbolic sizes"), std::string::npos);
}

TEST(OnnxShape, ExpandTileFlatten) {
  EXPECT_EQ(summary(withInts("Expand", {4}, {2, 1, 1, 1})),
            "-> f32[2, n, 6, m]");
  EXPECT_EQ(summary(withInts("Tile", {3}, {2, 1, 3})),
            "reshape -> f32[2*n, 6, 3*m]");
  ModelBuilder model;
  model.input("x", {"n", "6", "m"}).output("y");
  model.node("Flatten", {"x"}, {"y"}).i("axis", -1);
  EXPECT_EQ(summary(model.import()), "reshape -> f32[6*n, m]");
}

TEST(OnnxShape, RangeOfSizes) {
  ModelBuilder model;
  model.input("x", {"n"}).ints("zero", {}, {0}).ints("one", {}, {1});
  model.output("y");
  model.node("Size", {"x"}, {"size"});
  model.node("Range", {"zero", "size", "one"}, {"y"});
  EXPECT_EQ(summary(model.import()), "iota -> i64[n]");
  ModelBuilder down;
  down.ints("a", {}, {10}).ints("b", {}, {3}).ints("d", {}, {-3}).output("y");
  down.node("Range", {"a", "b", "d"}, {"y"});
  auto result = down.import();
  EXPECT_EQ(summary(result), "-> i64[3]");
  EXPECT_EQ((*opOf(result, "constant").bytes("value"))[16], 4);
}

TEST(OnnxShape, RangesOfAnyNumbers) {
  auto range = [](int64_t start, int64_t limit, int64_t delta) {
    ModelBuilder model;
    model.ints("a", {}, {start}).ints("b", {}, {limit}).ints("d", {}, {delta});
    model.output("y");
    model.node("Range", {"a", "b", "d"}, {"y"});
    return summary(model.import());
  };
  EXPECT_EQ(range(0, INT64_MIN, 1), "-> i64[0]");
  EXPECT_EQ(range(0, INT64_MIN, INT64_MIN), "-> i64[1]");
  EXPECT_EQ(range(INT64_MIN, INT64_MAX, INT64_MAX), "iota mul add -> i64[3]");
  EXPECT_EQ(range(INT64_MAX, INT64_MIN, 1), "-> i64[0]");
  EXPECT_EQ(range(7, 0, -3), "-> i64[3]");
  EXPECT_EQ(range(0, 7, 3), "-> i64[3]");
}

TEST(OnnxShape, TransposeChecksItsPermutation) {
  ModelBuilder model;
  model.input("x", {"n", "6"}).output("y");
  model.node("Transpose", {"x"}, {"y"}).is("perm", {1, 1});
  EXPECT_NE(summary(model.import()).find("not a permutation"),
            std::string::npos);
  model.graph().mutable_node(0)->clear_attribute();
  EXPECT_EQ(summary(model.import()), "transpose -> f32[6, n]");
}

TEST(OnnxReduce, AxesByOpset) {
  EXPECT_EQ(summary(withInts("ReduceSum", {1}, {1})), "reduce -> f32[n, 1, m]");
  EXPECT_EQ(summary(withInts("ReduceMean", {1}, {1}, 17)),
            "ReduceMean node 'ReduceMean1': axes are an attribute in opset 17");
  ModelBuilder model(17);
  model.input("x", {"n", "6"}).output("y");
  model.node("ReduceMean", {"x"}, {"y"}).is("axes", {-1}).i("keepdims", 0);
  EXPECT_EQ(summary(model.import()), "reduce div -> f32[n]");
  EXPECT_EQ(summary(withInts("ReduceMax", {2}, {0, -3}, 18)),
            "ReduceMax node 'ReduceMax1': axis -3 is given twice");
}

TEST(OnnxReduce, LogSumExpIsOneOp) {
  ModelBuilder model;
  model.input("x", {"n", "6"}).output("y");
  model.node("ReduceLogSumExp", {"x"}, {"y"}).is("axes", {1});
  EXPECT_EQ(summary(model.import()), "log_sum_exp -> f32[n, 1]");
}

TEST(OnnxReduce, ArgMax) {
  ModelBuilder model;
  model.input("x", {"n", "6"}).output("y");
  model.node("ArgMax", {"x"}, {"y"}).i("axis", -1).i("keepdims", 0);
  EXPECT_EQ(summary(model.import()), "arg_reduce -> i64[n]");
}
