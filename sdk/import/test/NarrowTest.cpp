// SPDX-License-Identifier: Apache-2.0
//
// Nodes on narrow floats: f32 inside, each output rounded once.
#include "ModelBuilder.h"
#include "sdk/graph/Rounding.h"

#include <gtest/gtest.h>

using namespace backplane;
using namespace backplane::frontend;

namespace {

constexpr int kF16 = onnx::TensorProto::FLOAT16;
constexpr int kBF16 = onnx::TensorProto::BFLOAT16;

/// Ops of the graph that may round to f16 or bf16.
std::string roundings(const Result<Model> &model) {
  std::string names;
  EXPECT_TRUE(model.ok()) << model.message();
  for (const Op &op : model.ok() ? model->graph.ops : std::vector<Op>())
    if (roundsToNarrow(model->graph, op))
      names += (names.empty() ? "" : " ") + op.name;
  return names;
}

/// The model of one node with an input x and an output y.
ModelBuilder single(const std::string &op, int type, const Names &dims,
                    std::function<void(NodeBuilder &)> change) {
  ModelBuilder model(22);
  model.input("x", dims, type).output("y");
  NodeBuilder node = model.node(op, {"x"}, {"y"});
  change(node);
  return model;
}

TEST(NarrowImport, RoundsWhatTakesSeveralOpsOnce) {
  using B = NodeBuilder;
  const std::tuple<const char *, std::function<void(B &)>> nodes[] = {
      {"MeanVarianceNormalization", [](B &) {}},
      {"LRN", [](B &b) { b.i("size", 3); }},
      {"LpPool", [](B &b) { b.is("kernel_shape", {2, 2}); }},
      {"LpPool", [](B &b) { b.is("kernel_shape", {2, 2}).i("p", 3); }},
      {"GlobalLpPool", [](B &) {}},
      {"GlobalAveragePool", [](B &) {}},
      {"LpNormalization", [](B &b) { b.i("axis", 1); }},
      {"ReduceL2", [](B &) {}},
      {"ReduceMean", [](B &) {}},
      {"ReduceLogSum", [](B &) {}},
      {"ReduceSumSquare", [](B &) {}},
      {"Shrink", [](B &b) { b.f("bias", 0.1f); }},
      {"ReduceSum", [](B &) {}},
  };
  for (const auto &[op, change] : nodes)
    for (int type : {kF16, kBF16}) {
      auto model = single(op, type, {"n", "4", "6", "7"}, change).import();
      std::string expected = op == std::string("ReduceSum") ? "reduce" : "cast";
      EXPECT_EQ(roundings(model), expected) << op;
      EXPECT_EQ(model->graph.type(model->graph.outputs[0].value).dtype,
                model->graph.type(model->graph.inputs[0]).dtype)
          << op;
    }
}

TEST(NarrowImport, KeepsNarrowOperandsAndRoundsAfterTheBias) {
  ModelBuilder model(22);
  model.input("a", {"m", "4"}, kF16).input("b", {"4", "5"}, kF16);
  model.input("c", {"5"}, kF16).output("y").output("z");
  model.node("Gemm", {"a", "b", "c"}, {"y"});
  model.node("Gemm", {"a", "b", "c"}, {"z"}).f("alpha", 0.01f);
  auto result = model.import();
  EXPECT_EQ(roundings(result), "cast cast");
  const Op &product = opOf(result, "matmul");
  EXPECT_EQ(result->graph.type(product.operands[1]).dtype, DType::F16);
  EXPECT_EQ(result->graph.type(product.results[0]).dtype, DType::F32);
}

TEST(NarrowImport, TakesTheWiderOfMixedTypes) {
  ModelBuilder model(22);
  model.input("x", {"n", "3", "5"}, onnx::TensorProto::FLOAT).output("y");
  for (const char *name : {"s", "b", "m", "v"})
    model.input(name, {"3"}, kF16);
  model.node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"y"});
  auto result = model.import();
  EXPECT_EQ(roundings(result), "");
  EXPECT_EQ(result->graph.type(opOf(result, "batch_norm").operands[0]).dtype,
            DType::F32);
}

TEST(NarrowImport, RunsCellsInF32) {
  ModelBuilder model(22);
  model.input("x", {"3", "2", "4"}, kF16).output("y");
  model.input("w", {"1", "20", "4"}, kF16).input("r", {"1", "20", "5"}, kF16);
  model.node("LSTM", {"x", "w", "r"}, {"y"}).i("hidden_size", 5);
  EXPECT_EQ(roundings(model.import()), "cast");
}

} // namespace
