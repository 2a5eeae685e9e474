// SPDX-License-Identifier: Apache-2.0
//
// Unique: the types of its results.
#include "ModelBuilder.h"

#include <gtest/gtest.h>

using namespace backplane;
using namespace backplane::frontend;

namespace {

/// The types of the outputs, or the message.
std::string typesOf(const Result<Model> &model) {
  if (!model.ok())
    return model.message();
  std::string line;
  for (const GraphOutput &output : model->graph.outputs)
    line += (line.empty() ? "" : " ") + model->graph.type(output.value).str();
  return line;
}

ModelBuilder uniqueOf(const Names &dims, std::optional<int64_t> axis,
                      int type = onnx::TensorProto::FLOAT) {
  ModelBuilder model;
  Names outputs{"y", "first", "runs", "sizes"};
  model.input("x", dims, type);
  for (const std::string &name : outputs)
    model.output(name);
  NodeBuilder node = model.node("Unique", {"x"}, outputs);
  if (axis)
    node.i("axis", *axis);
  return model;
}

} // namespace

TEST(OnnxUnique, CountsElementsOrSlices) {
  EXPECT_EQ(typesOf(uniqueOf({"3", "4"}, {}).import()),
            "f32[y_count] i64[y_count] i64[12] i64[y_count]");
  EXPECT_EQ(typesOf(uniqueOf({"3", "n"}, -1).import()),
            "f32[3, y_count] i64[y_count] i64[n] i64[y_count]");
}

TEST(OnnxUnique, IsBoundedByWhatItCompares) {
  Result<Model> model = uniqueOf({"3", "n"}, 1).import();
  EXPECT_EQ(text(opOf(model, "read").dims("bound")), "[n]");
  model = uniqueOf({"3", "n"}, {}).import();
  EXPECT_EQ(text(opOf(model, "read").dims("bound")), "[3*n]");
}

TEST(OnnxUnique, SortsSlicesInALoopOverTheirColumns) {
  Result<Model> model = uniqueOf({"3", "n", "2"}, 0).import();
  EXPECT_EQ(text(opOf(model, "while").dims("limit")), "[2*n]");
}

TEST(OnnxUnique, KeepsBools) {
  Result<Model> model = uniqueOf({"3"}, {}, onnx::TensorProto::BOOL).import();
  EXPECT_EQ(typesOf(model), "bool[y_count] i64[y_count] i64[3] i64[y_count]");
}

TEST(OnnxUnique, RefusesAnAxisThatIsNotThere) {
  EXPECT_NE(typesOf(uniqueOf({"3"}, 1).import()).find("axis 1 is out of range"),
            std::string::npos);
}
