// SPDX-License-Identifier: Apache-2.0
//
// Contiguous.h: whether four elements at once are worth it. Private to this
// folder.
#ifndef BACKPLANE_EMIT_GPU_CONTIGUOUS_H
#define BACKPLANE_EMIT_GPU_CONTIGUOUS_H

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace backplane {

/// Elements that an invocation computes at once, where it is worth it: the
/// accesses of four are one on most devices.
inline constexpr int64_t kVec4 = 4;

/// Whether an element and its three neighbours along the last axis, from a
/// multiple of four on, are computed from neighbours in buffers, from the same
/// elements, or from numbers.
bool areContiguous(mlir::Value tensor);

/// Whether an operand of an op has neighbours in a buffer for neighbours in
/// these loops as one, last loop fastest, or does not depend on them.
bool areContiguous(mlir::linalg::GenericOp op, mlir::OpOperand &operand,
                   llvm::ArrayRef<unsigned> loops);

/// The loop that an index along an axis is, when nothing but loops of one
/// iteration is added to it; loops have these sizes.
std::optional<unsigned> soleLoop(mlir::AffineExpr index,
                                 llvm::ArrayRef<int64_t> sizes);

/// Whether an operand of an op is an input, in which so many neighbours in
/// these loops as one, from a multiple of `lanes` on, are neighbours whose
/// place is a multiple of `lanes`.
bool areLinesOfBuffer(mlir::linalg::GenericOp op, mlir::OpOperand &operand,
                      llvm::ArrayRef<unsigned> loops, int64_t lanes);

/// Whether the code for an element of a tensor, up to what `known` computes, is
/// short enough to be written four times.
bool isShort(mlir::Value tensor, mlir::Operation *known = nullptr);

/// Whether a size is known and a multiple of four.
bool isOfVec4(int64_t size);

} // namespace backplane

#endif // BACKPLANE_EMIT_GPU_CONTIGUOUS_H
