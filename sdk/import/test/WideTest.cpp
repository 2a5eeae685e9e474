// SPDX-License-Identifier: Apache-2.0
//
// Attention, contractions of small integers, ordering ops, Einsum.
#include "ModelBuilder.h"

#include <gtest/gtest.h>

using namespace backplane;
using namespace backplane::frontend;

namespace {

constexpr int kU8 = onnx::TensorProto::UINT8;

TEST(OnnxAttention, SplitsHeadsAndStatesTheCause) {
  ModelBuilder model(23);
  model.input("q", {"b", "s", "12"}).input("k", {"b", "t", "6"});
  model.input("v", {"b", "t", "6"}).output("y");
  model.node("Attention", {"q", "k", "v"}, {"y"})
      .i("q_num_heads", 4)
      .i("kv_num_heads", 2)
      .i("is_causal", 1);
  auto result = model.import();
  const Op &op = opOf(result, "attention");
  EXPECT_EQ(op.operands.size(), 3u);
  EXPECT_EQ(text(op.dims("causal")), text({Dim(0)}));
  EXPECT_NEAR(op.f64("scale"), 0.5773502691896258, 1e-15);
  EXPECT_EQ(summary(result),
            "reshape transpose reshape transpose reshape transpose attention "
            "transpose reshape -> f32[b, s, 12]");
}

TEST(OnnxAttention, RefusesTheScores) {
  ModelBuilder model(23);
  model.input("q", {"b", "2", "s", "4"}).output("z");
  model.node("Attention", {"q", "q", "q"}, {"y", "", "", "z"});
  EXPECT_EQ(summary(model.import()),
            "Attention node 'Attention1': output 3 ('z') is not supported");
}

TEST(OnnxIntegers, KeepOperandsAndZeroPoints) {
  ModelBuilder model(17);
  model.input("a", {"n", "3"}, kU8).input("b", {"3", "5"}, kU8);
  model.input("z", {"1"}, kU8).output("y");
  model.node("MatMulInteger", {"a", "b", "z"}, {"y"});
  auto result = model.import();
  const Op &op = opOf(result, "matmul_integer");
  ASSERT_EQ(op.operands.size(), 4u);
  EXPECT_EQ(result->graph.type(op.operands[2]).str(), "u8[]");
  EXPECT_EQ(result->graph.type(op.results[0]).str(), "i32[n, 5]");
}

TEST(OnnxOrder, TopKGivesValuesAndIndices) {
  ModelBuilder model(17);
  model.input("x", {"n", "9"}).ints("k", {1}, {3}).output("i");
  model.node("TopK", {"x", "k"}, {"v", "i"}).i("largest", 0);
  auto result = model.import();
  EXPECT_EQ(opOf(result, "top_k").i64("largest"), 0);
  EXPECT_EQ(summary(result), "top_k -> i64[n, 3]");
}

TEST(OnnxOrder, CumSumNeedsTheAxis) {
  ModelBuilder model(17);
  model.input("x", {"n", "9"}).ints("a", {}, {-1}).output("y");
  model.node("CumSum", {"x", "a"}, {"y"}).i("reverse", 1);
  auto result = model.import();
  EXPECT_EQ(opOf(result, "cumulative").i64("axis"), 1);
  EXPECT_EQ(opOf(result, "cumulative").i64("reverse"), 1);
}

std::string einsum(const std::string &equation) {
  ModelBuilder model(17);
  model.input("a", {"n", "3"}).input("b", {"m", "3"}).output("y");
  model.node("Einsum", {"a", "b"}, {"y"}).s("equation", equation);
  return summary(model.import());
}

TEST(OnnxEinsum, IsAMatmulOrARefusal) {
  EXPECT_NE(einsum("ij, kj -> ik").find("matmul"), std::string::npos);
  EXPECT_NE(einsum("ij, kj -> ik").find("-> f32[n, m]"), std::string::npos);
  EXPECT_NE(einsum("ij, kj").find("-> f32[n, m]"), std::string::npos);
  for (const char *wrong :
       {"ij", "ij,kj,l->i", "ij,kj->iz", "ijk,kj->i", "ij,kj->ii", "ij,k1->ik"})
    EXPECT_EQ(einsum(wrong).find("Einsum node 'Einsum1': "), 0u) << wrong;
  EXPECT_NE(einsum("...j,kj->...k").find("-> f32[n, m]"), std::string::npos);
  EXPECT_NE(einsum("...j,kj").find("-> f32[n, m]"), std::string::npos);
  EXPECT_NE(einsum("...ijk,kj->k").find("does not fit"), std::string::npos);
  EXPECT_NE(einsum("ii,kj->k").find("stands twice"), std::string::npos);
}

std::string gridSample(const std::string &grid, const std::string &mode) {
  ModelBuilder model(20);
  model.input("x", {"n", "c", "5", "w"}).input("g", {"n", "2", "3", grid});
  model.output("y").node("GridSample", {"x", "g"}, {"y"}).s("mode", mode);
  return summary(model.import());
}

TEST(OnnxSample, GridSampleGathersRows) {
  EXPECT_NE(gridSample("2", "linear").find("-> f32[n, c, 2, 3]"),
            std::string::npos);
  EXPECT_NE(gridSample("2", "cubic").find("mode 'cubic' is not supported"),
            std::string::npos);
  EXPECT_NE(gridSample("3", "linear").find("do not fit"), std::string::npos);
}

TEST(OnnxSample, ReverseSequenceNeedsItsAxes) {
  auto reversed = [](int64_t time) {
    ModelBuilder model(17);
    model.input("x", {"t", "b", "4"})
        .input("l", {"b"}, onnx::TensorProto::INT64);
    model.output("y")
        .node("ReverseSequence", {"x", "l"}, {"y"})
        .i("time_axis", time);
    return summary(model.import());
  };
  EXPECT_NE(reversed(0).find("gather -> f32[t, b, 4]"), std::string::npos);
  EXPECT_NE(reversed(1).find("its axes must be 0 and 1"), std::string::npos);
}

} // namespace
