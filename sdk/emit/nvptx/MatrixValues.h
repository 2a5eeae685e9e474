// SPDX-License-Identifier: Apache-2.0
//
// MatrixValues.h: elements and results of matrix instructions in LLVM's
// dialect. Private to this folder.
#ifndef BACKPLANE_EMIT_NVPTX_MATRIXVALUES_H
#define BACKPLANE_EMIT_NVPTX_MATRIXVALUES_H

#include "sdk/emit/gpu/MatrixUnit.h"
#include "sdk/emit/nvptx/Patterns.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace backplane {

mlir::NVVM::MMATypes typeOf(MatrixElement element);

/// A constant of 32 bits.
mlir::Value word(mlir::ImplicitLocOpBuilder &b, int64_t value);
/// An address in bytes as a pointer to this space.
mlir::Value pointerTo(mlir::ImplicitLocOpBuilder &b, mlir::Value address,
                      NvptxSpace space);

/// The parts of a struct, or the one value that is none.
llvm::SmallVector<mlir::Value> partsOf(mlir::ImplicitLocOpBuilder &b,
                                       mlir::Value value);

} // namespace backplane

#endif // BACKPLANE_EMIT_NVPTX_MATRIXVALUES_H
