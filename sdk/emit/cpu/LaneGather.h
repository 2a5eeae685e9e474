// SPDX-License-Identifier: Apache-2.0
//
// LaneGather.h: bodies that load elements themselves, as those of gathers and
// resizes do. Private to this folder.
#ifndef BACKPLANE_EMIT_CPU_LANEGATHER_H
#define BACKPLANE_EMIT_CPU_LANEGATHER_H

#include "sdk/emit/cpu/LaneMemory.h"

#include <optional>

namespace backplane {

/// Whether the body of `op` loads elements of memory that is not an operand.
bool loadsElements(mlir::linalg::GenericOp op);

/// What the loads of the body cost for a vector of iterations of `loop`, in
/// vector accesses; none: the body has something that cannot be on vectors.
std::optional<double> elementLoadCost(mlir::linalg::GenericOp op, unsigned loop,
                                      int64_t lanes);

/// Copies such a body for the lanes at `at` and gives what it yields. `ivs` are
/// the iterations of the other loops.
llvm::SmallVector<mlir::Value>
cloneLoadingBody(mlir::OpBuilder &builder, mlir::linalg::GenericOp op,
                 unsigned loop, const Lanes &at, mlir::ValueRange arguments,
                 mlir::ValueRange ivs, VectorWidth width);

} // namespace backplane

#endif // BACKPLANE_EMIT_CPU_LANEGATHER_H
