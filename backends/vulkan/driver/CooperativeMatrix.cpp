// SPDX-License-Identifier: Apache-2.0
#include "CooperativeMatrix.h"
#include "Instance.h"

namespace backplane::vulkan {

namespace {

/// By the number that Vulkan has for it.
struct Component {
  const char *name;
  bool isFloat;
  uint32_t bits;
};
constexpr Component components[] = {
    {"f16", true, 16},  {"f32", true, 32},  {"f64", true, 64},
    {"i8", false, 8},   {"i16", false, 16}, {"i32", false, 32},
    {"i64", false, 64}, {"u8", false, 8},   {"u16", false, 16},
    {"u32", false, 32}, {"u64", false, 64}};

} // namespace

std::vector<MatrixShape>
shapesOf(std::span<const VkCooperativeMatrixPropertiesKHR> all) {
  std::vector<MatrixShape> shapes;
  for (const VkCooperativeMatrixPropertiesKHR &one : all)
    if (one.scope == VK_SCOPE_SUBGROUP_KHR && one.AType == one.BType &&
        one.CType == one.ResultType && !one.saturatingAccumulation)
      shapes.push_back({uint32_t(one.AType), uint32_t(one.CType), one.MSize,
                        one.NSize, one.KSize});
  return shapes;
}

std::vector<MatrixShape> matrixShapes(const Instance &instance,
                                      VkPhysicalDevice device) {
  uint32_t count = 0;
  if (!instance.getMatrices || instance.getMatrices(device, &count, nullptr))
    return {};
  VkCooperativeMatrixPropertiesKHR empty = {};
  empty.sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR;
  std::vector<VkCooperativeMatrixPropertiesKHR> all(count, empty);
  if (instance.getMatrices(device, &count, all.data()))
    return {};
  return shapesOf(std::span(all).first(count));
}

std::string featureOf(const MatrixShape &shape) {
  if (shape.factor >= std::size(components) ||
      shape.sum >= std::size(components))
    return "";
  return std::string("cooperativeMatrix:") + components[shape.factor].name +
         ":" + components[shape.sum].name + ":" + std::to_string(shape.m) +
         "x" + std::to_string(shape.n) + "x" + std::to_string(shape.k);
}

bool isComponent(uint32_t component, bool isFloat, uint32_t bits) {
  return component < std::size(components) &&
         components[component].isFloat == isFloat &&
         components[component].bits == bits;
}

} // namespace backplane::vulkan
