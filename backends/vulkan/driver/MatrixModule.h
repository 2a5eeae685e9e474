// SPDX-License-Identifier: Apache-2.0
//
// MatrixModule.h: modules with cooperative matrices, which are younger than
// many a SPIRV-Tools, that of Debian 12 among them. It knows NVIDIA's older
// form of the same: a module is validated in that, and what that form does not
// say is looked at here.
#ifndef BACKPLANE_VULKAN_MATRIXMODULE_H
#define BACKPLANE_VULKAN_MATRIXMODULE_H

#include "SpirV.h"

namespace backplane::vulkan {

/// Of the SPIR-V specification.
inline constexpr uint32_t capabilityCooperativeMatrix = 6022;

/// Whether the module asks for the capability.
bool usesMatrices(Module module);

/// The module with SPV_NV_cooperative_matrix in place of
/// SPV_KHR_cooperative_matrix; empty when an instruction is cut short.
Words withOlderMatrices(Module module);

/// What is wrong with the matrices of a module whose older form is valid, or
/// that the device does not multiply; empty when it is neither.
std::string complaintOfMatrices(Module module, const ModuleUse &use,
                                const PhysicalDevice &device);

} // namespace backplane::vulkan

#endif // BACKPLANE_VULKAN_MATRIXMODULE_H
