// SPDX-License-Identifier: Apache-2.0
//
// Convolutions, pools, normalisations and matrix products.
#include "ModelBuilder.h"

#include <gtest/gtest.h>

using namespace backplane;
using namespace backplane::frontend;

namespace {

using I64s = std::vector<int64_t>;

/// A Conv of x with weights [4, 3, 3, 3].
Result<Model> conv(const Names &x, void (*attributes)(NodeBuilder)) {
  ModelBuilder model;
  model.input("x", x).counted("w", {4, 3, 3, 3}).output("y");
  attributes(model.node("Conv", {"x", "w"}, {"y"}));
  return model.import();
}

Result<Model> pool(const std::string &op, const Names &x,
                   void (*attributes)(NodeBuilder), int64_t opset = 17) {
  ModelBuilder model(opset);
  model.input("x", x).output("y");
  attributes(model.node(op, {"x"}, {"y"}));
  return model.import();
}

} // namespace

TEST(OnnxConv, StridesPadsAndBias) {
  ModelBuilder model;
  model.input("x", {"n", "6", "h", "9"}).counted("w", {4, 3, 3, 3});
  model.counted("b", {4}).output("y");
  model.node("Conv", {"x", "w", "b"}, {"y"})
      .i("group", 2)
      .is("pads", {1, 0, 2, 0})
      .is("strides", {1, 2});
  auto result = model.import();
  EXPECT_EQ(summary(result), "conv add -> f32[n, 4, h + 1, 4]");
  const Op &op = opOf(result, "conv");
  EXPECT_EQ(op.i64s("low"), (I64s{1, 0}));
  EXPECT_EQ(op.i64s("high"), (I64s{2, 0}));
  EXPECT_EQ(op.i64("groups"), 2);
  EXPECT_EQ(opOf(result, "broadcast").i64s("axes"), I64s{1});
}

TEST(OnnxConv, AutoPad) {
  auto upper = conv({"1", "3", "8", "8"}, [](NodeBuilder n) {
    n.s("auto_pad", "SAME_UPPER").is("strides", {2, 2});
  });
  EXPECT_EQ(summary(upper), "conv -> f32[1, 4, 4, 4]");
  EXPECT_EQ(opOf(upper, "conv").i64s("low"), (I64s{0, 0}));
  EXPECT_EQ(opOf(upper, "conv").i64s("high"), (I64s{1, 1}));
  auto lower = conv({"1", "3", "8", "8"}, [](NodeBuilder n) {
    n.s("auto_pad", "SAME_LOWER").is("strides", {2, 2});
  });
  EXPECT_EQ(opOf(lower, "conv").i64s("low"), (I64s{1, 1}));
}

TEST(OnnxConv, SymbolicAutoPadBecomesPad) {
  auto result = conv({"1", "3", "h", "8"}, [](NodeBuilder n) {
    n.s("auto_pad", "SAME_UPPER").is("strides", {2, 2});
  });
  ASSERT_TRUE(result.ok()) << result.message();
  EXPECT_EQ(summary(result).substr(0, 8), "pad conv");
  const TensorType &type = result->graph.type(result->graph.outputs[0].value);
  EXPECT_EQ(*type.dims[2].evaluate({{"h", 7}}), 4);
  EXPECT_EQ(*type.dims[2].evaluate({{"h", 8}}), 4);
  EXPECT_EQ(*type.dims[2].evaluate({{"h", 9}}), 5);
}

TEST(OnnxConv, SymbolicChannelsAreAsserted) {
  auto result = conv({"1", "c", "8", "8"}, [](NodeBuilder) {});
  EXPECT_EQ(summary(result), "reshape conv -> f32[1, 4, 6, 6]");
  EXPECT_EQ(assertions(result).substr(0, 6), "c == 3");
}

TEST(OnnxConv, WrongAttributesAreRefused) {
  EXPECT_EQ(summary(conv({"1", "3", "8", "8"},
                         [](NodeBuilder n) { n.is("kernel_shape", {3, 2}); })),
            "Conv node 'Conv1': kernel_shape is not that of the weights "
            "f32[4, 3, 3, 3]");
  EXPECT_EQ(summary(conv({"1", "3", "8", "8"},
                         [](NodeBuilder n) { n.is("strides", {0, 1}); })),
            "Conv node 'Conv1': attribute 'strides' has the entry 0, which is "
            "not in [1, 2^30]");
  EXPECT_EQ(summary(conv({"1", "3", "8", "8"},
                         [](NodeBuilder n) { n.i("stride", 1); })),
            "Conv node 'Conv1': attribute 'stride' is not supported in opset "
            "17");
  EXPECT_EQ(summary(conv({"1", "3", "8", "8"},
                         [](NodeBuilder n) { n.s("strides", "1"); })),
            "Conv node 'Conv1': attribute 'strides' has the wrong type");
}

