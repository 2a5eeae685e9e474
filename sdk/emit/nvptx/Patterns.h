// SPDX-License-Identifier: Apache-2.0
//
// Patterns.h: what upstream's conversions to LLVM's dialect lack for a kernel:
// linear buffers as pointers, memory of the work-group, invocations. None of
// them calls a library of NVIDIA. Private to this folder.
#ifndef BACKPLANE_EMIT_NVPTX_PATTERNS_H
#define BACKPLANE_EMIT_NVPTX_PATTERNS_H

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Transforms/DialectConversion.h"

namespace backplane {

/// Address spaces of NVPTX.
enum NvptxSpace : unsigned {
  nvptxGeneric = 0,
  nvptxGlobal = 1,
  nvptxShared = 3,
  nvptxSharedCluster = 7
};

/// Invocations of a warp.
inline constexpr int64_t nvptxWarp = 32;

/// Lines of unknown length are pointers to global memory, those of the
/// work-group to shared memory, others generic ones.
void addNvptxTypes(mlir::LLVMTypeConverter &types);

/// They come before upstream's for the same ops.
void addNvptxPatterns(const mlir::LLVMTypeConverter &types,
                      mlir::RewritePatternSet &patterns);

} // namespace backplane

#endif // BACKPLANE_EMIT_NVPTX_PATTERNS_H
