// SPDX-License-Identifier: Apache-2.0
#include "ModelBuilder.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace backplane;
using namespace backplane::frontend;
using T = onnx::TensorProto;

namespace {

/// A model of one node on x: f32[n, 3].
std::string unary(const std::string &op, int64_t opset = 17) {
  ModelBuilder model(opset);
  model.input("x", {"n", "3"}).output("y").node(op, {"x"}, {"y"});
  return summary(model.import());
}

std::string binary(const std::string &op, int type, int64_t opset = 17) {
  ModelBuilder model(opset);
  model.input("a", {"n", "3"}, type).input("b", {"3"}, type).output("y");
  model.node(op, {"a", "b"}, {"y"});
  return summary(model.import());
}

/// How many ops of this name a model has that adds constants to its input, each
/// of some elements that are equal or differ.
size_t countOf(const char *name, size_t constants, bool equal,
               size_t elements) {
  ModelBuilder model(17);
  model.input("x", {"4", "4"}).output("y");
  for (size_t i = 0; i < constants; ++i) {
    std::vector<float> values(elements, float(i));
    values.back() += equal ? 0 : 1;
    std::string number = std::to_string(i);
    model.floats("c" + number, {int64_t(elements)}, values);
    model.node("Add", {i ? "h" + std::to_string(i - 1) : "x", "c" + number},
               {i + 1 == constants ? "y" : "h" + number});
  }
  auto result = model.import();
  EXPECT_TRUE(result.ok()) << result.message();
  size_t count = 0;
  for (const Op &op : result->graph.ops)
    count += op.name == name;
  return count;
}

TEST(OnnxConstants, FewListsOfFloatsStandInTheGraph) {
  EXPECT_EQ(countOf("constant", 100, false, 4), 100u);
  EXPECT_EQ(countOf("constant", 1000, false, 4), 128u);
  EXPECT_EQ(countOf("weight", 1000, false, 4), 872u);
  EXPECT_EQ(countOf("weight", 1000, true, 4), 0u);
  EXPECT_EQ(countOf("weight", 1000, false, 1), 0u);
}

} // namespace

TEST(OnnxElementwise, Unary) {
  EXPECT_EQ(unary("Reciprocal"), "recip -> f32[n, 3]");
  EXPECT_EQ(unary("Round"), "round_even -> f32[n, 3]");
  EXPECT_EQ(unary("IsNaN"), "is_nan -> bool[n, 3]");
  EXPECT_EQ(unary("Erf"), "erf -> f32[n, 3]");
}

TEST(OnnxElementwise, BroadcastIsExplicit) {
  ModelBuilder model;
  model.input("a", {"n", "1"}).input("b", {"4"}).output("y");
  model.node("Sub", {"a", "b"}, {"y"});
  auto result = model.import();
  EXPECT_EQ(summary(result), "sub -> f32[n, 4]");
  std::vector<std::string> dims;
  for (const Op &op : result->graph.ops)
    if (op.name == "broadcast")
      dims.push_back(text(op.dims("dims")));
  EXPECT_EQ(dims, (std::vector<std::string>{"[n, 4]", "[n, 4]"}));
  EXPECT_EQ(assertions(result), "");
}

TEST(OnnxElementwise, OpenSizesAreTakenToBeEqual) {
  ModelBuilder model;
  model.input("a", {"?", "3"}).input("b", {"?", "3"}).output("y");
  model.node("Add", {"a", "b"}, {"y"});
  auto result = model.import();
  EXPECT_EQ(summary(result), "reshape add -> f32[a_d0, 3]");
  EXPECT_TRUE(assertions(result).starts_with("a_d0 == b_d0"))
      << assertions(result);
}

TEST(OnnxElementwise, TheCallTellsWhichOfTwoNamedSizesIsOne) {
  ModelBuilder model;
  model.input("a", {"n", "3"}).input("b", {"m", "3"}).output("y");
  model.node("Add", {"a", "b"}, {"y"});
  auto result = model.import();
  EXPECT_NE(summary(result).find("gather"), std::string::npos);
  EXPECT_NE(summary(result).find("add -> f32[max(m, n)*min("),
            std::string::npos)
      << summary(result);
}

