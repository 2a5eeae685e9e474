// SPDX-License-Identifier: Apache-2.0
//
// The body of a registered kernel as one dispatch runs it.
#include "sdk/compiler/RegisteredKernels.h"

#include <gtest/gtest.h>

using namespace backplane;

namespace {

/// out = f(a, b, c), of which c may be absent.
class KernelForTest : public testing::Test {
protected:
  KernelForTest() {
    auto text = parseKernelText("kernel k version 1 {\n symbol n\n"
                                " %a = input f32[n]\n %b = input f32[n]\n"
                                " %c = optional input f32[n]\n"
                                " %p = mul(%a, %b)\n %s = add(%p, %c)\n"
                                " output %s\n}");
    EXPECT_TRUE(text) << text.message();
    kernel_.text = std::move(*text);
    Kernel code;
    code.inPlace = {0, 1, 2};
    KernelLaunch launch{.name = "run", .grid = {"n", "1", "1"}};
    launch.parameters = {"n", "has_c"};
    for (uint32_t i = 0; i < 4; ++i)
      launch.bindings.push_back({i, "", ""});
    code.launches = {launch};
    kernel_.code = code;
  }

  Kernel kernelFor(std::vector<int32_t> bindings) {
    bp::KernelMatch match;
    match.kernel = &kernel_;
    match.symbols = {{"n", Dim(4) * Dim::symbol("m")}};
    match.bindings = std::move(bindings);
    auto kernel = backplane::kernelFor(match, {});
    EXPECT_TRUE(kernel) << kernel.message();
    return std::move(*kernel);
  }

  RegisteredKernel kernel_;
};

TEST_F(KernelForTest, BindsWhatTheDispatchHas) {
  Kernel kernel = kernelFor({2, 0, 1, 3});
  std::vector<uint32_t> bindings;
  for (const LaunchBinding &binding : kernel.launches[0].bindings)
    bindings.push_back(binding.binding);
  EXPECT_EQ(bindings, (std::vector<uint32_t>{2, 0, 1, 3}));
  EXPECT_EQ(kernel.launches[0].grid[0], "4*m");
  EXPECT_EQ(kernel.launches[0].parameters,
            (std::vector<std::string>{"4*m", "1"}));
}

TEST_F(KernelForTest, InputsInPlaceAreThoseOfTheDispatch) {
  kernel_.code->inPlace = {0};
  EXPECT_EQ(kernelFor({2, 0, 1, 3}).inPlace, (std::vector<uint32_t>{2}));
}

TEST_F(KernelForTest, AnAbsentInputIsNoneInPlace) {
  EXPECT_EQ(kernelFor({1, 0, -1, 2}).inPlace, (std::vector<uint32_t>{1, 0}));
}

TEST_F(KernelForTest, OneInputForTwoIsNoneInPlace) {
  EXPECT_EQ(kernelFor({0, 0, 1, 2}).inPlace, (std::vector<uint32_t>{1}));
}

} // namespace
