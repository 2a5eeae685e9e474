// SPDX-License-Identifier: Apache-2.0
#include "sdk/layout/test/Form.h"

#include "backplane/compiler.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace mlir;

namespace {

constexpr int64_t inputs = 16, outputs = 16;

/// A convolution of planes of 32x32 with a window of 3x3x3, padded by one,
/// whose weight has the numbers 0, 1, …
class Fixture : public FixtureBase {
public:
  explicit Fixture(int64_t planes) {
    std::vector<float> numbers(size_t(inputs * outputs * 27));
    for (size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = float(i);
    backplane::Bytes bytes(numbers.size() * sizeof(float));
    std::memcpy(bytes.data(), numbers.data(), bytes.size());
    backplane::TensorType type{backplane::DType::F32,
                               {outputs, inputs, 3, 3, 3}};
    id = *pool.add(type, std::move(bytes));
    module = parseSourceString<ModuleOp>(text(planes), &context);
  }

  /// Sizes along the axis of planes of the results of convolutions, in order.
  std::vector<int64_t> planes() {
    std::vector<int64_t> found;
    module->walk([&](bp::ConvOp op) {
      found.push_back(*bp::dimsOf(op.getType())[2].constant());
    });
    return found;
  }

private:
  std::string text(int64_t planes) const {
    std::string image = "tensor<1x16x" + std::to_string(planes) + "x32x32xf32>";
    std::string weight = "tensor<16x16x3x3x3xf32>";
    return "func.func @main(%x: " + image + ") -> " + image +
           " {\n  %w = bp.weight {id = \"" + id +
           "\", dtype = f32, dims = #bp.dims<[\"16\", \"16\", \"3\", \"3\", "
           "\"3\"]>} : () -> " +
           weight +
           "\n  %r = bp.conv %x, %w {strides = array<i64: 1, 1, 1>, dilations "
           "= array<i64: 1, 1, 1>, low = array<i64: 1, 1, 1>, high = "
           "array<i64: 1, 1, 1>, groups = 1} : (" +
           image + ", " + weight + ") -> " + image +
           "\n  return %r : " + image + "\n}\n";
  }
};

/// Element [o, c, d, 0, 0] of a weight of so many planes.
float numberAt(const backplane::Weight &weight, int64_t planes, int64_t o,
               int64_t c, int64_t d) {
  float number;
  int64_t place = ((o * inputs + c) * planes + d) * 9;
  std::memcpy(&number, weight.data.data() + place * 4, 4);
  return number;
}

} // namespace

TEST(Borders, AreConvolutionsOfTheirOwn) {
  Fixture f(4);
  ASSERT_TRUE(f.form(BP_FUSE_WEIGHTS));
  EXPECT_EQ(f.planes(), (std::vector<int64_t>{1, 2, 1}));
  EXPECT_EQ(f.count("slice"), 3u);
  EXPECT_EQ(f.count("concat"), 1u);
}

// The first plane sees planes 1 and 2 of the window, the last one 0 and 1.
TEST(Borders, HaveThePlanesOfTheWeightThatTheySee) {
  Fixture f(4);
  // Weights stay in their order.
  ASSERT_TRUE(succeeded(bp::divideAtBorders(
      f.module->lookupSymbol<func::FuncOp>("main"),
      bp::LayoutOptions{.fusion = BP_FUSE_WEIGHTS}, f.pool)));
  std::vector<const backplane::Weight *> weights;
  f.module->walk([&](bp::ConvOp op) {
    auto weight = op.getW().getDefiningOp<bp::WeightOp>();
    weights.push_back(f.pool.find(weight.getId().str()));
    ASSERT_NE(weights.back(), nullptr);
  });
  ASSERT_EQ(weights.size(), 3u);
  EXPECT_EQ(weights[0]->type.dims, (backplane::Dims{16, 16, 2, 3, 3}));
  EXPECT_EQ(weights[1]->type.dims, (backplane::Dims{16, 16, 3, 3, 3}));
  for (int64_t o = 0; o < outputs; ++o)
    for (int64_t c = 0; c < inputs; ++c)
      for (int64_t d = 0; d < 2; ++d) {
        auto plane = float((o * inputs + c) * 27 + d * 9);
        EXPECT_EQ(numberAt(*weights[0], 2, o, c, d), plane + 9);
        EXPECT_EQ(numberAt(*weights[2], 2, o, c, d), plane);
      }
}

TEST(Borders, StayWhereManyPlanesSeeAll) {
  Fixture many(16), other(4);
  ASSERT_TRUE(many.form(BP_FUSE_WEIGHTS));
  ASSERT_TRUE(other.form(BP_FUSE_EPILOGUE));
  EXPECT_EQ(many.planes(), (std::vector<int64_t>{16}));
  EXPECT_EQ(other.planes(), (std::vector<int64_t>{4}));
}
