// SPDX-License-Identifier: Apache-2.0
//
// Patterns.h: what MLIR's conversions to SPIR-V lack or do differently:
// buffers as lines of elements, indices of 32 bits that saturate, functions.
// Private to this folder.
#ifndef BACKPLANE_EMIT_SPIRV_PATTERNS_H
#define BACKPLANE_EMIT_SPIRV_PATTERNS_H

#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "mlir/Dialect/SPIRV/Transforms/SPIRVConversion.h"

namespace backplane {

/// The pointer to a storage buffer of any number of these elements.
mlir::spirv::PointerType storageBufferType(mlir::Type element);

/// memref<?xT> is a storage buffer, memref<NxT> an array of the invocation.
void addBufferTypes(mlir::SPIRVTypeConverter &types);

void addSpirvPatterns(const mlir::SPIRVTypeConverter &types,
                      mlir::RewritePatternSet &patterns);

/// Whether values of floats of this width are computed.
bool usesFloats(mlir::spirv::FuncOp function, unsigned width);

} // namespace backplane

#endif // BACKPLANE_EMIT_SPIRV_PATTERNS_H
