// SPDX-License-Identifier: Apache-2.0
//
// Rows.h: dispatches that compute rows of a tensor from sums over the same
// rows, one after another: softmax, normalisation. Private to this folder.
#ifndef BACKPLANE_EMIT_GPU_ROWS_H
#define BACKPLANE_EMIT_GPU_ROWS_H

#include "sdk/emit/gpu/GpuTarget.h"
#include "sdk/emit/gpu/Groups.h"

namespace backplane {

/// A sum, minimum or the like over the columns of a row.
struct GpuRowSum {
  mlir::linalg::GenericOp op; ///< one result
  mlir::TypedAttr init;
  mlir::Operation *combiner; ///< in its body, see Reduction.h
  unsigned sumOperand;
};

struct GpuRows {
  GpuTarget target;
  llvm::SmallVector<GpuRowSum> sums; ///< each may need those in front of it
  /// Sizes of the loops of all sums: of the rows, then of the columns.
  llvm::SmallVector<int64_t> sizes;
  unsigned rowLoops = 0;
  int64_t columns = 0; ///< elements of a row
  /// Results with an element for each column, with one for each row, and those
  /// that have nothing to do with either.
  llvm::SmallVector<Written> ofColumns, ofRows, others;
  int64_t team = 0;  ///< invocations of a row
  int64_t group = 0; ///< invocations of a work-group
  int64_t lanes = 1; ///< neighbours that an invocation takes at once
  /// Whether an invocation keeps its elements; else it reads them for each sum.
  bool keeps = true;

  /// Parts of a row in which each invocation has `lanes` elements.
  int64_t parts() const {
    return int64_t(llvm::divideCeil(uint64_t(columns), uint64_t(team * lanes)));
  }
  bool hasEdge() const { return columns % (team * lanes) != 0; }
};

/// The rows that a bound dispatch (bp-bind-buffers) computes; none when it is
/// anything else, or nothing of it needs a sum again.
std::optional<GpuRows> matchGpuRows(mlir::func::FuncOp func,
                                    const GpuTarget &target);

/// Writes the loops in front of the function's end.
mlir::LogicalResult emitGpuRows(mlir::func::FuncOp func, GpuRows &rows);

} // namespace backplane

#endif // BACKPLANE_EMIT_GPU_ROWS_H
