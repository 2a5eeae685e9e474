// SPDX-License-Identifier: Apache-2.0
//
// DynamicShapes.h: axes that are split into several sizes that are not numbers.
// Private to this folder.
#ifndef BACKPLANE_EMIT_LLVM_DYNAMICSHAPES_H
#define BACKPLANE_EMIT_LLVM_DYNAMICSHAPES_H

#include "mlir/IR/BuiltinOps.h"

namespace backplane {

/// Views with sizes and strides in the place of memref.expand_shape ops that
/// split an axis so: MLIR's expand-strided-metadata takes one such size for
/// each axis and crashes on more. Memory that is not contiguous is a
/// diagnostic.
mlir::LogicalResult splitDynamicShapes(mlir::ModuleOp module);

} // namespace backplane

#endif // BACKPLANE_EMIT_LLVM_DYNAMICSHAPES_H
