// SPDX-License-Identifier: Apache-2.0
//
// MatrixTest.cpp: modules with cooperative matrices, and what a device says of
// those that it multiplies. No device is needed.
#include "MatrixSample.h"
#include "backends/vulkan/driver/CooperativeMatrix.h"
#include "backends/vulkan/driver/MatrixModule.h"

#include <gtest/gtest.h>

namespace backplane::vulkan::test {
namespace {

using namespace matrixsample;

PhysicalDevice device() {
  PhysicalDevice made = {};
  made.apiVersion = VK_API_VERSION_1_3;
  for (uint32_t &size : made.limits.maxComputeWorkGroupSize)
    size = 128;
  made.limits.maxComputeWorkGroupInvocations = 128;
  made.subgroupSize = 32;
  made.features = {"shaderFloat16", "vulkanMemoryModel", "cooperativeMatrix",
                   "computeFullSubgroups"};
  made.matrixShapes = {{0, 1, 16, 16, 16}};
  return made;
}

std::string complaint(const Words &words, const PhysicalDevice &on = device()) {
  ModuleUse use = {"main", {64, 1, 1}, 1};
  std::string reason;
  bool fits = checkModule(words, use, on, &reason);
  EXPECT_EQ(fits, reason.empty());
  EXPECT_TRUE(!fits || use.subgroups);
  return reason;
}

TEST(Matrices, AreTakenWhereADeviceListsThem) {
  EXPECT_EQ(complaint(module()), "");
  EXPECT_EQ(complaint(module({.layout = Zero})), "");
  PhysicalDevice other = device(), without = device(), empty = device();
  other.matrixShapes = {{0, 1, 16, 8, 16}, {0, 0, 16, 16, 16}};
  EXPECT_EQ(complaint(module(), other),
            "the device does not list a product of the shader");
  without.features = {"shaderFloat16", "vulkanMemoryModel"};
  EXPECT_EQ(complaint(module(), without),
            "the shader needs CooperativeMatrixKHR, but the device has no "
            "cooperativeMatrix");
  empty.subgroupSize = 128;
  EXPECT_NE(complaint(module(), empty).find("full subgroups"),
            std::string::npos);
}

TEST(Matrices, AreRefusedWithTheReason) {
  EXPECT_NE(complaint(module({.right = A})), "");
  EXPECT_NE(complaint(module({.layout = Two})).find("by rows"),
            std::string::npos);
  EXPECT_NE(complaint(module({.scope = Two})).find("a subgroup"),
            std::string::npos);
  EXPECT_NE(complaint(module({.opcode = 5361})).find("form"),
            std::string::npos);
}

TEST(Matrices, AreRefusedWhenAnyWordIsRubbish) {
  const Words whole = module();
  unsigned taken = 0;
  for (size_t word = 0; word < whole.size(); ++word) {
    Words damaged = whole;
    damaged[word] = 0xFFFFFFFF;
    taken += complaint(damaged).empty();
  }
  EXPECT_LT(taken, whole.size() / 10);
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_NE(complaint(Words(whole.begin(), whole.begin() + length)), "")
        << length;
}

TEST(Matrices, HaveFeaturesByTheirShapes) {
  VkCooperativeMatrixPropertiesKHR one = {};
  one.MSize = one.NSize = one.KSize = 16;
  one.CType = one.ResultType = decltype(one.CType)(1);
  one.scope = VK_SCOPE_SUBGROUP_KHR;
  VkCooperativeMatrixPropertiesKHR mixed = one, wide = one, full = one;
  mixed.BType = decltype(one.BType)(1);
  wide.scope = decltype(one.scope)(2);
  full.saturatingAccumulation = VK_TRUE;
  std::array all = {one, mixed, wide, full};
  std::vector<MatrixShape> shapes = shapesOf(all);
  ASSERT_EQ(shapes.size(), 1u);
  EXPECT_EQ(featureOf(shapes[0]), "cooperativeMatrix:f16:f32:16x16x16");
  EXPECT_EQ(featureOf({3, 5, 16, 8, 32}), "cooperativeMatrix:i8:i32:16x8x32");
  // Younger types have large numbers.
  EXPECT_EQ(featureOf({1000141000, 1, 16, 16, 16}), "");
}

} // namespace
} // namespace backplane::vulkan::test
