// SPDX-License-Identifier: Apache-2.0
//
// LaneGather.h: bodies that load elements themselves, as those of gathers and
// resizes do. Private to this folder.
#ifndef BACKPLANE_EMIT_CPU_LANEGATHER_H
#define BACKPLANE_EMIT_CPU_LANEGATHER_H

#include "sdk/emit/cpu/LaneMemory.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <optional>

namespace backplane {

/// Whether the body of `op` loads elements of memory that is not an operand.
bool loadsElements(mlir::linalg::GenericOp op);

/// What the loads of the body cost for a vector of iterations of `loop`, in
/// vector accesses; none: the body has something that cannot be on vectors.
std::optional<double> elementLoadCost(mlir::linalg::GenericOp op, unsigned loop,
                                      int64_t lanes);

/// Whether the lanes of a load of the body are wherever data say, in one row.
bool isGathered(mlir::linalg::GenericOp op, unsigned loop,
                mlir::memref::LoadOp load);

/// Makes what the lanes of such a load read; `row` are its indices but the
/// last.
using GatherBuilder = llvm::function_ref<mlir::Value(mlir::memref::LoadOp load,
                                                     mlir::ValueRange row)>;

/// Copies such a body for the lanes at `at` and gives what it yields. `ivs` are
/// the iterations of the other loops. Without `gathered` a gather reads.
llvm::SmallVector<mlir::Value>
cloneLoadingBody(mlir::OpBuilder &builder, mlir::linalg::GenericOp op,
                 unsigned loop, const Lanes &at, mlir::ValueRange arguments,
                 mlir::ValueRange ivs, VectorWidth width,
                 GatherBuilder gathered = nullptr);

} // namespace backplane

#endif // BACKPLANE_EMIT_CPU_LANEGATHER_H
