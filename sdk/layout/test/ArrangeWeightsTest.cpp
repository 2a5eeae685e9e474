// SPDX-License-Identifier: Apache-2.0
#include "sdk/layout/test/Form.h"

#include "backplane/compiler.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace mlir;

namespace {

constexpr int64_t inputs = 3, window = 4; // 2x2

/// A convolution whose weight has the numbers 0, 1, …, in an image of some
/// pixels a side.
class Fixture : public FixtureBase {
public:
  Fixture(int64_t outputs, int64_t pixels) : outputs(outputs) {
    std::vector<float> numbers(size_t(outputs * inputs * window));
    for (size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = float(i);
    backplane::Bytes bytes(numbers.size() * sizeof(float));
    std::memcpy(bytes.data(), numbers.data(), bytes.size());
    backplane::TensorType type{backplane::DType::F32, {outputs, inputs, 2, 2}};
    id = *pool.add(type, std::move(bytes));
    module = parseSourceString<ModuleOp>(text(pixels), &context);
  }

  int64_t outputs;

private:
  std::string text(int64_t pixels) const {
    std::string o = std::to_string(outputs), side = std::to_string(pixels + 1),
                weight = "tensor<" + o + "x3x2x2xf32>",
                image = "tensor<1x3x" + side + "x" + side + "xf32>",
                result = "tensor<1x" + o + "x" + std::to_string(pixels) + "x" +
                         std::to_string(pixels) + "xf32>";
    return "func.func @main(%x: " + image + ") -> " + result +
           " {\n  %w = bp.weight {id = \"" + id +
           "\", dtype = f32, dims = "
           "#bp.dims<[\"" +
           o + "\", \"3\", \"2\", \"2\"]>} : () -> " + weight +
           "\n  %r = bp.conv %x, %w {strides = array<i64: 1, 1>, dilations = "
           "array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>} "
           ": (" +
           image + ", " + weight + ") -> " + result +
           "\n  return %r : " + result + "\n}\n";
  }
};

} // namespace

/// Expects the weight of 16 outputs in blocks of so many.
static void expectBlocks(int64_t pixels, int64_t block) {
  Fixture f(16, pixels);
  ASSERT_TRUE(f.form(BP_FUSE_WEIGHTS)) << f.print();
  // One dispatch, with what makes the weight of the blocks.
  EXPECT_EQ(f.count("call"), 1u) << f.print();
  EXPECT_EQ(f.count("transpose"), 1u) << f.print();
  std::string id;
  f.module->walk([&](bp::WeightOp op) { id = op.getId().str(); });
  ASSERT_NE(id, f.id);
  const backplane::Weight *weight = f.pool.find(id);
  ASSERT_NE(weight, nullptr);
  EXPECT_EQ(weight->type.dims, (backplane::Dims{16 / block, 3, 2, 2, block}));
  for (int64_t o = 0; o < 16; ++o)
    for (int64_t c = 0; c < inputs; ++c)
      for (int64_t w = 0; w < window; ++w) {
        float number;
        int64_t place =
            ((o / block * inputs + c) * window + w) * block + o % block;
        std::memcpy(&number, weight->data.data() + place * 4, 4);
        EXPECT_EQ(number, float((o * inputs + c) * window + w));
      }
}

TEST(ArrangeWeights, StoresBlocksOfOutputs) { expectBlocks(20, 8); }

TEST(ArrangeWeights, StoresWideBlocksForFewPixels) {
  for (int64_t side : {2, 5, 7, 14})
    expectBlocks(side, 16);
}

TEST(ArrangeWeights, LeavesOthersAlone) {
  Fixture odd(12, 5), pixel(16, 1), other(16, 5);
  ASSERT_TRUE(odd.form(BP_FUSE_WEIGHTS));
  ASSERT_TRUE(pixel.form(BP_FUSE_WEIGHTS));
  ASSERT_TRUE(other.form(BP_FUSE_EPILOGUE));
  for (Fixture *f : {&odd, &pixel, &other})
    EXPECT_EQ(f->count("transpose"), 0u) << f->print();
}

// The blocks are a dispatch of their own, of the weight as it is.
TEST(ArrangeWeights, ComputesBlocksOfAWeightThatIsKept) {
  for (int64_t side : {7, 20}) {
    Fixture f(16, side);
    ASSERT_TRUE(f.form(BP_FUSE_WEIGHTS, true)) << f.print();
    EXPECT_EQ(f.count("call"), 2u) << f.print();
    EXPECT_EQ(f.count("transpose"), 2u) << f.print();
    EXPECT_EQ(f.pool.all().size(), 1u);
  }
}

namespace {

/// A convolution of bytes: a weight of [16, 8, 2, 2] with the numbers 0, 1, …,
/// without their ninth bits, in an image of some pixels a side.
std::string convolveBytes(const std::string &id, int64_t pixels) {
  std::string side = std::to_string(pixels + 1),
              image = "tensor<1x8x" + side + "x" + side + "x",
              result = "tensor<1x16x" + std::to_string(pixels) + "x" +
                       std::to_string(pixels) + "xi32>";
  return "func.func @main(%x: " + image + "ui8>) -> " + result +
         " {\n  %w = bp.weight {id = \"" + id +
         "\", dtype = i8, dims = #bp.dims<[\"16\", \"8\", \"2\", \"2\"]>} : () "
         "-> tensor<16x8x2x2xi8>\n  %v = bp.cast %w {dtype = i32} : "
         "(tensor<16x8x2x2xi8>) -> tensor<16x8x2x2xi32>\n  %b = bp.cast %x "
         "{dtype = i32} : (" +
         image + "ui8>) -> " + image +
         "i32>\n  %r = bp.conv %b, %v {strides = array<i64: 1, 1>, dilations = "
         "array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>} : "
         "(" +
         image + "i32>, tensor<16x8x2x2xi32>) -> " + result +
         "\n  return %r : " + result + "\n}\n";
}

} // namespace

/// Where byte `w` of input `c` of the weight of output `o` lies, of two or four
/// inputs side by side.
static size_t positionOf(int64_t o, int64_t c, int64_t w, int64_t inputs,
                         bool inLanes) {
  int64_t k = c / inputs * window + w;
  int64_t row = inLanes ? k * 16 + o : o * (8 / inputs) * window + k;
  return size_t(row * inputs + c % inputs);
}

// Inputs that are multiplied at once are neighbours, and for few pixels all
// outputs of a block.
TEST(ArrangeWeights, StoresNeighboursOfBytes) {
  for (uint32_t bit : {BP_FUSE_MIXED_SIGNS, BP_FUSE_BYTE_PAIRS})
    for (int64_t pixels : {20, 5}) {
      bool inLanes = pixels == 5;
      int64_t inputs = bit == BP_FUSE_MIXED_SIGNS ? 4 : 2;
      backplane::Weight weight =
          arrangedBytes({16, 8, 2, 2}, bit, [&](const std::string &id) {
            return convolveBytes(id, pixels);
          });
      EXPECT_EQ(weight.type.dims,
                inLanes ? (backplane::Dims{1, 8 / inputs, 2, 2, 16, inputs})
                        : (backplane::Dims{16, 8 / inputs, 2, 2, inputs}));
      for (int64_t o = 0; o < 16; ++o)
        for (int64_t c = 0; c < 8; ++c)
          for (int64_t w = 0; w < window; ++w)
            EXPECT_EQ(weight.data[positionOf(o, c, w, inputs, inLanes)],
                      uint8_t(((o * 8 + c) * window + w) % 251));
    }
}
