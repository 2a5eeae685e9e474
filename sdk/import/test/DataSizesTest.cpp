// SPDX-License-Identifier: Apache-2.0
//
// Sizes that are elements of data: what is read, and how it is bounded.
#include "ModelBuilder.h"

#include <gtest/gtest.h>

using namespace backplane;
using namespace backplane::frontend;
using T = onnx::TensorProto;

namespace {

/// "y_shape_0 <= 4*n" for each read, then the type of the output.
std::string reads(const Result<Model> &model) {
  if (!model.ok())
    return model.message();
  std::string line;
  for (const Op &op : model->graph.ops)
    if (op.name == "read")
      line += op.string("symbol") + " <= " + op.dims("bound")[0].str() + ", ";
  return line + model->graph.type(model->graph.outputs[0].value).str();
}

/// y = op(x, s) for f32 x and integers s.
ModelBuilder sized(const std::string &op, const Names &x, const Names &s,
                   int type = T::INT64) {
  ModelBuilder model;
  model.input("x", x).input("s", s, type).output("y");
  model.node(op, {"x", "s"}, {"y"});
  return model;
}

constexpr char kOpen[] = "9223372036854775807";

} // namespace

TEST(OnnxDataSizes, ReshapeIsBoundedByItsInput) {
  EXPECT_EQ(reads(sized("Reshape", {"4", "6"}, {"1"}).import()),
            "y_shape_0 <= 24, f32[24]");
  Result<Model> model = sized("Reshape", {"n", "6"}, {"2"}).import();
  EXPECT_EQ(reads(model), "y_shape_0 <= max(6*n, n), y_shape_1 <= max(6, 6*n), "
                          "f32[y_shape_0, (6*n) floordiv max(1, y_shape_0)]");
}

TEST(OnnxDataSizes, ReshapeLeavesTheRestToAnOpenEntry) {
  ModelBuilder model;
  model.input("x", {"4", "6"}).input("s", {"1"}, T::INT64).output("y");
  model.ints("rest", {1}, {-1});
  model.node("Concat", {"s", "rest"}, {"shape"}).i("axis", 0);
  model.node("Reshape", {"x", "shape"}, {"y"});
  EXPECT_EQ(reads(model.import()),
            "y_shape_0 <= 24, f32[y_shape_0, 24 floordiv max(1, y_shape_0)]");
}

TEST(OnnxDataSizes, WhatIsKnownOfAShapeIsNotRead) {
  ModelBuilder model;
  model.input("x", {"n", "1"}).input("s", {}, T::INT32).output("y");
  model.ints("first", {1}, {0}).ints("most", {}, {9});
  model.node("Shape", {"x"}, {"own"}).i("start", 0).i("end", 1);
  model.node("Cast", {"s"}, {"long"}).i("to", T::INT64);
  model.node("Min", {"long", "most"}, {"low"});
  model.node("Unsqueeze", {"low", "first"}, {"size"});
  model.node("Concat", {"own", "size"}, {"shape"}).i("axis", 0);
  model.node("Expand", {"x", "shape"}, {"y"});
  EXPECT_EQ(reads(model.import()), "y_shape_1 <= 9, f32[n, y_shape_1]");
}

TEST(OnnxDataSizes, AnElementIsReadOnce) {
  ModelBuilder model = sized("Tile", {"3"}, {"1"});
  model.ints("first", {1}, {0});
  model.node("ConstantOfShape", {"s"}, {"z"});
  model.output("z");
  EXPECT_EQ(reads(model.import()),
            "y_repeats_0 <= " + std::string(kOpen) + ", f32[3*y_repeats_0]");
}