TEST(OnnxConvTranspose, OutputShapeGivesTheCut) {
  ModelBuilder model;
  model.input("x", {"1", "2", "3", "3"}).counted("w", {2, 1, 3, 3});
  model.output("y");
  model.node("ConvTranspose", {"x", "w"}, {"y"})
      .is("strides", {3, 2})
      .is("output_shape", {10, 8})
      .is("output_padding", {1, 1});
  auto result = model.import();
  EXPECT_EQ(summary(result), "conv_transpose -> f32[1, 1, 10, 8]");
  EXPECT_EQ(opOf(result, "conv_transpose").i64s("output_padding"),
            (I64s{1, 1}));
}

TEST(OnnxConvTranspose, OddCutGoesToTheFront) {
  ModelBuilder model;
  model.input("x", {"1", "1", "4"}).counted("w", {1, 1, 3}).output("y");
  model.node("ConvTranspose", {"x", "w"}, {"y"})
      .is("strides", {2})
      .is("output_shape", {8});
  auto result = model.import();
  EXPECT_EQ(opOf(result, "conv_transpose").i64s("low"), I64s{1});
  EXPECT_EQ(opOf(result, "conv_transpose").i64s("high"), I64s{0});
}

TEST(OnnxPool, CeilModeAddsAPartialWindow) {
  auto result = pool("MaxPool", {"1", "1", "6", "7"}, [](NodeBuilder n) {
    n.is("kernel_shape", {3, 3}).is("strides", {2, 2}).i("ceil_mode", 1);
  });
  EXPECT_EQ(summary(result), "pool -> f32[1, 1, 3, 3]");
  EXPECT_EQ(opOf(result, "pool").i64s("high"), (I64s{1, 0}));
}

TEST(OnnxPool, CeilModeDropsAWindowBehindTheInput) {
  // Five elements padded to six: a third window would start at the padding.
  auto result = pool("MaxPool", {"1", "1", "4"}, [](NodeBuilder n) {
    n.is("kernel_shape", {1}).is("strides", {4}).is("pads", {0, 1});
    n.i("ceil_mode", 1);
  });
  EXPECT_EQ(summary(result), "pool -> f32[1, 1, 2]");
  auto dropped = pool("MaxPool", {"1", "1", "4"}, [](NodeBuilder n) {
    n.is("kernel_shape", {2}).is("strides", {4}).is("pads", {0, 1});
    n.i("ceil_mode", 1);
  });
  EXPECT_EQ(summary(dropped), "pool -> f32[1, 1, 1]");
}

TEST(OnnxPool, AverageCountsOnlyDeclaredPadding) {
  auto result = pool("AveragePool", {"1", "1", "6"}, [](NodeBuilder n) {
    n.is("kernel_shape", {3}).is("strides", {3}).is("pads", {1, 1});
    n.i("ceil_mode", 1).i("count_include_pad", 1);
  });
  EXPECT_EQ(summary(result), "pad avg_pool -> f32[1, 1, 3]");
  EXPECT_EQ(opOf(result, "avg_pool").i64("count_padding"), 0);
}

TEST(OnnxPool, AmbiguousAttributesAreRefused) {
  auto dilated = pool("MaxPool", {"1", "1", "6"}, [](NodeBuilder n) {
    n.is("kernel_shape", {2}).is("dilations", {2});
    n.s("auto_pad", "SAME_UPPER");
  });
  EXPECT_NE(summary(dilated).find("SAME with dilations"), std::string::npos);
  auto valid = pool("MaxPool", {"1", "1", "6"}, [](NodeBuilder n) {
    n.is("kernel_shape", {3}).is("strides", {2}).s("auto_pad", "VALID");
    n.i("ceil_mode", 1);
  });
  EXPECT_NE(summary(valid).find("VALID with ceil_mode"), std::string::npos);
}

