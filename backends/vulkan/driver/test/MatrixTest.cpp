// SPDX-License-Identifier: Apache-2.0
//
// MatrixTest.cpp: modules with cooperative matrices, and what a device says of
// those that it multiplies. No device is needed.
#include "backends/vulkan/driver/CooperativeMatrix.h"
#include "backends/vulkan/driver/MatrixModule.h"

#include <gtest/gtest.h>

namespace backplane::vulkan::test {
namespace {

/// Ids of the module below.
enum Id : uint32_t {
  Main = 1,
  Void,
  Function,
  Uint,
  Half,
  Float,
  Zero,
  One,
  Two,
  Three,
  Sixteen,
  Count,
  Line,
  LinePointer,
  Memory,
  Pointer,
  TypeA,
  TypeB,
  TypeSums,
  Number,
  Label,
  Address,
  A,
  B,
  Sums,
  Product,
  Bound
};

/// What a test changes of the module.
struct Change {
  uint32_t right = B, layout = One, scope = Three, opcode = 4459;
};

/// A subgroup multiplies what lies in memory of its work-group.
Words module(Change change = {}) {
  Words words = {0x07230203, 0x00010300, 0, Bound, 0};
  auto add = [&](uint32_t opcode, std::initializer_list<uint32_t> operands) {
    words.push_back(uint32_t(operands.size() + 1) << 16 | opcode);
    words.insert(words.end(), operands);
  };
  auto text = [&](uint32_t opcode, const char *of) {
    Words letters(strlen(of) / 4 + 1);
    memcpy(letters.data(), of, strlen(of));
    words.push_back(uint32_t(letters.size() + 1) << 16 | opcode);
    words.insert(words.end(), letters.begin(), letters.end());
  };
  constexpr uint32_t nonPrivate = 32, workgroup = 4, floatOne = 0x3F800000;
  for (uint32_t capability : {1, 9, 5345, 6022})
    add(17, {capability});
  text(10, "SPV_KHR_vulkan_memory_model");
  text(10, "SPV_KHR_cooperative_matrix");
  add(14, {0, 3});
  add(15, {5, Main, 0x6E69616D, 0}); // "main"
  add(16, {Main, 17, 64, 1, 1});
  add(19, {Void});
  add(33, {Function, Void});
  add(21, {Uint, 32, 0});
  add(22, {Half, 16});
  add(22, {Float, 32});
  for (auto [id, value] : {std::pair<uint32_t, uint32_t>(Zero, 0),
                           {One, 1},
                           {Two, 2},
                           {Three, 3},
                           {Sixteen, 16},
                           {Count, 512}})
    add(43, {Uint, id, value});
  add(28, {Line, Uint, Count});
  add(32, {LinePointer, workgroup, Line});
  add(59, {LinePointer, Memory, workgroup});
  add(32, {Pointer, workgroup, Uint});
  add(4456, {TypeA, Half, change.scope, Sixteen, Sixteen, Zero});
  add(4456, {TypeB, Half, change.scope, Sixteen, Sixteen, One});
  add(4456, {TypeSums, Float, change.scope, Sixteen, Sixteen, Two});
  add(43, {Float, Number, floatOne});
  add(54, {Void, Main, 0, Function});
  add(248, {Label});
  add(65, {Pointer, Address, Memory, Zero});
  add(4457, {TypeA, A, Address, Zero, Sixteen, nonPrivate});
  add(4457, {TypeB, B, Address, change.layout, Sixteen, nonPrivate});
  add(80, {TypeSums, Sums, Number});
  add(change.opcode, {TypeSums, Product, A, change.right, Sums});
  add(4458, {Address, Product, Zero, Sixteen, nonPrivate});
  add(253, {});
  add(56, {});
  return words;
}

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
