// SPDX-License-Identifier: Apache-2.0
#include "sdk/layout/test/Form.h"

#include "backplane/compiler.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

using namespace mlir;

namespace {

/// conv(image of bytes - 3, weight of [2, 1, 2, 2]) with this padding in front.
std::string imageTimes(const std::string &id, const std::string &low,
                       const std::string &byte = "ui8") {
  std::string side = low == "0" ? "4" : "5",
              result = "tensor<1x2x" + side + "x" + side + "xi32>";
  return "func.func @main(%x: tensor<1x1x5x5x" + byte + ">) -> " + result +
         " {\n  %w = bp.weight {id = \"" + id +
         "\", dtype = i8, dims = #bp.dims<[\"2\", \"1\", \"2\", \"2\"]>} : () "
         "-> tensor<2x1x2x2xi8>\n  %v = bp.cast %w {dtype = i32} : "
         "(tensor<2x1x2x2xi8>) -> tensor<2x1x2x2xi32>\n  %z = bp.constant "
         "{dims = #bp.dims<[\"1\", \"1\", \"5\", \"5\"]>, dtype = i32, value = "
         "dense<3> : tensor<1x1x5x5xi32>} : () -> tensor<1x1x5x5xi32>\n  %b = "
         "bp.cast %x {dtype = i32} : (tensor<1x1x5x5x" +
         byte +
         ">) -> "
         "tensor<1x1x5x5xi32>\n  %d = bp.sub %b, %z : (tensor<1x1x5x5xi32>, "
         "tensor<1x1x5x5xi32>) -> tensor<1x1x5x5xi32>\n  %r = bp.conv %d, %v "
         "{strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, low = "
         "array<i64: " +
         low + ", " + low +
         ">, high = array<i64: 0, 0>} : (tensor<1x1x5x5xi32>, "
         "tensor<2x1x2x2xi32>) -> " +
         result + "\n  return %r : " + result + "\n}\n";
}

/// The numbers that come off the product of the two channels.
std::array<int32_t, 2> correctionsIn(const backplane::WeightPool &pool) {
  std::array<int32_t, 2> corrections{};
  for (const auto &[name, weight] : pool.all())
    if (weight.type.dtype == backplane::DType::I32 &&
        weight.data.size() == sizeof(corrections))
      std::memcpy(corrections.data(), weight.data.data(), sizeof(corrections));
  return corrections;
}

/// The dispatches that are formed of imageTimes, for a target that fuses so.
struct Formed {
  Formed(const std::string &low, uint32_t fusion,
         const std::string &byte = "ui8") {
    context.loadDialect<bp::BpDialect, func::FuncDialect>();
    std::string id = *pool.add({backplane::DType::I8, {2, 1, 2, 2}},
                               backplane::Bytes{1, 2, 3, 4, 255, 254, 7, 0});
    module = parseSourceString<ModuleOp>(imageTimes(id, low, byte), &context);
    bp::LayoutOptions options;
    options.fusion = fusion;
    isGood = module && formsDispatches(*module, options, pool);
  }

  MLIRContext context;
  backplane::WeightPool pool;
  OwningOpRef<ModuleOp> module;
  bool isGood;
};

class ZeroPoints : public testing::TestWithParam<const char *> {};

} // namespace

// The sums of the weight, times the zero point, come off the product; padding
// is the zero point.
TEST_P(ZeroPoints, OfImagesAreBehindTheProduct) {
  Formed f(GetParam(), BP_FUSE_WIDENING);
  ASSERT_TRUE(f.isGood);
  unsigned pads = 0, convs = 0;
  f.module->walk([&](bp::PadOp) { ++pads; });
  f.module->walk([&](bp::ConvOp op) {
    ++convs;
    EXPECT_EQ(op.getLow(), (ArrayRef<int64_t>{0, 0}));
    EXPECT_TRUE(isa<bp::CastOp>(op->getOperand(0).getDefiningOp()));
  });
  EXPECT_EQ(convs, 1u);
  EXPECT_EQ(pads, GetParam() == std::string("0") ? 0u : 1u);
  EXPECT_EQ(correctionsIn(f.pool),
            (std::array<int32_t, 2>{3 * (1 + 2 + 3 + 4), 3 * (-1 - 2 + 7)}));
}

// Where mixed signs are faster, a signed image is 128 more, and so is its zero
// point.
TEST(ZeroPointSigns, SignedImagesBecomeUnsigned) {
  for (bool mixed : {false, true}) {
    Formed f("1", BP_FUSE_WIDENING | (mixed ? BP_FUSE_MIXED_SIGNS : 0), "i8");
    ASSERT_TRUE(f.isGood);
    f.module->walk([&](bp::ConvOp op) {
      auto widening = op.getX().getDefiningOp<bp::CastOp>();
      ASSERT_TRUE(widening);
      EXPECT_EQ(
          getElementTypeOrSelf(widening.getX().getType()).isUnsignedInteger(8),
          mixed);
    });
    int32_t zero = mixed ? 131 : 3;
    EXPECT_EQ(correctionsIn(f.pool),
              (std::array<int32_t, 2>{zero * 10, zero * 4}));
  }
}

INSTANTIATE_TEST_SUITE_P(Padding, ZeroPoints, testing::Values("0", "1"));
