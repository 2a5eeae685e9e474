// SPDX-License-Identifier: Apache-2.0
//
// If, Loop, Scan, RNN, GRU and LSTM.
#include "ModelBuilder.h"

#include <gtest/gtest.h>

#include <algorithm>

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
  ModelBuilder ranks = branches(branch("Exp", {"x"}), branch("Size", {"x"}));
  ranks.input("c", {}, onnx::TensorProto::BOOL);
  EXPECT_TRUE(mentions(ranks.import(), "branches that give f32[n, 4] and"));
  ModelBuilder number = branches(branch("Exp", {"x"}), branch("Neg", {"x"}));
  number.input("c", {}, onnx::TensorProto::INT64);
  EXPECT_TRUE(mentions(number.import(), "must be one bool"));
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

TEST(OnnxIf, BecomesRegionsWhenDataDecide) {
  onnx::GraphProto adding = branch("Add", {"x", "k"});
  *adding.add_initializer() =
      ModelBuilder().floats("k", {1}, {2}).graph().initializer(0);
  ModelBuilder model = branches(adding, branch("Mul", {"x", "z"}));
  model.input("c", {"1"}, onnx::TensorProto::BOOL).input("z", {"n", "1"});
  auto result = model.import();
  ASSERT_TRUE(result.ok()) << result.message();
  EXPECT_EQ(summary(result), "reshape if -> f32[n, 4]");
  const Op &op = opOf(result, "if");
  // The predicate, x and z; the constant stands inside.
  EXPECT_EQ(op.operands.size(), 3u);
  EXPECT_EQ(op.regions[0].inputs.size(), 2u);
  EXPECT_EQ(op.regions[0].ops.back().name, "add");
  EXPECT_EQ(op.regions[1].ops.back().name, "mul");
}

TEST(OnnxIf, IsChosenBySizesWithoutData) {
  ModelBuilder model = branches(branch("Exp", {"x"}), branch("Neg", {"x"}));
  model.node("Size", {"x"}, {"s"}).proto();
  model.ints("eight", {}, {8});
  model.node("Equal", {"s", "eight"}, {"c"});
  // The nodes stand behind the If, which must follow them.
  auto &nodes = *model.graph().mutable_node();
  std::rotate(nodes.pointer_begin(), nodes.pointer_begin() + 1,
              nodes.pointer_end());
  auto result = model.import();
  EXPECT_EQ(summary(result), "if -> f32[n, 4]");
  EXPECT_EQ(text(opOf(result, "if").dims("condition")),
            "[-min(1, max(-4*n + 8, 4*n - 8)) + 1]");
}

TEST(OnnxIf, TakesTheFirstBranchWhereSizesChangeTheRank) {
  onnx::GraphProto squeezed = branch("Squeeze", {"x", "axis"});
  ModelBuilder model = branches(squeezed, branch("Identity", {"x"}));
  model.ints("axis", {1}, {0}).ints("one", {}, {1}).ints("zero", {}, {0});
  model.node("Shape", {"x"}, {"shape"});
  model.node("Gather", {"shape", "zero"}, {"first"});
  model.node("Equal", {"first", "one"}, {"c"});
  auto &nodes = *model.graph().mutable_node();
  std::rotate(nodes.pointer_begin(), nodes.pointer_begin() + 1,
              nodes.pointer_end());
  auto result = model.import();
  EXPECT_EQ(summary(result), "reshape -> f32[4]");
  EXPECT_NE(assertions(result), "");
}

/// Loop over x: f32[2, 3] that carries a sum and gives each sum.
ModelBuilder loop(const std::string &count, const std::string &condition) {
  ModelBuilder body;
  body.input("i", {}, onnx::TensorProto::INT64);
  body.input("going", {}, onnx::TensorProto::BOOL);
  body.input("before", {"2", "3"});
  body.node("Add", {"before", "x"}, {"after"});
  body.node("Identity", {"going"}, {"on"});
  body.node("Identity", {"after"}, {"each"});
  body.output("on").output("after").output("each");
  ModelBuilder model;
  model.input("x", {"2", "3"}).output("y").output("all");
  onnx::NodeProto &node =
      model.node("Loop", {count, condition, "x"}, {"y", "all"}).proto();
  onnx::AttributeProto &attribute = *node.add_attribute();
  attribute.set_name("body");
  attribute.set_type(onnx::AttributeProto::GRAPH);
  *attribute.mutable_g() = body.graph();
  return model;
}

TEST(OnnxLoop, CountsWithoutAPredicate) {
  ModelBuilder model = loop("m", "");
  model.ints("m", {}, {5});
  auto result = model.import();
  ASSERT_TRUE(result.ok()) << result.message();
  const Op &op = opOf(result, "while");
  EXPECT_EQ(op.i64("conditional"), 0);
  EXPECT_EQ(text(op.dims("limit")), "[5]");
  EXPECT_EQ(op.regions[0].symbols[0].maximum, 4);
  const Graph &graph = result->graph;
  EXPECT_EQ(graph.type(graph.outputs[1].value).str(), "f32[5, 2, 3]");
}

