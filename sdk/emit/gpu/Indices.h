// SPDX-License-Identifier: Apache-2.0
//
// Indices.h: indices of several axes as plain arithmetic. Private to this
// folder.
#ifndef BACKPLANE_EMIT_GPU_INDICES_H
#define BACKPLANE_EMIT_GPU_INDICES_H

#include "mlir/IR/BuiltinOps.h"

namespace backplane {

/// Numbers to indices and back (affine.delinearize_index and
/// affine.linearize_index), none of which are negative: divisions and products.
/// What takes a number apart and puts it together again is the number.
void expandIndices(mlir::ModuleOp module);

} // namespace backplane

#endif // BACKPLANE_EMIT_GPU_INDICES_H
