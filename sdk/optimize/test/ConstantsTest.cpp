// SPDX-License-Identifier: Apache-2.0
#include "sdk/optimize/Constants.h"

#include "sdk/dialect/Graph.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;

namespace {

/// Whether the result of a function is constant.
bool isConstantEnd(const std::string &body, const std::string &end) {
  MLIRContext context;
  bp::loadGraphDialects(context);
  auto module = parseSourceString<ModuleOp>(
      "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
      "%v0 = bp.weight {id = \"00000000000000000000000000000001\", dtype = "
      "f32, dims = #bp.dims<[\"4\"]>} : () -> tensor<4xf32>\n" +
          body + "return " + end + " : tensor<4xf32>\n}\n",
      &context);
  EXPECT_TRUE(module);
  auto main = module->lookupSymbol<func::FuncOp>("main");
  return bp::isConstant(main.front().getTerminator()->getOperand(0));
}

/// Ops behind a weight, one after the other.
bool isConstantChain(size_t ops) {
  std::string body;
  for (size_t i = 0; i < ops; ++i)
    body += "%v" + std::to_string(i + 1) + " = bp.neg %v" + std::to_string(i) +
            " : (tensor<4xf32>) -> tensor<4xf32>\n";
  return isConstantEnd(body, "%v" + std::to_string(ops));
}

TEST(IsConstant, FollowsWeightsAndStopsAtInputs) {
  EXPECT_TRUE(isConstantEnd("", "%v0"));
  EXPECT_FALSE(isConstantEnd("", "%x"));
  const char *sum = "%s = bp.add %v0, %v0 : (tensor<4xf32>, tensor<4xf32>) -> "
                    "tensor<4xf32>\n%t = bp.add %s, %x : (tensor<4xf32>, "
                    "tensor<4xf32>) -> tensor<4xf32>\n";
  EXPECT_TRUE(isConstantEnd(sum, "%s"));
  EXPECT_FALSE(isConstantEnd(sum, "%t"));
}

TEST(IsConstant, LooksAtSoManyOps) {
  EXPECT_TRUE(isConstantChain(bp::maxConstantOps - 1)); // and the weight
  EXPECT_FALSE(isConstantChain(bp::maxConstantOps));
}

} // namespace
