// SPDX-License-Identifier: Apache-2.0
//
// Matrices.h: the matrices of MLIR's dialect `gpu` as cooperative matrices,
// which ask for another model of memory. Private to this folder.
#ifndef BACKPLANE_EMIT_SPIRV_MATRICES_H
#define BACKPLANE_EMIT_SPIRV_MATRICES_H

#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "mlir/Dialect/SPIRV/Transforms/SPIRVConversion.h"

namespace backplane {

/// Whether code has ops on matrices.
bool usesMatrices(mlir::Operation *code);

void addMatrixTypes(mlir::SPIRVTypeConverter &types);
void addMatrixPatterns(const mlir::SPIRVTypeConverter &types,
                       mlir::RewritePatternSet &patterns);

/// The version that MLIR's ops are for, and what a module with matrices may
/// use besides others.
inline constexpr auto matrixVersion = mlir::spirv::Version::V_1_6;
inline constexpr mlir::spirv::Capability matrixCapabilities[] = {
    mlir::spirv::Capability::VulkanMemoryModel,
    mlir::spirv::Capability::CooperativeMatrixKHR,
    mlir::spirv::Capability::GroupNonUniform, mlir::spirv::Capability::Float16};
inline constexpr mlir::spirv::Extension matrixExtensions[] = {
    mlir::spirv::Extension::SPV_KHR_vulkan_memory_model,
    mlir::spirv::Extension::SPV_KHR_cooperative_matrix};

/// Vulkan's model takes an access for one that no other invocation sees.
/// States which are seen, those to memory of the work-group, and that its
/// barriers show them.
void shareGroupMemory(mlir::spirv::FuncOp entry);

} // namespace backplane

#endif // BACKPLANE_EMIT_SPIRV_MATRICES_H
