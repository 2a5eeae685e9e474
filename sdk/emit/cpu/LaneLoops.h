// SPDX-License-Identifier: Apache-2.0
//
// LaneLoops.h: the loops of one linalg.generic on memrefs, one of them on
// vectors. Private to this folder.
#ifndef BACKPLANE_EMIT_CPU_LANELOOPS_H
#define BACKPLANE_EMIT_CPU_LANELOOPS_H

#include "sdk/emit/cpu/LanePadding.h"
#include "sdk/emit/cpu/VectorBody.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Builders.h"

namespace backplane {

/// Emits the loops of `op` with `loop` in steps of the lanes of `width`, which
/// is scalable only if canScaleLanes. `extremesForget`: the larger of two
/// floats is one instruction, but not where NaN wins. `paddings`: inputs that
/// are read where they were before they were padded.
void emitLaneLoops(mlir::OpBuilder &builder, mlir::linalg::GenericOp op,
                   unsigned loop, VectorWidth width, bool extremesForget,
                   llvm::ArrayRef<Padding> paddings);

} // namespace backplane

#endif // BACKPLANE_EMIT_CPU_LANELOOPS_H
