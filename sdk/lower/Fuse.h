// SPDX-License-Identifier: Apache-2.0
//
// Fuse.h: chains of elementwise linalg ops become one op each. Internal.
#ifndef BACKPLANE_LOWER_FUSE_H
#define BACKPLANE_LOWER_FUSE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace bp::lower {

/// Fuses elementwise producers into their only consumer, unless that would
/// compute an element more than once, and removes what is dead or repeated.
mlir::LogicalResult fuseElementwise(mlir::func::FuncOp function);

} // namespace bp::lower

#endif // BACKPLANE_LOWER_FUSE_H
