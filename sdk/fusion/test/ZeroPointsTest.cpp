// SPDX-License-Identifier: Apache-2.0
#include "sdk/fusion/Fusion.h"

#include "backplane/compiler.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace mlir;

namespace {

/// conv(u8 image - 3, weight of [2, 1, 2, 2]) with this padding in front.
std::string imageTimes(const std::string &id, const std::string &low) {
  std::string side = low == "0" ? "4" : "5",
              result = "tensor<1x2x" + side + "x" + side + "xi32>";
  return "func.func @main(%x: tensor<1x1x5x5xui8>) -> " + result +
         " {\n  %w = bp.weight {id = \"" + id +
         "\", dtype = i8, dims = #bp.dims<[\"2\", \"1\", \"2\", \"2\"]>} : () "
         "-> tensor<2x1x2x2xi8>\n  %v = bp.cast %w {dtype = i32} : "
         "(tensor<2x1x2x2xi8>) -> tensor<2x1x2x2xi32>\n  %z = bp.constant "
         "{dims = #bp.dims<[\"1\", \"1\", \"5\", \"5\"]>, dtype = i32, value = "
         "dense<3> : tensor<1x1x5x5xi32>} : () -> tensor<1x1x5x5xi32>\n  %b = "
         "bp.cast %x {dtype = i32} : (tensor<1x1x5x5xui8>) -> "
         "tensor<1x1x5x5xi32>\n  %d = bp.sub %b, %z : (tensor<1x1x5x5xi32>, "
         "tensor<1x1x5x5xi32>) -> tensor<1x1x5x5xi32>\n  %r = bp.conv %d, %v "
         "{strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, low = "
         "array<i64: " +
         low + ", " + low +
         ">, high = array<i64: 0, 0>} : (tensor<1x1x5x5xi32>, "
         "tensor<2x1x2x2xi32>) -> " +
         result + "\n  return %r : " + result + "\n}\n";
}

class ZeroPoints : public testing::TestWithParam<const char *> {};

} // namespace

// The sums of the weight, times the zero point, come off the product; padding
// is the zero point.
TEST_P(ZeroPoints, OfImagesAreBehindTheProduct) {
  MLIRContext context;
  context.loadDialect<bp::BpDialect, func::FuncDialect>();
  backplane::WeightPool pool;
  std::string id = *pool.add({backplane::DType::I8, {2, 1, 2, 2}},
                             backplane::Bytes{1, 2, 3, 4, 255, 254, 7, 0});
  auto module =
      parseSourceString<ModuleOp>(imageTimes(id, GetParam()), &context);
  ASSERT_TRUE(module);
  bp::FusionOptions options;
  options.fusion = BP_FUSE_WIDENING;
  ASSERT_TRUE(succeeded(bp::formDispatches(*module, options, pool)));
  unsigned pads = 0, convs = 0;
  module->walk([&](bp::PadOp) { ++pads; });
  module->walk([&](bp::ConvOp op) {
    ++convs;
    EXPECT_EQ(op.getLow(), (ArrayRef<int64_t>{0, 0}));
    EXPECT_TRUE(isa<bp::CastOp>(op->getOperand(0).getDefiningOp()));
  });
  EXPECT_EQ(convs, 1u);
  EXPECT_EQ(pads, GetParam() == std::string("0") ? 0u : 1u);
  bool found = false;
  for (const auto &[name, weight] : pool.all()) {
    if (weight.type.dtype != backplane::DType::I32)
      continue;
    int32_t corrections[2];
    ASSERT_EQ(weight.data.size(), sizeof(corrections));
    std::memcpy(corrections, weight.data.data(), sizeof(corrections));
    EXPECT_EQ(corrections[0], 3 * (1 + 2 + 3 + 4));
    EXPECT_EQ(corrections[1], 3 * (-1 - 2 + 7));
    found = true;
  }
  EXPECT_TRUE(found);
}

INSTANTIATE_TEST_SUITE_P(Padding, ZeroPoints, testing::Values("0", "1"));
