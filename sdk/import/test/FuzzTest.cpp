// SPDX-License-Identifier: Apache-2.0
//
// Random damage: an import may fail, but only with one line, and what it gives
// must verify.
#include "ModelBuilder.h"

#include <gtest/gtest.h>
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

} // namespace

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
