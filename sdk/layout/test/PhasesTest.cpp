// SPDX-License-Identifier: Apache-2.0
#include "sdk/layout/test/Form.h"

#include "backplane/compiler.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

using namespace mlir;

namespace {

constexpr int64_t inputs = 3, outputs = 5;

/// A transposed convolution with a stride of 2, whose weight has the numbers 0,
/// 1, … and then `last`, of an image of 6x6.
class Fixture : public FixtureBase {
public:
  Fixture(int64_t window, int64_t low, float last) : window(window) {
    std::vector<float> numbers(size_t(inputs * outputs * window * window));
    for (size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = float(i);
    numbers.back() = last;
    backplane::Bytes bytes(numbers.size() * sizeof(float));
    std::memcpy(bytes.data(), numbers.data(), bytes.size());
    backplane::TensorType type{backplane::DType::F32,
                               {inputs, outputs, window, window}};
    id = *pool.add(type, std::move(bytes));
    module = parseSourceString<ModuleOp>(text(low), &context);
  }

  /// The weight that the convolution takes.
  const backplane::Weight *weight() {
    std::string found;
    module->walk([&](bp::WeightOp op) { found = op.getId().str(); });
    return pool.find(found);
  }

  int64_t window;

private:
  std::string text(int64_t low) const {
    auto number = [](int64_t value) { return std::to_string(value); };
    std::string w = number(window), l = number(low),
                side = number(10 + window - 2 * low),
                weight = "tensor<3x5x" + w + "x" + w + "xf32>",
                result = "tensor<1x5x" + side + "x" + side + "xf32>",
                image = "tensor<1x3x6x6xf32>";
    return "func.func @main(%x: " + image + ") -> " + result +
           " {\n  %w = bp.weight {id = \"" + id +
           "\", dtype = f32, dims = #bp.dims<[\"3\", \"5\", \"" + w + "\", \"" +
           w + "\"]>} : () -> " + weight +
           "\n  %r = bp.conv_transpose %x, %w {strides = array<i64: 2, 2>, "
           "dilations = array<i64: 1, 1>, low = array<i64: " +
           l + ", " + l + ">, high = array<i64: " + l + ", " + l +
           ">, output_padding = array<i64: 0, 0>, groups = 1} : (" + image +
           ", " + weight + ") -> " + result + "\n  return %r : " + result +
           "\n}\n";
  }
};

/// Element [y, x, o, c, ky, kx] of the weight of the phases.
float numberAt(const backplane::Weight &weight, int64_t seen,
               std::array<int64_t, 6> at) {
  int64_t place = ((at[0] * 2 + at[1]) * outputs + at[2]) * inputs + at[3];
  place = (place * seen + at[4]) * seen + at[5];
  float number;
  std::memcpy(&number, weight.data.data() + place * 4, 4);
  return number;
}

} // namespace

TEST(Phases, AreOutputsOfAConvolution) {
  Fixture f(4, 1, 239);
  ASSERT_TRUE(f.form(BP_FUSE_WEIGHTS));
  EXPECT_EQ(f.count("conv_transpose"), 0u);
  EXPECT_EQ(f.count("conv"), 1u);
  EXPECT_EQ(f.count("slice"), 1u);
  ASSERT_NE(f.weight(), nullptr);
  // 20 outputs are no multiple of a block of the weight.
  EXPECT_EQ(f.weight()->type.dims, (backplane::Dims{20, 3, 2, 2}));
  for (int64_t o = 0; o < outputs; ++o)
    for (int64_t y = 0; y < 2; ++y)
      for (int64_t x = 0; x < 2; ++x)
        for (int64_t c = 0; c < inputs; ++c)
          for (int64_t ky = 0; ky < 2; ++ky)
            for (int64_t kx = 0; kx < 2; ++kx) {
              int64_t row = (1 - ky) * 2 + y, column = (1 - kx) * 2 + x;
              EXPECT_EQ(numberAt(*f.weight(), 2, {y, x, o, c, ky, kx}),
                        float(((c * outputs + o) * 4 + row) * 4 + column));
            }
}

TEST(Phases, NeedFiniteNumbersAtABorder) {
  Fixture border(4, 1, INFINITY), none(2, 0, INFINITY);
  ASSERT_TRUE(border.form(BP_FUSE_WEIGHTS));
  ASSERT_TRUE(none.form(BP_FUSE_WEIGHTS));
  EXPECT_EQ(border.count("conv_transpose"), 1u);
  EXPECT_EQ(none.count("conv_transpose"), 0u);
  EXPECT_EQ(none.count("slice"), 0u);
}

// Rows of phase 0 see two elements of the window, those of phase 1 see one.
TEST(Phases, ThatSeeMoreAreConvolutionsOfTheirOwn) {
  Fixture f(3, 1, 1);
  ASSERT_TRUE(f.form(BP_FUSE_WEIGHTS));
  EXPECT_EQ(f.count("conv_transpose"), 0u);
  EXPECT_EQ(f.count("conv"), 4u);
  std::vector<backplane::Dims> weights;
  f.module->walk([&](bp::WeightOp op) {
    weights.push_back(f.pool.find(op.getId().str())->type.dims);
  });
  llvm::sort(weights, [](const auto &a, const auto &b) {
    return std::pair(*a[2].constant(), *a[3].constant()) >
           std::pair(*b[2].constant(), *b[3].constant());
  });
  EXPECT_EQ(weights,
            (std::vector<backplane::Dims>{
                {5, 3, 2, 2}, {5, 3, 2, 1}, {5, 3, 1, 2}, {5, 3, 1, 1}}));
}

TEST(Phases, LeaveOthersAlone) {
  Fixture shorter(1, 0, 1), other(4, 1, 1);
  ASSERT_TRUE(shorter.form(BP_FUSE_WEIGHTS));
  ASSERT_TRUE(other.form(BP_FUSE_EPILOGUE));
  EXPECT_EQ(shorter.count("conv_transpose"), 1u);
  EXPECT_EQ(other.count("conv_transpose"), 1u);
}
