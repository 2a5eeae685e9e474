// SPDX-License-Identifier: Apache-2.0
//
// If, RNN, GRU and LSTM.
#include "ModelBuilder.h"

#include <gtest/gtest.h>

using namespace backplane;
using namespace backplane::frontend;

namespace {

/// A nested graph of one node, whose output is "inner".
onnx::GraphProto branch(const std::string &op, const Names &inputs) {
  ModelBuilder model;
  model.node(op, inputs, {"inner"});
  model.output("inner");
  return model.graph();
}

/// if (c) y = then else y = otherwise, over x: f32[n, 4].
ModelBuilder branches(const onnx::GraphProto &then,
                      const onnx::GraphProto &otherwise) {
  ModelBuilder model;
  model.input("x", {"n", "4"}).output("y");
  onnx::NodeProto &node = model.node("If", {"c"}, {"y"}).proto();
  for (auto [name, graph] : {std::pair("then_branch", &then),
                             std::pair("else_branch", &otherwise)}) {
    onnx::AttributeProto &attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    *attribute.mutable_g() = *graph;
  }
  return model;
}

onnx::TensorProto boolean(bool value) {
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::BOOL);
  tensor.add_int32_data(value);
  return tensor;
}

bool mentions(const Result<Model> &model, const std::string &what) {
  return summary(model).find(what) != std::string::npos;
}

/// LSTM over x: f32[steps, n, 3] with 4 hidden elements.
ModelBuilder lstm(const std::string &steps, int64_t directions) {
  ModelBuilder model;
  model.input("x", {steps, "n", "3"}).output("y");
  model.counted("w", {directions, 16, 3}).counted("r", {directions, 16, 4});
  return model;
}

} // namespace

TEST(OnnxIf, TakesTheKnownBranch) {
  for (bool value : {false, true}) {
    ModelBuilder model = branches(branch("Exp", {"x"}), branch("Neg", {"x"}));
    model.tensor("c", boolean(value));
    EXPECT_EQ(summary(model.import()),
              value ? "exp -> f32[n, 4]" : "neg -> f32[n, 4]");
  }
}

TEST(OnnxIf, SeesNamesAroundItAndHidesItsOwn) {
  // Both branches define "inner", and so does a later node.
  ModelBuilder model = branches(branch("Exp", {"x"}), branch("Neg", {"x"}));
  model.tensor("c", boolean(true)).output("z");
  model.node("Abs", {"y"}, {"inner"});
  model.node("Sqrt", {"inner"}, {"z"});
  EXPECT_EQ(summary(model.import()), "exp abs sqrt -> f32[n, 4]");
}

TEST(OnnxIf, ReadsConstantsOfTheBranch) {
  onnx::GraphProto adding = branch("Add", {"x", "k"});
  *adding.add_initializer() =
      ModelBuilder().floats("k", {1}, {2}).graph().initializer(0);
  ModelBuilder model = branches(adding, branch("Neg", {"x"}));
  model.tensor("c", boolean(true));
  EXPECT_EQ(summary(model.import()), "add -> f32[n, 4]");
}

TEST(OnnxIf, NamesWhatItRefuses) {
  ModelBuilder data = branches(branch("Exp", {"x"}), branch("Neg", {"x"}));
  data.input("c", {}, onnx::TensorProto::BOOL);
  EXPECT_TRUE(mentions(data.import(), "its condition ('c') is computed"));
  ModelBuilder unknown = branches(branch("Exp", {"x"}), branch("Wat", {"x"}));
  unknown.tensor("c", boolean(true));
  EXPECT_TRUE(mentions(unknown.import(), "op 'Wat'"));
  ModelBuilder lost = branches(branch("Exp", {"lost"}), branch("Neg", {"x"}));
  lost.tensor("c", boolean(true));
  EXPECT_TRUE(mentions(lost.import(), "reads 'lost'"));
  onnx::GraphProto none = branch("Exp", {"x"});
  none.clear_output();
  ModelBuilder count = branches(none, none);
  count.tensor("c", boolean(true));
  EXPECT_TRUE(mentions(count.import(), "1 outputs, its nested graph 0"));
  ModelBuilder missing;
  missing.tensor("c", boolean(true)).output("y").node("If", {"c"}, {"y"});
  EXPECT_TRUE(mentions(missing.import(), "'then_branch' is missing"));
}

TEST(OnnxRecurrent, GivesTheShapesOfAllOutputs) {
  ModelBuilder model = lstm("3", 2);
  model.node("LSTM", {"x", "w", "r"}, {"y", "h", "c"})
      .s("direction", "bidirectional");
  model.output("h").output("c");
  auto result = model.import();
  ASSERT_TRUE(result.ok()) << result.message();
  const Graph &graph = result->graph;
  EXPECT_EQ(graph.type(graph.outputs[0].value).str(), "f32[3, 2, n, 4]");
  EXPECT_EQ(graph.type(graph.outputs[1].value).str(), "f32[2, n, 4]");
  EXPECT_EQ(graph.type(graph.outputs[2].value).str(), "f32[2, n, 4]");
}

TEST(OnnxRecurrent, GivesNumbersToTheFunctionsThatTakeThem) {
  ModelBuilder model = lstm("1", 1);
  auto &node = model.node("LSTM", {"x", "w", "r"}, {"y"})
                   .fs("activation_alpha", {0.5F, 0.75F})
                   .fs("activation_beta", {0.25F})
                   .proto();
  onnx::AttributeProto &names = *node.add_attribute();
  names.set_name("activations");
  names.set_type(onnx::AttributeProto::STRINGS);
  for (const char *name : {"HardSigmoid", "Tanh", "LeakyRelu"})
    names.add_strings(name);
  auto result = model.import();
  EXPECT_EQ(opOf(result, "hard_sigmoid").f64("alpha"), 0.5);
  EXPECT_EQ(opOf(result, "hard_sigmoid").f64("beta"), 0.25);
  EXPECT_EQ(opOf(result, "leaky_relu").f64("alpha"), 0.75);
}

TEST(OnnxRecurrent, NamesWhatItRefuses) {
  ModelBuilder open = lstm("t", 1);
  open.node("LSTM", {"x", "w", "r"}, {"y"});
  EXPECT_TRUE(mentions(open.import(), "a sequence length of t is not"));
  ModelBuilder sideways = lstm("2", 1);
  sideways.node("LSTM", {"x", "w", "r"}, {"y"}).s("direction", "sideways");
  EXPECT_TRUE(mentions(sideways.import(), "its direction is 'sideways'"));
  ModelBuilder gates = lstm("2", 1);
  gates.node("GRU", {"x", "w", "r"}, {"y"});
  EXPECT_TRUE(mentions(gates.import(), "recurrent weights of"));
  ModelBuilder hidden = lstm("2", 1);
  hidden.node("LSTM", {"x", "w", "r"}, {"y"}).i("hidden_size", 5);
  EXPECT_TRUE(mentions(hidden.import(), "hidden_size is not the size 4"));
  ModelBuilder directions = lstm("2", 1);
  directions.node("LSTM", {"x", "w", "r"}, {"y"})
      .s("direction", "bidirectional");
  EXPECT_FALSE(directions.import().ok());
}
