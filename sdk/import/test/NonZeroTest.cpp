// SPDX-License-Identifier: Apache-2.0
//
// NonZero and Compress: sizes that data decide.
#include "ModelBuilder.h"

#include <gtest/gtest.h>

using namespace backplane;
using namespace backplane::frontend;

namespace {

std::string typeOf(const Result<Model> &model) {
  return model.ok() ? model->graph.type(model->graph.outputs[0].value).str()
                    : model.message();
}

int64_t maximumOf(const Result<Model> &model, const std::string &name) {
  if (model.ok())
    for (const Symbol &symbol : model->graph.symbols)
      if (symbol.name == name)
        return symbol.maximum;
  ADD_FAILURE() << "no symbol " << name << " in " << summary(model);
  return -1;
}

} // namespace

TEST(OnnxNonZero, ReadsItsCount) {
  ModelBuilder fixed;
  fixed.input("x", {"3", "4"}).output("y").node("NonZero", {"x"}, {"y"});
  Result<Model> model = fixed.import();
  EXPECT_EQ(typeOf(model), "i64[2, y_count]");
  EXPECT_EQ(maximumOf(model, "y_count"), 12);
  EXPECT_EQ(text(opOf(model, "read").dims("bound")), "[12]");
  EXPECT_EQ(assertions(model), "");
}

TEST(OnnxNonZero, IsBoundedByTheSizesOfACall) {
  ModelBuilder open;
  open.input("x", {"n", "4"}).output("y").node("NonZero", {"x"}, {"y"});
  Result<Model> model = open.import();
  EXPECT_EQ(text(opOf(model, "read").dims("bound")), "[4*n]");
  EXPECT_EQ(maximumOf(model, "y_count"), INT64_MAX);
  EXPECT_EQ(assertions(model), "");
}

TEST(OnnxNonZero, TakesScalars) {
  ModelBuilder scalar;
  scalar.input("x", {}).output("y").node("NonZero", {"x"}, {"y"});
  EXPECT_EQ(typeOf(scalar.import()), "i64[0, y_count]");
}

TEST(OnnxNonZero, GivesItsSizeToWhatFollows) {
  ModelBuilder model;
  model.input("x", {"3", "4"}).output("y");
  model.node("NonZero", {"x"}, {"i"});
  model.node("Transpose", {"i"}, {"t"});
  model.node("GatherND", {"x", "t"}, {"v"});
  model.node("Shape", {"v"}, {"s"});
  model.node("ConstantOfShape", {"s"}, {"y"});
  EXPECT_EQ(typeOf(model.import()), "f32[i_count]");
}

TEST(OnnxNonZero, IsRefusedInABody) {
  ModelBuilder body;
  body.output("inner").node("NonZero", {"x"}, {"inner"});
  ModelBuilder model;
  model.input("x", {"3"}).input("c", {}, onnx::TensorProto::BOOL).output("y");
  onnx::NodeProto &node = model.node("If", {"c"}, {"y"}).proto();
  for (const char *name : {"then_branch", "else_branch"}) {
    onnx::AttributeProto &attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    *attribute.mutable_g() = body.graph();
  }
  EXPECT_NE(summary(model.import())
                .find("a size that data decide is not supported in the body of "
                      "a control flow op"),
            std::string::npos)
      << summary(model.import());
}

TEST(OnnxCompress, TakesAnAxisOrAllElements) {
  for (bool axis : {true, false}) {
    ModelBuilder model;
    model.input("x", {"3", "4"}).input("c", {"4"}, onnx::TensorProto::BOOL);
    NodeBuilder node = model.output("y").node("Compress", {"x", "c"}, {"y"});
    if (axis)
      node.i("axis", 1);
    EXPECT_EQ(typeOf(model.import()),
              axis ? "f32[3, y_count]" : "f32[y_count]");
  }
}

TEST(OnnxCompress, WantsAVectorOfBools) {
  ModelBuilder model;
  model.input("x", {"3"}).input("c", {"3", "1"}, onnx::TensorProto::BOOL);
  model.output("y").node("Compress", {"x", "c"}, {"y"});
  EXPECT_NE(summary(model.import()).find("its condition is a vector of bools"),
            std::string::npos);
}
