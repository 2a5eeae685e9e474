// SPDX-License-Identifier: Apache-2.0
//
// ExpandPads.h: tensor.pad as a linalg op.
//
// A tile of a tensor.pad is a piece of the source whose size depends on where
// the tile lies; with symbolic sizes nothing bounds the memory that it takes. A
// linalg.generic that looks up each element has tiles of the tile's own size.
#ifndef BACKPLANE_LOWER_EXPANDPADS_H
#define BACKPLANE_LOWER_EXPANDPADS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace bp {

/// Replaces each tensor.pad of a dynamic size, with a constant value around, in
/// the body of the function.
void expandDynamicPads(mlir::func::FuncOp function);

} // namespace bp

#endif // BACKPLANE_LOWER_EXPANDPADS_H
