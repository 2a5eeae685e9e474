// SPDX-License-Identifier: Apache-2.0
#include "sdk/kernels/Match.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace bp;
using backplane::Dim;
using backplane::RegisteredKernel;

namespace {

class KernelMatchTest : public testing::Test {
protected:
  KernelMatchTest() { loadGraphDialects(context_); }

  OwningOpRef<ModuleOp> parse(const std::string &attribute) {
    return parseSourceString<ModuleOp>(
        "func.func @d(%x: tensor<?xf32, #bp.dims<[\"4*k\"]>>) -> "
        "tensor<?xf32, #bp.dims<[\"4*k\"]>> attributes {bp.symbols = [\"k\"]" +
            attribute +
            "} {\n return %x : tensor<?xf32, #bp.dims<[\"4*k\"]>>\n}\n",
        &context_);
  }

  MLIRContext context_;
};

TEST_F(KernelMatchTest, OfADispatch) {
  auto other = std::make_shared<RegisteredKernel>();
  auto kernel = std::make_shared<RegisteredKernel>();
  kernel->plugin = "acme";
  kernel->text.name = "copy";
  kernel->text.symbols = {{"m"}, {"n"}};
  auto module = parse(", bp.kernel = {name = \"acme.copy\", number = 1 : i64, "
                      "graph = 2 : i64, symbols = #bp.dims<[\"4*k\", \"8\"]>, "
                      "bindings = array<i32: 0, 0, -1, 1>}");
  ASSERT_TRUE(module);
  auto match =
      kernelMatchOf(module->lookupSymbol<func::FuncOp>("d"), {other, kernel});
  ASSERT_TRUE(match);
  EXPECT_EQ(match->kernel, kernel.get());
  EXPECT_EQ(match->graph, 2u);
  EXPECT_EQ(match->symbols, (std::map<std::string, Dim>{
                                {"m", Dim(4) * Dim::symbol("k")}, {"n", 8}}));
  EXPECT_EQ(match->bindings, (std::vector<int32_t>{0, 0, -1, 1}));
}

TEST_F(KernelMatchTest, NoneOfGeneratedCode) {
  auto module = parse("");
  ASSERT_TRUE(module);
  EXPECT_FALSE(kernelMatchOf(module->lookupSymbol<func::FuncOp>("d"), {}));
}

} // namespace