TEST(OnnxPool, IndicesAreRefused) {
  ModelBuilder model;
  model.input("x", {"1", "1", "4"}).output("i");
  model.node("MaxPool", {"x"}, {"y", "i"}).is("kernel_shape", {2});
  EXPECT_EQ(summary(model.import()),
            "MaxPool node 'MaxPool1': output 1 ('i') is not supported");
}

TEST(OnnxPool, GlobalAverageOfSymbolicSizes) {
  auto result =
      pool("GlobalAveragePool", {"n", "3", "h", "w"}, [](NodeBuilder) {});
  EXPECT_EQ(summary(result), "reduce dim cast reshape div -> f32[n, 3, 1, 1]");
  EXPECT_EQ(text(opOf(result, "dim").dims("value")), "[h*w]");
}

TEST(OnnxNorm, BatchNormalization) {
  ModelBuilder model(8);
  model.input("x", {"n", "2", "h"}).output("y");
  for (const char *name : {"s", "b", "m", "v"})
    model.counted(name, {2});
  model.node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"y"})
      .f("epsilon", 0.5f);
  auto result = model.import();
  EXPECT_EQ(summary(result), "batch_norm -> f32[n, 2, h]");
  EXPECT_EQ(opOf(result, "batch_norm").f64("epsilon"), 0.5);
  model.graph().mutable_node(0)->add_output("mean");
  EXPECT_NE(summary(model.import()).find("output 1 ('mean')"),
            std::string::npos);
}

TEST(OnnxNorm, LayerNormalizationWithoutBias) {
  ModelBuilder model;
  model.input("x", {"n", "2", "8"}).counted("s", {8}).output("y");
  model.node("LayerNormalization", {"x", "s"}, {"y"}).i("axis", -2);
  auto result = model.import();
  EXPECT_EQ(summary(result), "layer_norm -> f32[n, 2, 8]");
  EXPECT_EQ(opOf(result, "layer_norm").i64("axis"), 1);
}

namespace {

Result<Model> matmul(const Names &a, const Names &b) {
  ModelBuilder model;
  model.input("a", a).input("b", b).output("y");
  model.node("MatMul", {"a", "b"}, {"y"});
  return model.import();
}

} // namespace

TEST(OnnxMatMul, Ranks) {
  EXPECT_EQ(summary(matmul({"n", "4"}, {"4", "5"})), "matmul -> f32[n, 5]");
  EXPECT_EQ(summary(matmul({"4"}, {"4", "5"})),
            "reshape matmul reshape -> f32[5]");
  EXPECT_EQ(summary(matmul({"n", "4"}, {"4"})),
            "reshape matmul reshape -> f32[n]");
  EXPECT_EQ(summary(matmul({"4"}, {"4"})),
            "reshape reshape matmul reshape -> f32[]");
  EXPECT_EQ(summary(matmul({"n", "2", "3", "4"}, {"4", "5"})),
            "matmul -> f32[n, 2, 3, 5]");
  EXPECT_EQ(summary(matmul({"3", "4"}, {"b", "4", "5"})),
            "matmul -> f32[b, 3, 5]");
  EXPECT_EQ(summary(matmul({"b", "1", "3", "4"}, {"7", "4", "5"})),
            "matmul -> f32[b, 7, 3, 5]");
  EXPECT_EQ(summary(matmul({}, {"4"})),
            "MatMul node 'MatMul1': operands need rank 1 or more");
}

TEST(OnnxMatMul, InnerSizes) {
  EXPECT_EQ(summary(matmul({"n", "4"}, {"3", "5"})),
            "MatMul node 'MatMul1': sizes must be equal: 3 is not 4");
  EXPECT_EQ(assertions(matmul({"n", "k"}, {"j", "5"})).substr(0, 6), "j == k");
}

TEST(OnnxGemm, ScalesAndTransposes) {
  ModelBuilder model;
  model.input("a", {"4", "n"}).counted("b", {5, 4}).counted("c", {5});
  model.output("y");
  model.node("Gemm", {"a", "b", "c"}, {"y"})
      .i("transA", 1)
      .i("transB", 1)
      .f("alpha", 0.5f);
  auto result = model.import();
  EXPECT_EQ(summary(result), "matmul mul add -> f32[n, 5]");
  EXPECT_EQ(opOf(result, "matmul").i64("transpose_a"), 1);
}