TEST(OnnxDataSizes, ABoundIsWhatOpsShow) {
  // y = ConstantOfShape([f(s)])
  auto bound = [](int type, auto addNodes) {
    ModelBuilder model;
    model.input("s", {"1"}, type).output("y").ints("c", {1}, {10});
    addNodes(model);
    model.node("ConstantOfShape", {"k"}, {"y"});
    Result<Model> imported = model.import();
    return text(opOf(imported, "read").dims("bound"));
  };
  auto of = [&](const char *op) {
    return bound(T::UINT8, [&](ModelBuilder &model) {
      model.node("Cast", {"s"}, {"a"}).i("to", T::INT64);
      model.node(op, {"a", "c"}, {"k"});
    });
  };
  EXPECT_EQ(of("Min"), "[10]");
  EXPECT_EQ(of("Max"), "[255]");
  EXPECT_EQ(of("Add"), "[265]");
  EXPECT_EQ(of("Mul"), "[2550]");
  EXPECT_EQ(of("Div"), "[25]");
  EXPECT_EQ(of("Sub"), "[245]");
  EXPECT_EQ(bound(T::FLOAT,
                  [](ModelBuilder &model) {
                    model.node("ArgMax", {"s"}, {"k"}).i("axis", 0);
                  }),
            "[0]");
  EXPECT_EQ(bound(T::BOOL,
                  [](ModelBuilder &model) {
                    model.node("Cast", {"s"}, {"a"}).i("to", T::INT64);
                    model.node("ReduceSum", {"a"}, {"k"});
                  }),
            "[1]");
}

/// Values that are used twice are asked once, and sizes are found among many
/// without a look at all of them: else neither would end.
TEST(OnnxDataSizes, ABoundTakesNoLongerThanTheOps) {
  ModelBuilder doubled;
  doubled.input("v0", {"1"}, T::INT64).output("y");
  for (int i = 0; i < 60; ++i) {
    std::string from = "v" + std::to_string(i),
                to = "v" + std::to_string(i + 1);
    doubled.node("Mul", {from, from}, {to});
  }
  doubled.node("ConstantOfShape", {"v60"}, {"y"});
  EXPECT_EQ(reads(doubled.import()),
            "y_shape_0 <= " + std::string(kOpen) + ", f32[y_shape_0]");

  constexpr int many = 1000;
  ModelBuilder sizes;
  for (int i = 0; i < many; ++i) {
    std::string size = "s" + std::to_string(i), y = "y" + std::to_string(i);
    sizes.input(size, {"1"}, T::INT64).output(y);
    sizes.node("ConstantOfShape", {size}, {y});
  }
  Result<Model> imported = sizes.import();
  EXPECT_TRUE(imported.ok()) << imported.status().message();
}

TEST(OnnxDataSizes, ABoundIsWhatTheModelDeclares) {
  ModelBuilder model = sized("Expand", {"1"}, {"1"});
  onnx::TypeProto::Tensor &type =
      *model.graph().mutable_output(0)->mutable_type()->mutable_tensor_type();
  type.set_elem_type(T::FLOAT);
  type.mutable_shape()->add_dim()->set_dim_value(7);
  EXPECT_EQ(reads(model.import()), "y_shape_0 <= 7, f32[y_shape_0]");
}

TEST(OnnxDataSizes, SlicesAndPartsAreBoundedByTheirAxis) {
  ModelBuilder model;
  model.input("x", {"n", "6"}).output("y");
  model.input("s", {"2"}, T::INT64).input("e", {"2"}, T::INT64);
  model.ints("a", {2}, {1, 0}).ints("t", {2}, {2, -1});
  model.node("Slice", {"x", "s", "e", "a", "t"}, {"y"});
  EXPECT_EQ(reads(model.import()),
            "y_size_1 <= 3, y_size_0 <= n, f32[y_size_0, y_size_1]");
  EXPECT_EQ(reads(sized("TopK", {"n"}, {"1"}).import()),
            "y_k_0 <= n, f32[y_k_0]");
}

TEST(OnnxDataSizes, AKnownAxisIsNotRead) {
  ModelBuilder model;
  model.input("x", {"8", "6"}).input("s", {"1"}, T::INT64).output("y");
  model.ints("two", {1}, {2}).ints("ends", {2}, {4, 9});
  model.node("Concat", {"two", "s"}, {"starts"}).i("axis", 0);
  model.node("Slice", {"x", "starts", "ends"}, {"y"});
  EXPECT_EQ(reads(model.import()), "y_size_1 <= 6, f32[2, y_size_1]");
}

TEST(OnnxDataSizes, TheNumberOfSizesIsKnown) {
  EXPECT_NE(reads(sized("Reshape", {"4"}, {"r"}).import())
                .find("its shape ('s') is i64[r]: how many elements it has "
                      "must be known at import"),
            std::string::npos);
}