TEST(OnnxElementwise, NumberWinsOverSymbol) {
  ModelBuilder model;
  model.input("a", {"n"}).input("b", {"5"}).output("y");
  model.node("Add", {"a", "b"}, {"y"});
  auto result = model.import();
  EXPECT_TRUE(summary(result).ends_with("gather add -> f32[5]"))
      << summary(result);
}

TEST(OnnxElementwise, AColumnThatTheAxisMayLackIsRepeated) {
  ModelBuilder model;
  model.input("x", {"b", "s"}).output("y");
  model.ints("zero", {1}, {0}).ints("one", {1}, {1});
  model.node("Slice", {"x", "zero", "one", "one"}, {"f"});
  model.node("Add", {"x", "f"}, {"y"});
  auto result = model.import();
  EXPECT_EQ(summary(result), "slice gather add -> f32[b, s]");
  // Of the slice alone.
  EXPECT_EQ(assertions(result), "min(0, -min(1, s) + s) == 0");
}

TEST(OnnxElementwise, SizesThatDifferAreRejected) {
  ModelBuilder model;
  model.input("a", {"4"}).input("b", {"5"}).output("y");
  model.node("Add", {"a", "b"}, {"y"});
  EXPECT_EQ(summary(model.import()),
            "Add node 'Add1': sizes must be equal to broadcast: 4 is not 5");
}

TEST(OnnxElementwise, LogicNeedsBool) {
  EXPECT_EQ(binary("And", T::BOOL), "and -> bool[n, 3]");
  EXPECT_EQ(binary("And", T::INT32),
            "And node 'And1': it needs bool operands, found i32[n, 3]");
  EXPECT_EQ(binary("BitwiseAnd", T::INT32, 18), "and -> i32[n, 3]");
}

TEST(OnnxElementwise, ModFollowsTheDivisor) {
  EXPECT_EQ(binary("Mod", T::INT32),
            "rem compare compare xor compare and add select -> i32[n, 3]");
  EXPECT_EQ(binary("Mod", T::UINT8), "rem -> u8[n, 3]");
  EXPECT_EQ(binary("Mod", T::FLOAT),
            "rem compare compare xor compare and add select -> f32[n, 3]");
}

TEST(OnnxElementwise, VariadicFolds) {
  ModelBuilder model;
  model.input("a", {"3"}).input("b", {"n", "1"}).input("c", {}).output("y");
  model.node("Mean", {"a", "b", "c"}, {"y"});
  EXPECT_EQ(summary(model.import()), "add add div -> f32[n, 3]");
}

TEST(OnnxElementwise, PowOfOtherExponents) {
  ModelBuilder model;
  model.input("x", {"n"}).ints("e", {}, {2}).output("y");
  model.node("Pow", {"x", "e"}, {"y"});
  EXPECT_EQ(summary(model.import()), "cast pow -> f32[n]");
  ModelBuilder wide;
  wide.input("x", {"n"}).input("e", {"n"}, T::INT64).output("y");
  wide.node("Pow", {"x", "e"}, {"y"});
  EXPECT_NE(summary(wide.import()).find("must be a constant"),
            std::string::npos);
}

TEST(OnnxElementwise, PowOfIntegers) {
  auto power = [](int64_t exponent) {
    ModelBuilder model;
    model.input("x", {"n"}, T::INT32).ints("e", {}, {exponent}).output("y");
    model.node("Pow", {"x", "e"}, {"y"});
    return summary(model.import());
  };
  EXPECT_EQ(power(2), "mul -> i32[n]");
  EXPECT_EQ(power(5), "mul mul mul -> i32[n]");
  EXPECT_EQ(power(0), "-> i32[n]"); // ones, which are known
  EXPECT_NE(power(-1).find("from 0 to 64"), std::string::npos);
}

