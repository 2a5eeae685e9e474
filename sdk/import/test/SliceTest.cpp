// SPDX-License-Identifier: Apache-2.0
//
// Slice, Split, Concat, Pad, the gathers, quantisation.
#include "ModelBuilder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <gtest/gtest.h>

using namespace backplane;
using namespace backplane::frontend;
using T = onnx::TensorProto;

namespace {

/// x[…, start:end:step] of axis 1 of x: f32[2, size].
Result<Model> sliced(const std::string &size, int64_t start, int64_t end,
                     int64_t step) {
  ModelBuilder model;
  model.input("x", {"2", size}).output("y").ints("a", {1}, {start});
  model.ints("b", {1}, {end}).ints("axis", {1}, {-1}).ints("s", {1}, {step});
  model.node("Slice", {"x", "a", "b", "axis", "s"}, {"y"});
  return model.import();
}

} // namespace

TEST(OnnxSlice, StaticBounds) {
  EXPECT_EQ(summary(sliced("10", 2, 5, 1)), "slice -> f32[2, 3]");
  EXPECT_EQ(summary(sliced("10", -3, INT64_MAX, 1)), "slice -> f32[2, 3]");
  EXPECT_EQ(summary(sliced("10", 1, 100, 4)), "slice -> f32[2, 3]");
  EXPECT_EQ(summary(sliced("10", 5, 2, 1)), "slice -> f32[2, 0]");
  EXPECT_EQ(summary(sliced("10", 0, 10, 1)), "-> f32[2, 10]");
  EXPECT_EQ(summary(sliced("10", 0, 1, 0)), "Slice node 'Slice1': a step is 0");
}

TEST(OnnxSlice, NegativeSteps) {
  auto all = sliced("10", -1, INT64_MIN, -1);
  EXPECT_EQ(summary(all), "reverse -> f32[2, 10]");
  auto some = sliced("10", 8, 1, -3);
  EXPECT_EQ(summary(some), "slice reverse -> f32[2, 3]");
  EXPECT_EQ(text(opOf(some, "slice").dims("starts")), "[0, 2]");
  EXPECT_NE(summary(sliced("10", 5, INT64_MAX, -1)).find("not supported"),
            std::string::npos);
  EXPECT_EQ(summary(sliced("10", 1, 8, -1)), "slice reverse -> f32[2, 0]");
  EXPECT_EQ(summary(sliced("n", -1, INT64_MIN, -1)), "reverse -> f32[2, n]");
  EXPECT_EQ(summary(sliced("n", 5, 1, -1)),
            "slice reverse -> f32[2, max(0, -min(1, n - 1) + min(5, n - 1))]");
}

TEST(OnnxSlice, SymbolicBounds) {
  EXPECT_EQ(summary(sliced("n", 0, INT64_MAX, 1)), "-> f32[2, n]");
  auto far = sliced("n", 0, INT32_MAX, 1);
  EXPECT_EQ(summary(far), "-> f32[2, n]");
  EXPECT_EQ(assertions(far), "min(2147483647, n) == n");
  for (auto [start, end, step] : {std::array<int64_t, 3>{1, INT64_MAX, 1},
                                  {0, -1, 1},
                                  {-2, 9, 1},
                                  {2, 5, 2},
                                  {3, 1, 1}}) {
    auto result = sliced("n", start, end, step);
    ASSERT_TRUE(result.ok()) << result.message();
    const Dim &dim = result->graph.type(result->graph.outputs[0].value).dims[1];
    for (int64_t n : {1, 2, 5, 12}) {
      int64_t a = std::clamp<int64_t>(start < 0 ? start + n : start, 0, n);
      int64_t b = std::clamp<int64_t>(end < 0 ? end + n : end, 0, n);
      int64_t expected = std::max<int64_t>((b - a + step - 1) / step, 0);
      EXPECT_EQ(*dim.evaluate({{"n", n}}), expected)
          << start << ":" << end << " of " << n;
    }
  }
}

