// SPDX-License-Identifier: Apache-2.0
//
// LaneWindow.h: gathers along rows whose positions are the same in every row.
// Private to this folder.
#ifndef BACKPLANE_EMIT_CPU_LANEWINDOW_H
#define BACKPLANE_EMIT_CPU_LANEWINDOW_H

#include "sdk/emit/cpu/VectorBody.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Builders.h"

#include <optional>

namespace backplane {

/// The loop along the rows, if `op` is such a gather, of elements of 32 bits.
std::optional<unsigned> findWindow(mlir::linalg::GenericOp op);

/// Emits the loops of `op`, a vector of columns after the other, through all
/// rows. Where the positions of its lanes lie within one vector, that is loaded
/// and `permute` orders it: an intrinsic of (elements, positions), both i32.
void emitWindow(mlir::OpBuilder &builder, mlir::linalg::GenericOp op,
                unsigned loop, int64_t lanes, llvm::StringRef permute);

} // namespace backplane

#endif // BACKPLANE_EMIT_CPU_LANEWINDOW_H
