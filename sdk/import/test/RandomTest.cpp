// SPDX-License-Identifier: Apache-2.0
//
// Random ops: their keys, the counter that they share, what is refused.
#include "ModelBuilder.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

using namespace backplane;
using namespace backplane::frontend;
using T = onnx::TensorProto;

namespace {

/// The keys of all random_bits of the graph, in order.
std::vector<uint64_t> keysOf(const Graph &graph) {
  std::vector<uint64_t> keys;
  for (const Op &op : graph.ops)
    if (op.name == "random_bits")
      for (const Op &made : graph.ops)
        if (made.results == std::vector{op.operands[0]}) {
          uint64_t key = 0;
          for (size_t i = 8; i-- > 0;)
            key = key << 8 | made.bytes("value")->at(i);
          keys.push_back(key);
        }
  return keys;
}

size_t countOf(const Graph &graph, std::string_view name) {
  return size_t(std::ranges::count(graph.ops, name, &Op::name));
}

/// A model of one node whose input is x: f32[n, 3] of a type.
Result<Model> like(const std::string &op, int type,
                   const std::function<void(NodeBuilder &)> &change = {}) {
  ModelBuilder model(22);
  model.input("x", {"n", "3"}, type).output("y");
  NodeBuilder node = model.node(op, {"x"}, {"y"});
  if (change)
    change(node);
  return model.import();
}

} // namespace

TEST(OnnxRandom, KeysAreSeedsOrNumbers) {
  ModelBuilder model(22);
  model.output("a").output("b").output("c").output("d");
  std::vector<int64_t> shape{2, 3};
  model.node("RandomUniform", {}, {"a"}).is("shape", shape).f("seed", 1);
  model.node("RandomUniform", {}, {"b"}).is("shape", shape);
  model.node("RandomUniform", {}, {"c"}).is("shape", shape);
  model.node("RandomUniform", {}, {"d"}).is("shape", shape).f("seed", 1);
  auto result = model.import();
  ASSERT_TRUE(result.ok()) << result.message();
  uint64_t seed = 0x3F800000, number = uint64_t(1) << 32;
  EXPECT_EQ(keysOf(result->graph),
            (std::vector{seed, number, number + 1, seed}));
}

TEST(OnnxRandom, OneVariableCountsCalls) {
  ModelBuilder model(22);
  model.output("a").output("b");
  for (const char *name : {"a", "b"})
    model.node("RandomNormal", {}, {name}).is("shape", {4});
  auto result = model.import();
  ASSERT_TRUE(result.ok()) << result.message();
  const Graph &graph = result->graph;
  ASSERT_EQ(graph.variables.size(), 1u);
  EXPECT_EQ(graph.variables[0].type.str(), "u64[]");
  EXPECT_EQ(countOf(graph, "variable_read"), 1u);
  EXPECT_EQ(countOf(graph, "variable_write"), 1u);
  // The two draws of a node have keys of their own, as the nodes have.
  std::vector<uint64_t> keys = keysOf(graph);
  ASSERT_EQ(keys.size(), 4u);
  std::ranges::sort(keys);
  EXPECT_EQ(std::ranges::adjacent_find(keys), keys.end());
  EXPECT_TRUE(graph.verify().ok());
}

TEST(OnnxRandom, ModelsWithoutOneHaveNoVariable) {
  auto result = like("Neg", T::FLOAT);
  ASSERT_TRUE(result.ok()) << result.message();
  EXPECT_TRUE(result->graph.variables.empty());
}

TEST(OnnxRandom, TakesShapeAndDtypeOfTheInput) {
  auto typeOf = [](const Result<Model> &result) {
    EXPECT_TRUE(result.ok()) << result.message();
    const Graph &graph = result->graph;
    return graph.type(graph.outputs[0].value).str();
  };
  EXPECT_EQ(typeOf(like("RandomUniformLike", T::FLOAT16)), "f16[n, 3]");
  EXPECT_EQ(typeOf(like("RandomNormalLike", T::BFLOAT16)), "bf16[n, 3]");
  EXPECT_EQ(typeOf(like("RandomNormalLike", T::INT32,
                        [](NodeBuilder &b) { b.i("dtype", T::DOUBLE); })),
            "f64[n, 3]");
  EXPECT_EQ(typeOf(like("Bernoulli", T::FLOAT,
                        [](NodeBuilder &b) { b.i("dtype", T::BOOL); })),
            "bool[n, 3]");
  EXPECT_EQ(typeOf(like("Multinomial", T::FLOAT16,
                        [](NodeBuilder &b) { b.i("sample_size", 5); })),
            "i32[n, 5]");
}