TEST(OnnxSplit, Parts) {
  ModelBuilder model;
  model.input("x", {"n", "7"}).output("b").ints("p", {2}, {3, 4});
  model.node("Split", {"x", "p"}, {"a", "b"}).i("axis", 1);
  EXPECT_EQ(summary(model.import()), "slice slice -> f32[n, 4]");
  ModelBuilder uneven(18);
  uneven.input("x", {"7"}).output("b");
  uneven.node("Split", {"x"}, {"a", "b"}).i("num_outputs", 2);
  EXPECT_EQ(summary(uneven.import()), "slice slice -> f32[3]");
  ModelBuilder equal;
  equal.input("x", {"7"}).output("b").node("Split", {"x"}, {"a", "b"});
  EXPECT_NE(summary(equal.import()).find("must be a multiple of 2: 6 is not 7"),
            std::string::npos);
}

TEST(OnnxConcat, OtherSizesMustBeEqual) {
  ModelBuilder model;
  model.input("a", {"n", "2"}).input("b", {"m", "3"}).output("y");
  model.node("Concat", {"a", "b"}, {"y"}).i("axis", -1);
  auto result = model.import();
  EXPECT_EQ(summary(result), "reshape concat -> f32[n, 5]");
  EXPECT_EQ(assertions(result).substr(0, 6), "m == n");
}

TEST(OnnxPad, ModesAndCrops) {
  auto pad = [](const std::string &mode, std::vector<int64_t> pads) {
    ModelBuilder model;
    model.input("x", {"n", "6"}).ints("p", {4}, pads).output("y");
    model.node("Pad", {"x", "p"}, {"y"}).s("mode", mode);
    return summary(model.import());
  };
  EXPECT_EQ(pad("constant", {0, 1, 0, 2}), "pad -> f32[n, 9]");
  EXPECT_EQ(pad("reflect", {0, 1, 0, 2}), "pad -> f32[n, 9]");
  EXPECT_EQ(pad("constant", {0, -1, 0, 2}), "slice pad -> f32[n, 7]");
  EXPECT_EQ(pad("edge", {0, -1, 0, 2}), "Pad node 'Pad1': negative pads in "
                                        "mode 'edge' are not supported");
  EXPECT_EQ(pad("mirror", {0, 1, 0, 2}),
            "Pad node 'Pad1': mode 'mirror' is not supported");
  EXPECT_EQ(pad("constant", {0, 0, 0, 0}), "-> f32[n, 6]");
}

TEST(OnnxGather, NegativeIndicesAreWrapped) {
  ModelBuilder model;
  model.counted("x", {10, 4}).input("i", {"n"}, T::INT64).output("y");
  model.node("Gather", {"x", "i"}, {"y"});
  EXPECT_EQ(summary(model.import()), "add compare select gather -> f32[n, 4]");
}

TEST(OnnxGather, ConstantIndices) {
  auto gather = [](int64_t index) {
    ModelBuilder model;
    model.input("x", {"10", "n"}).ints("i", {}, {index}).output("y");
    model.node("Gather", {"x", "i"}, {"y"});
    return summary(model.import());
  };
  EXPECT_EQ(gather(3), "gather -> f32[n]");
  EXPECT_EQ(gather(-1), "add compare select gather -> f32[n]");
  EXPECT_EQ(gather(10), "Gather node 'Gather1': index 10 is out of range for "
                        "the size 10");
}

TEST(OnnxGather, ElementsAndNd) {
  ModelBuilder elements;
  elements.input("x", {"n", "5"}).input("i", {"n", "2"}, T::INT64).output("y");
  elements.node("GatherElements", {"x", "i"}, {"y"}).i("axis", 1);
  auto result = elements.import();
  ASSERT_TRUE(result.ok()) << result.message();
  EXPECT_EQ(result->graph.type(result->graph.outputs[0].value).str(),
            "f32[n, 2]");
  EXPECT_EQ(result->graph.ops.back().name, "gather");
  ModelBuilder nd;
  nd.input("x", {"n", "5", "4"}).input("i", {"7", "2"}, T::INT64).output("y");
  nd.node("GatherND", {"x", "i"}, {"y"});
  EXPECT_TRUE(summary(nd.import()).ends_with("gather -> f32[7, 4]"));
}