TEST(OnnxElementwise, CastChecksItsTarget) {
  auto castTo = [](int64_t to) {
    ModelBuilder model;
    model.input("x", {"n"}).output("y");
    model.node("Cast", {"x"}, {"y"}).i("to", to);
    return summary(model.import());
  };
  EXPECT_EQ(castTo(T::BOOL), "cast -> bool[n]");
  EXPECT_EQ(castTo(T::STRING),
            "Cast node 'Cast1': element type STRING is not supported");
  EXPECT_EQ(castTo(T::FLOAT8E5M2), "clamp cast -> f8e5m2[n]");
  EXPECT_EQ(castTo(T::FLOAT8E4M3FNUZ), "clamp cast -> f8e4m3fnuz[n]");
  EXPECT_EQ(castTo(T::FLOAT8E5M2FNUZ), "clamp cast -> f8e5m2fnuz[n]");
  EXPECT_EQ(castTo(T::FLOAT4E2M1), "clamp cast -> f4e2m1fn[n]");
  EXPECT_EQ(castTo(T::FLOAT8E8M0), "cast clamp mul cast -> f8e8m0fnu[n]");
  EXPECT_EQ(castTo(T::INT4), "cast cast -> i4[n]");
  EXPECT_EQ(castTo(T::UINT4), "cast cast -> u4[n]");
  EXPECT_EQ(castTo(int64_t(1) << 40),
            "Cast node 'Cast1': element type 1048576 is not supported");
}

TEST(OnnxElementwise, WhereNeedsABoolCondition) {
  ModelBuilder model;
  model.input("c", {"n"}, T::INT32).input("x", {"n"}).output("y");
  model.node("Where", {"c", "x", "x"}, {"y"});
  EXPECT_EQ(summary(model.import()), "Where node 'Where1': its condition is "
                                     "i32[n], but must be bool");
}

TEST(OnnxElementwise, DropoutPassesThrough) {
  ModelBuilder model(11);
  model.input("x", {"n"}).output("y").output("m");
  model.node("Dropout", {"x"}, {"y", "m"}).f("ratio", 0.5f);
  auto result = model.import();
  EXPECT_EQ(summary(result), "-> f32[n]");
  EXPECT_EQ(result->graph.type(result->graph.outputs[1].value).str(),
            "bool[n]");
  EXPECT_EQ(result->graph.outputs[0].value, result->graph.inputs[0]);
}

TEST(OnnxActivation, DefaultsAreFloats) {
  ModelBuilder model;
  model.input("x", {"n"}).output("y").node("LeakyRelu", {"x"}, {"y"});
  EXPECT_EQ(opOf(model.import(), "leaky_relu").f64("alpha"),
            static_cast<double>(0.01f));
  EXPECT_EQ(unary("HardSwish"), "hard_swish -> f32[n, 3]");
  EXPECT_EQ(unary("Softsign"), "softsign -> f32[n, 3]");
  EXPECT_EQ(unary("Gelu", 20), "gelu -> f32[n, 3]");
}

TEST(OnnxActivation, ClipBoundsByOpset) {
  ModelBuilder old(10);
  old.input("x", {"n"}).output("y");
  old.node("Clip", {"x"}, {"y"}).f("min", 0).f("max", 6);
  EXPECT_EQ(opOf(old.import(), "clamp").f64("high"), 6);
  ModelBuilder open(13);
  open.input("x", {"n"}).floats("low", {}, {-1}).output("y");
  open.node("Clip", {"x", "low"}, {"y"});
  auto result = open.import();
  EXPECT_EQ(opOf(result, "clamp").f64("low"), -1);
  EXPECT_EQ(opOf(result, "clamp").f64("high"), HUGE_VAL);
  ModelBuilder data(13);
  data.input("x", {"n"}).input("low", {}).output("y");
  data.node("Clip", {"x", "low"}, {"y"});
  EXPECT_EQ(summary(data.import()), "max -> f32[n]");
}

TEST(OnnxActivation, SoftmaxFlattensBeforeOpset13) {
  auto softmax = [](int64_t opset) {
    ModelBuilder model(opset);
    model.input("x", {"n", "3", "4"}).output("y");
    model.node("Softmax", {"x"}, {"y"}).i("axis", 1);
    return model.import();
  };
  EXPECT_EQ(summary(softmax(12)), "reshape softmax reshape -> f32[n, 3, 4]");
  EXPECT_EQ(text(opOf(softmax(12), "reshape").dims("dims")), "[n, 12]");
  EXPECT_EQ(summary(softmax(13)), "softmax -> f32[n, 3, 4]");
}