TEST(OnnxRandom, LoopsMixInTheIteration) {
  ModelBuilder body(22);
  body.input("i", {}, T::INT64).input("on", {}, T::BOOL);
  body.input("v", {"2"});
  body.output("go").output("next");
  body.node("Identity", {"on"}, {"go"});
  body.node("RandomUniformLike", {"v"}, {"drawn"});
  body.node("Add", {"v", "drawn"}, {"next"});
  ModelBuilder model(22);
  model.input("x", {"2"}).output("y").ints("m", {}, {5});
  onnx::AttributeProto &attribute =
      *model.node("Loop", {"m", "", "x"}, {"y"}).proto().add_attribute();
  attribute.set_name("body");
  attribute.set_type(onnx::AttributeProto::GRAPH);
  *attribute.mutable_g() = body.graph();
  auto result = model.import();
  ASSERT_TRUE(result.ok()) << result.message();
  const Graph &graph = result->graph;
  EXPECT_EQ(countOf(graph, "variable_read"), 1u);
  EXPECT_EQ(countOf(graph, "random_bits"), 0u);
  // One that mixes, and one that draws from what was mixed.
  const Graph &region = opOf(result, "while").regions[0];
  ASSERT_EQ(countOf(region, "random_bits"), 2u);
  EXPECT_EQ(countOf(region, "dim"), 1u);
}

TEST(OnnxRandom, NamesWhatItRefuses) {
  auto message = [](const Result<Model> &result) {
    EXPECT_FALSE(result.ok());
    return result.message();
  };
  EXPECT_EQ(message(like("RandomUniformLike", T::INT32)),
            "RandomUniformLike node 'RandomUniformLike1': random numbers of "
            "i32 are not "
            "supported");
  EXPECT_EQ(message(like("Multinomial", T::FLOAT,
                         [](NodeBuilder &b) { b.i("sample_size", -1); })),
            "Multinomial node 'Multinomial1': sample_size is -1");
  EXPECT_EQ(message(like("Multinomial", T::FLOAT,
                         [](NodeBuilder &b) { b.i("dtype", T::FLOAT); })),
            "Multinomial node 'Multinomial1': dtype must be int32 or int64");
  ModelBuilder negative(22), endless(22), none(22);
  for (ModelBuilder *model : {&negative, &endless, &none})
    model->output("y");
  negative.node("RandomUniform", {}, {"y"}).is("shape", {2, -1});
  EXPECT_EQ(
      message(negative.import()),
      "RandomUniform node 'RandomUniform1': shape has the negative size -1");
  endless.node("RandomUniform", {}, {"y"}).is("shape", {INT64_MAX, INT64_MAX});
  EXPECT_FALSE(endless.import().ok());
  none.node("RandomNormal", {}, {"y"});
  EXPECT_EQ(message(none.import()),
            "RandomNormal node 'RandomNormal1': attribute 'shape' is missing");
}

TEST(OnnxRandom, RefusesBoundsThatAreNotFinite) {
  auto message = [](const char *op, const char *attribute, float value) {
    auto result =
        like(op, T::FLOAT, [&](NodeBuilder &b) { b.f(attribute, value); });
    EXPECT_FALSE(result.ok());
    return result.message();
  };
  EXPECT_EQ(message("RandomUniformLike", "low", -INFINITY),
            "RandomUniformLike node 'RandomUniformLike1': low and high must be "
            "finite");
  EXPECT_EQ(message("RandomNormalLike", "scale", NAN),
            "RandomNormalLike node 'RandomNormalLike1': mean and scale must be "
            "finite");
}

TEST(OnnxDropout, DrawsOnlyInTraining) {
  auto training = [](int64_t value) {
    ModelBuilder model(22);
    model.input("x", {"n", "3"}, T::FLOAT16).output("y").output("m");
    model.floats("r", {}, {0.25f});
    T flag;
    flag.set_data_type(T::BOOL);
    flag.add_int32_data(int(value));
    model.tensor("t", flag);
    model.node("Dropout", {"x", "r", "t"}, {"y", "m"}).i("seed", 5);
    return model.import();
  };
  EXPECT_EQ(summary(training(0)), "-> f16[n, 3]");
  auto result = training(1);
  ASSERT_TRUE(result.ok()) << result.message();
  EXPECT_EQ(keysOf(result->graph), std::vector<uint64_t>{5});
  EXPECT_EQ(result->graph.type(result->graph.outputs[1].value).str(),
            "bool[n, 3]");
}