namespace {

/// x: f32[2, 3] with two updates at constant indices of axis 1.
Result<Model> scatter(std::vector<int64_t> indices) {
  ModelBuilder model;
  model.input("x", {"2", "3"}).input("u", {"1", "2"}).output("y");
  model.ints("i", {1, 2}, indices);
  model.node("ScatterElements", {"x", "i", "u"}, {"y"}).i("axis", 1);
  return model.import();
}

} // namespace

TEST(OnnxScatter, ElementsGoIntoFlattenedData) {
  auto result = scatter({2, -2});
  EXPECT_TRUE(summary(result).ends_with("scatter reshape -> f32[2, 3]"))
      << summary(result);
  const Op &op = opOf(result, "scatter");
  EXPECT_EQ(op.string("combine"), "none");
  EXPECT_EQ(result->graph.type(op.operands[1]).str(), "i64[2]");
  EXPECT_NE(summary(scatter({1, 3})).find("index 3 is out of range"),
            std::string::npos);
}

TEST(OnnxScatter, TuplesNameRows) {
  ModelBuilder model;
  model.input("x", {"n", "5", "4"}).input("i", {"7", "2"}, T::INT64);
  model.input("u", {"7", "4"}).output("y");
  model.node("ScatterND", {"x", "i", "u"}, {"y"});
  auto result = model.import();
  EXPECT_TRUE(summary(result).ends_with("scatter reshape -> f32[n, 5, 4]"))
      << summary(result);
  ModelBuilder wrong;
  wrong.input("x", {"5", "4"}).input("i", {"7", "1"}, T::INT64);
  wrong.input("u", {"7", "3"}).output("y");
  wrong.node("ScatterND", {"x", "i", "u"}, {"y"});
  EXPECT_NE(summary(wrong.import()).find("updates"), std::string::npos)
      << summary(wrong.import());
}

namespace {

/// x: f32[1, h, 4] resized to sizes or by scales.
Result<Model> resized(const std::string &h, const std::string &mode,
                      std::vector<float> scales, std::vector<int64_t> sizes) {
  ModelBuilder model(18);
  model.input("x", {"1", h, "4"}).output("y");
  bool byScale = !scales.empty();
  if (byScale)
    model.floats("s", {3}, scales);
  else
    model.ints("s", {3}, sizes);
  model.node("Resize", {"x", "", byScale ? "s" : "", byScale ? "" : "s"}, {"y"})
      .s("mode", mode)
      .s("coordinate_transformation_mode", "asymmetric")
      .s("nearest_mode", "floor");
  return model.import();
}

TEST(OnnxQuantize, SaturatesToFourBits) {
  for (auto [type, name, low, high] :
       {std::tuple(T::INT4, "i4", -8, 7), std::tuple(T::UINT4, "u4", 0, 15)}) {
    ModelBuilder model(21);
    model.input("x", {"n"}).floats("s", {}, {0.5f}).output("y");
    model.node("QuantizeLinear", {"x", "s"}, {"y"}).i("output_dtype", type);
    auto result = model.import();
    EXPECT_EQ(summary(result),
              "div round_even clamp cast -> " + std::string(name) + "[n]");
    EXPECT_EQ(opOf(result, "clamp").f64("low"), low);
    EXPECT_EQ(opOf(result, "clamp").f64("high"), high);
  }
}

/// DequantizeLinear of u8[n, size] along axis 1, with `scales` in a row.
std::string dequantized(const char *size, std::vector<std::string> scales,
                        int64_t block) {
  ModelBuilder model(21);
  model.input("x", {"n", size}, T::UINT8).input("s", scales).output("y");
  model.node("DequantizeLinear", {"x", "s"}, {"y"}).i("block_size", block);
  return summary(model.import());
}

TEST(OnnxQuantize, RepeatsTheParametersOfBlocks) {
  EXPECT_EQ(dequantized("6", {"n", "2"}, 3),
            "cast reshape cast mul -> f32[n, 6]");
  // The last block has one element.
  EXPECT_EQ(dequantized("7", {"n", "3"}, 3),
            "cast reshape slice cast mul -> f32[n, 7]");
  // One block, longer than the axis: its scale is repeated 7 times.
  EXPECT_EQ(dequantized("7", {"n", "1"}, int64_t(1) << 46),
            "cast reshape cast mul -> f32[n, 7]");
  EXPECT_EQ(dequantized("m", {"n", "k"}, 3),
            "cast reshape reshape slice cast mul -> f32[n, m]");
}

TEST(OnnxQuantize, RejectsParametersThatDoNotFitTheBlocks) {
  EXPECT_NE(dequantized("7", {"n", "2"}, 3).find("sizes must be equal"),
            std::string::npos);
  EXPECT_NE(dequantized("6", {"2"}, 3).find("has rank 1"), std::string::npos);
  for (int64_t block : {int64_t(-1), INT64_MIN, INT64_MAX})
    EXPECT_NE(dequantized("6", {"n", "2"}, block).find("block_size"),
              std::string::npos);
}

} // namespace

