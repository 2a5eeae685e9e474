// SPDX-License-Identifier: Apache-2.0
//
// Random damage: an import may fail, but only with one line, and what it gives
// must verify.
#include "ModelBuilder.h"

#include <gtest/gtest.h>
#include <iterator>
#include <random>

using namespace backplane;
using namespace backplane::frontend;

namespace {

/// A model that meets most parts of the importer.
std::string seedModel() {
  ModelBuilder model(13);
  model.input("x", {"n", "3", "h", "8"}).counted("w", {4, 3, 3, 3});
  model.counted("b", {4}).ints("zero", {}, {0}).ints("rest", {1}, {-1});
  model.ints("axes", {1}, {0}).ints("ends", {1}, {2}).output("y");
  model.node("Conv", {"x", "w", "b"}, {"c"})
      .is("pads", {1, 1, 1, 1})
      .is("strides", {2, 2})
      .i("group", 1);
  model.node("Relu", {"c"}, {"r"});
  model.node("MaxPool", {"r"}, {"p"})
      .is("kernel_shape", {2, 2})
      .s("auto_pad", "SAME_UPPER");
  model.node("Shape", {"p"}, {"shape"});
  model.node("Gather", {"shape", "zero"}, {"first"});
  model.node("Unsqueeze", {"first", "axes"}, {"vector"});
  model.node("Concat", {"vector", "rest"}, {"target"}).i("axis", 0);
  model.node("Reshape", {"p", "target"}, {"flat"});
  model.node("Slice", {"flat", "axes", "ends", "axes"}, {"cut"});
  model.node("Softmax", {"cut"}, {"s"}).i("axis", 1);
  model.node("ReduceMean", {"s"}, {"y"}).is("axes", {1}).i("keepdims", 0);
  return model.bytes();
}

void damage(std::string &bytes, std::mt19937 &random) {
  auto below = [&](size_t limit) { return random() % limit; };
  switch (below(5)) {
  case 0:
    bytes[below(bytes.size())] ^= static_cast<char>(1 << below(8));
    break;
  case 1:
    bytes[below(bytes.size())] = static_cast<char>(random());
    break;
  case 2: // a varint grows by a byte
    bytes.insert(below(bytes.size()), 1, static_cast<char>(0x80 | random()));
    break;
  case 3:
    bytes.erase(below(bytes.size()), 1 + below(4));
    break;
  default: { // a piece is copied elsewhere
    std::string piece = bytes.substr(below(bytes.size()), 1 + below(24));
    bytes.replace(below(bytes.size()), piece.size(), piece);
  }
  }
}

/// One number of the model becomes an extreme one.
void exaggerate(onnx::GraphProto &graph, std::mt19937 &random) {
  static const int64_t extremes[] = {0,         1,         -1,        2,
                                     INT32_MAX, INT32_MIN, 1ll << 40, 1ll << 46,
                                     INT64_MAX, INT64_MIN};
  int64_t value = extremes[random() % std::size(extremes)];
  auto pick = [&](int count) {
    return static_cast<int>(random() % static_cast<unsigned>(count));
  };
  onnx::NodeProto &node = *graph.mutable_node(pick(graph.node_size()));
  onnx::TensorProto &tensor =
      *graph.mutable_initializer(pick(graph.initializer_size()));
  switch (random() % 4) {
  case 0:
    if (node.attribute_size()) {
      auto &attribute = *node.mutable_attribute(pick(node.attribute_size()));
      if (attribute.ints_size())
        attribute.set_ints(pick(attribute.ints_size()), value);
      else if (attribute.has_i())
        attribute.set_i(value);
    }
    break;
  case 1:
    if (tensor.int64_data_size())
      tensor.set_int64_data(pick(tensor.int64_data_size()), value);
    break;
  case 2:
    if (tensor.dims_size())
      tensor.set_dims(pick(tensor.dims_size()), value);
    break;
  default: {
    auto &shape = *graph.mutable_input(0)
                       ->mutable_type()
                       ->mutable_tensor_type()
                       ->mutable_shape();
    shape.mutable_dim(pick(shape.dim_size()))->set_dim_value(value);
  }
  }
}

} // namespace

TEST(OnnxFuzz, ExtremeNumbers) {
  onnx::ModelProto seed;
  ASSERT_TRUE(seed.ParseFromString(seedModel()));
  std::mt19937 random(21);
  int imported = 0;
  for (int round = 0; round < 5000; ++round) {
    onnx::ModelProto model = seed;
    for (size_t i = 0, count = 1 + random() % 2; i < count; ++i)
      exaggerate(*model.mutable_graph(), random);
    auto result = importBytes(model.SerializeAsString());
    imported += result.ok();
    if (result.ok())
      EXPECT_TRUE(result->graph.verify().ok());
    else
      EXPECT_NE(result.code(), BP_STATUS_INTERNAL) << result.message();
  }
  EXPECT_GT(imported, 100);
  EXPECT_LT(imported, 4000);
}

TEST(OnnxFuzz, DamagedModels) {
  std::string seed = seedModel();
  ASSERT_TRUE(importBytes(seed).ok()) << importBytes(seed).message();
  std::mt19937 random(20);
  int imported = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = seed;
    for (size_t i = 0, count = 1 + random() % 3; i < count; ++i)
      damage(bytes, random);
    auto result = importBytes(bytes);
    if (result.ok()) {
      ++imported;
      EXPECT_TRUE(result->graph.verify().ok());
      continue;
    }
    EXPECT_FALSE(result.message().empty());
    EXPECT_EQ(result.message().find('\n'), std::string::npos);
  }
  // Damage to weights and names goes unnoticed, so both ends were reached.
  EXPECT_GT(imported, 1000);
  EXPECT_LT(imported, 19000);
}