TEST(OnnxLoop, HidesNamesAroundItsBody) {
  // The body calls what it carries "x", as the model does its input.
  ModelBuilder model = loop("m", "");
  model.ints("m", {}, {5}).output("z").node("Neg", {"x"}, {"z"});
  onnx::GraphProto &body =
      *model.graph().mutable_node(0)->mutable_attribute(0)->mutable_g();
  body.mutable_input(2)->set_name("x");
  body.mutable_node(0)->set_input(0, "x");
  auto result = model.import();
  EXPECT_EQ(summary(result), "while neg -> f32[2, 3]");
  // Nothing of the model is used inside.
  EXPECT_EQ(opOf(result, "while").operands.size(), 1u);
}

TEST(OnnxLoop, AsksAPredicateWhenDataCount) {
  ModelBuilder model = loop("m", "");
  model.input("m", {}, onnx::TensorProto::INT64);
  EXPECT_TRUE(mentions(model.import(), "declare its shape"));
  auto &shape = *model.graph()
                     .mutable_output(1)
                     ->mutable_type()
                     ->mutable_tensor_type()
                     ->mutable_shape();
  for (int64_t dim : {7, 2, 3})
    shape.add_dim()->set_dim_value(dim);
  auto result = model.import();
  ASSERT_TRUE(result.ok()) << result.message();
  const Op &op = opOf(result, "while");
  EXPECT_EQ(op.i64("conditional"), 1);
  EXPECT_EQ(text(op.dims("limit")), "[7]");
}

TEST(OnnxLoop, NamesWhatItRefuses) {
  ModelBuilder model = loop("m", "");
  model.ints("m", {}, {5});
  onnx::GraphProto &body =
      *model.graph().mutable_node(0)->mutable_attribute(0)->mutable_g();
  ModelBuilder grown = model;
  grown.graph()
      .mutable_node(0)
      ->mutable_attribute(0)
      ->mutable_g()
      ->mutable_node(0)
      ->set_op_type("Concat");
  onnx::AttributeProto &axis = *grown.graph()
                                    .mutable_node(0)
                                    ->mutable_attribute(0)
                                    ->mutable_g()
                                    ->mutable_node(0)
                                    ->add_attribute();
  axis.set_name("axis");
  axis.set_type(onnx::AttributeProto::INT);
  EXPECT_TRUE(mentions(grown.import(),
                       "a carried value that changes from f32[2, 3] to "
                       "f32[4, 3] is not supported"));
  body.clear_output();
  EXPECT_TRUE(mentions(model.import(), "its body has 3 inputs and 0 outputs"));
}

TEST(OnnxScan, StacksAlongAnyAxis) {
  ModelBuilder body;
  body.input("before", {"2"}).input("row", {"2"});
  body.node("Add", {"before", "row"}, {"after"});
  body.node("Identity", {"after"}, {"each"});
  body.output("after").output("each");
  ModelBuilder model;
  model.input("s", {"2"}).input("x", {"2", "t"}).output("all").output("y");
  NodeBuilder node = model.node("Scan", {"s", "x"}, {"y", "all"});
  node.i("num_scan_inputs", 1).is("scan_input_axes", {1});
  node.is("scan_input_directions", {1}).is("scan_output_axes", {-1});
  onnx::AttributeProto &attribute = *node.proto().add_attribute();
  attribute.set_name("body");
  attribute.set_type(onnx::AttributeProto::GRAPH);
  *attribute.mutable_g() = body.graph();
  auto result = model.import();
  EXPECT_EQ(summary(result), "transpose while transpose -> f32[2, t]");
  EXPECT_EQ(text(opOf(result, "while").dims("limit")), "[t]");
}

TEST(OnnxRecurrent, LoopsOverAnOpenLength) {
  ModelBuilder model = lstm("t", 2);
  model.node("LSTM", {"x", "w", "r"}, {"y", "h"})
      .s("direction", "bidirectional");
  model.output("h");
  auto result = model.import();
  ASSERT_TRUE(result.ok()) << result.message();
  const Graph &graph = result->graph;
  EXPECT_EQ(graph.type(graph.outputs[0].value).str(), "f32[t, 2, n, 4]");
  EXPECT_EQ(graph.type(graph.outputs[1].value).str(), "f32[2, n, 4]");
  // Its weights stand inside.
  const Op &op = opOf(result, "while");
  bool reads = false;
  for (const Op &inner : op.regions[0].ops)
    reads |= inner.name == "weight";
  EXPECT_TRUE(reads);
}

// Two directions are a batch, but for functions that differ.
TEST(OnnxRecurrent, RunsBothDirectionsAtOnce) {
  for (const char *last : {"Tanh", "Relu"}) {
    ModelBuilder model = lstm("70", 2);
    auto &node = model.node("LSTM", {"x", "w", "r"}, {"y"})
                     .s("direction", "bidirectional")
                     .proto();
    onnx::AttributeProto &names = *node.add_attribute();
    names.set_name("activations");
    names.set_type(onnx::AttributeProto::STRINGS);
    for (const char *name :
         {"Sigmoid", "Tanh", "Tanh", "Sigmoid", "Tanh", last})
      names.add_strings(name);
    auto result = model.import();
    ASSERT_TRUE(result.ok()) << result.message();
    auto loops = std::ranges::count_if(
        result->graph.ops, [](const Op &op) { return op.name == "while"; });
    EXPECT_EQ(loops, last == std::string("Tanh") ? 1 : 2);
  }
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