TEST(OnnxResize, NearestIsAGather) {
  auto result = resized("2", "nearest", {}, {1, 2, 6});
  EXPECT_EQ(summary(result), "gather -> f32[1, 2, 6]");
  const Bytes *bytes = opOf(result, "constant").bytes("value");
  ASSERT_TRUE(bytes && bytes->size() == 48);
  std::vector<int> positions;
  for (size_t i = 0; i < 6; ++i)
    positions.push_back((*bytes)[8 * i]);
  EXPECT_EQ(positions, (std::vector<int>{0, 0, 1, 2, 2, 3}));
}

TEST(OnnxResize, WholeFactorsRepeatAllAxesAtOnce) {
  auto result = resized("2", "nearest", {1, 3, 2}, {});
  EXPECT_EQ(summary(result), "reshape -> f32[1, 6, 8]");
  EXPECT_EQ(opOf(result, "broadcast").dims("dims"),
            (Dims{Dim(1), Dim(2), Dim(3), Dim(4), Dim(2)}));
  // One axis repeats, the other one does not.
  EXPECT_EQ(summary(resized("2", "nearest", {}, {1, 4, 6})),
            "gather reshape -> f32[1, 4, 6]");
}

TEST(OnnxResize, LinearIsAWeightedSum) {
  EXPECT_EQ(summary(resized("2", "linear", {1, 2, 1}, {})),
            "gather mul gather mul compare select add -> f32[1, 4, 4]");
}

std::string halved(const char *height, const char *coordinates) {
  ModelBuilder model(18);
  model.input("x", {"n", "3", height, "6"}).output("y");
  model.floats("s", {4}, {1, 1, 0.5f, 0.5f});
  model.node("Resize", {"x", "", "s"}, {"y"})
      .s("mode", "linear")
      .s("coordinate_transformation_mode", coordinates);
  return summary(model.import());
}

TEST(OnnxResize, HalvesAreMeansOfPairs) {
  EXPECT_EQ(halved("4", "half_pixel"), "mul pool -> f32[n, 3, 2, 3]");
  EXPECT_EQ(halved("4", "pytorch_half_pixel"), "mul pool -> f32[n, 3, 2, 3]");
  // The only element of an axis is the first one here.
  EXPECT_EQ(halved("2", "pytorch_half_pixel"),
            "mul pool gather mul gather mul compare select add -> "
            "f32[n, 3, 1, 3]");
  EXPECT_EQ(halved("4", "asymmetric").find("pool"), std::string::npos);
}

TEST(OnnxResize, SymbolicSizesRepeat) {
  EXPECT_EQ(summary(resized("h", "nearest", {1, 2, 1}, {})),
            "reshape -> f32[1, 2*h, 4]");
  EXPECT_NE(
      summary(resized("h", "nearest", {1, 0.3f, 1}, {})).find("power of two"),
      std::string::npos);
}

