// SPDX-License-Identifier: Apache-2.0
//
// TensorMaps.h: tensors as kernels take them whose copies the hardware does by
// itself. A tensor map is a parameter of 128 bytes that the driver makes for
// each launch, as it has the address of the binding. What else it has lies
// beside the kernel K as K_tensors (backends/nvptx/README.md). Private to this
// folder.
#ifndef BACKPLANE_EMIT_NVPTX_TENSORMAPS_H
#define BACKPLANE_EMIT_NVPTX_TENSORMAPS_H

#include "sdk/emit/gpu/MatrixUnit.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace backplane {

/// A pointer to the map of a tensor, until the kernel has parameters.
mlir::Value tensorMap(mlir::ImplicitLocOpBuilder &b,
                      const TensorInBinding &tensor);

/// The tensors that a function has pointers to.
llvm::SmallVector<mlir::DictionaryAttr> tensorsOf(mlir::func::FuncOp func);

/// Makes the last parameters of a kernel, as many as there are tensors, maps of
/// these, and describes them beside it.
void bindTensorMaps(mlir::LLVM::LLVMFuncOp kernel,
                    llvm::ArrayRef<mlir::DictionaryAttr> tensors);

} // namespace backplane

#endif // BACKPLANE_EMIT_NVPTX_TENSORMAPS_H
