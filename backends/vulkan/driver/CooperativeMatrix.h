// SPDX-License-Identifier: Apache-2.0
//
// CooperativeMatrix.h: which matrices a device multiplies, and what
// VK_KHR_cooperative_matrix declares where Vulkan's headers are older than it.
#ifndef BACKPLANE_VULKAN_COOPERATIVEMATRIX_H
#define BACKPLANE_VULKAN_COOPERATIVEMATRIX_H

#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES
#endif
#include <volk.h>

#include <span>
#include <string>
#include <vector>

#ifndef VK_KHR_cooperative_matrix
#define VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME "VK_KHR_cooperative_matrix"
// NOLINTBEGIN(readability-identifier-naming): the names are Vulkan's.
inline constexpr auto
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR =
        VkStructureType(1000506000);
inline constexpr auto VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR =
    VkStructureType(1000506001);

using VkComponentTypeKHR = uint32_t;
using VkScopeKHR = uint32_t;
inline constexpr VkScopeKHR VK_SCOPE_SUBGROUP_KHR = 3;

struct VkPhysicalDeviceCooperativeMatrixFeaturesKHR {
  VkStructureType sType;
  void *pNext;
  VkBool32 cooperativeMatrix;
  VkBool32 cooperativeMatrixRobustBufferAccess;
};

struct VkCooperativeMatrixPropertiesKHR {
  VkStructureType sType;
  void *pNext;
  uint32_t MSize, NSize, KSize;
  VkComponentTypeKHR AType, BType, CType, ResultType;
  VkBool32 saturatingAccumulation;
  VkScopeKHR scope;
};

using PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR =
    VkResult(VKAPI_PTR *)(VkPhysicalDevice, uint32_t *,
                          VkCooperativeMatrixPropertiesKHR *);
// NOLINTEND(readability-identifier-naming)
#endif // VK_KHR_cooperative_matrix

namespace backplane::vulkan {

class Instance;

/// C += A * B of one subgroup, by component types of Vulkan.
struct MatrixShape {
  uint32_t factor, sum;
  uint32_t m, n, k;

  bool operator==(const MatrixShape &) const = default;
};

/// Those of subgroups whose factors have one type, as C and the result have,
/// and that do not saturate.
std::vector<MatrixShape>
shapesOf(std::span<const VkCooperativeMatrixPropertiesKHR> all);

/// What a device of this extension says; nothing where its list cannot be had.
std::vector<MatrixShape> matrixShapes(const Instance &instance,
                                      VkPhysicalDevice device);

/// "cooperativeMatrix:f16:f32:16x16x16": type of the factors, type of the sums,
/// m, n and k. Empty where a type has no name here.
std::string featureOf(const MatrixShape &shape);

/// The component type of an OpTypeFloat or OpTypeInt; of integers both signs
/// are one, as SPIR-V has the sign at the product.
bool isComponent(uint32_t component, bool isFloat, uint32_t bits);

} // namespace backplane::vulkan

#endif // BACKPLANE_VULKAN_COOPERATIVEMATRIX_H