TEST(OnnxResize, OldOnesAreAsymmetric) {
  ModelBuilder ten(10), nine(9), seven(7);
  for (ModelBuilder *model : {&ten, &nine, &seven})
    model->input("x", {"1", "3", "4"}).output("y");
  ten.floats("s", {3}, {1, 2, 1});
  ten.node("Resize", {"x", "s"}, {"y"});
  nine.floats("s", {3}, {1, 2, 1});
  nine.node("Upsample", {"x", "s"}, {"y"});
  seven.node("Upsample", {"x"}, {"y"}).fs("scales", {1, 2, 1});
  for (ModelBuilder *model : {&ten, &nine, &seven})
    EXPECT_EQ(summary(model->import()), "reshape -> f32[1, 6, 4]");
  ModelBuilder bad(9);
  bad.input("x", {"1", "3", "4"}).floats("s", {2}, {1, 2}).output("y");
  bad.node("Upsample", {"x", "s"}, {"y"});
  EXPECT_NE(summary(bad.import()).find("one scale per axis"),
            std::string::npos);
}

TEST(OnnxResize, ScalesMustBePositive) {
  EXPECT_NE(summary(resized("2", "nearest", {1, -2, 1}, {})).find("positive"),
            std::string::npos);
  EXPECT_NE(summary(resized("2", "nearest", {1, NAN, 1}, {})).find("positive"),
            std::string::npos);
}

TEST(OnnxWindow, NeedsASizeThatIsKnown) {
  ModelBuilder data(17), negative(17), one(17);
  data.input("n", {}, T::INT64).output("y");
  negative.ints("n", {}, {-3}).output("y");
  one.ints("n", {}, {1}).output("y");
  for (ModelBuilder *model : {&data, &negative, &one})
    model->node("HannWindow", {"n"}, {"y"}).i("periodic", 0);
  EXPECT_NE(summary(data.import()).find("size"), std::string::npos);
  EXPECT_NE(summary(negative.import()).find("not negative"), std::string::npos);
  EXPECT_NE(summary(one.import()).find("1 samples"), std::string::npos);
}

TEST(OnnxTensorScatter, TellsWhatDoesNotFit) {
  ModelBuilder first(24), wide(24);
  for (ModelBuilder *model : {&first, &wide})
    model->input("c", {"b", "9", "4"}).output("y");
  first.input("u", {"b", "2", "4"});
  first.node("TensorScatter", {"c", "u"}, {"y"}).i("axis", 0);
  wide.input("u", {"b", "2", "5"});
  wide.node("TensorScatter", {"c", "u"}, {"y"});
  EXPECT_NE(summary(first.import()).find("axis"), std::string::npos);
  EXPECT_NE(summary(wide.import()).find("sizes of update and cache"),
            std::string::npos);
}

TEST(OnnxQuantize, PerAxis) {
  ModelBuilder model;
  model.input("x", {"n", "3", "4"}, T::INT8).output("y");
  model.counted("s", {3});
  onnx::TensorProto zero;
  zero.set_data_type(T::INT8);
  zero.add_dims(3);
  for (int value : {1, -2, 3})
    zero.add_int32_data(value);
  model.tensor("z", zero);
  model.node("DequantizeLinear", {"x", "s", "z"}, {"y"}).i("axis", 1);
  EXPECT_EQ(summary(model.import()), "cast cast sub cast mul -> f32[n, 3, 4]");
}

TEST(OnnxQuantize, SaturatesToTheZeroPointsType) {
  ModelBuilder model;
  model.input("x", {"n"}).floats("s", {}, {0.5f}).output("y");
  model.node("QuantizeLinear", {"x", "s"}, {"y"});
  auto result = model.import();
  EXPECT_EQ(summary(result), "div round_even clamp cast -> u8[n]");
  EXPECT_EQ(opOf(result, "clamp").f64("high"), 255);
}
