// SPDX-License-Identifier: Apache-2.0
//
// Contraction.h: what bp-gpu-contract finds in a dispatch, and how a
// work-group shares the work. Private to this folder.
//
// C[outer, m, n] = epilogue(init + sum over k of A[outer, m, k] * B[outer, k,
// n]), where A and B are computed from whatever the factors are made of and n
// has the innermost loop of C that only one of the factors depends on.
#ifndef BACKPLANE_EMIT_GPU_CONTRACTION_H
#define BACKPLANE_EMIT_GPU_CONTRACTION_H

#include "sdk/emit/gpu/GpuTarget.h"
#include "sdk/emit/gpu/Groups.h"

namespace backplane {

/// One factor of the products.
struct GpuOperand {
  mlir::Value value; ///< in the body of the contraction
  /// The inputs that it is computed from.
  llvm::SmallVector<mlir::OpOperand *> inputs;
  /// Neighbours in memory differ in k, not in the loops of a row.
  bool kIsInnermost = false;

  bool uses(mlir::linalg::GenericOp op, unsigned loop) const;
};

struct GpuContraction {
  GpuTarget target;
  GroupSums sums;
  mlir::linalg::GenericOp op;     ///< that of the sums
  mlir::Operation *product, *sum; ///< in its body
  bool fusesProducts = false;     ///< both are one rounding
  GpuOperand a, b;
  /// Loops by role; those of m, n and k count as one loop each, last one
  /// fastest.
  llvm::SmallVector<unsigned> outer, m, n, k;

  mlir::Type type() const { return sums.init.getType(); }
  /// Sets `kIsInnermost` of both factors, whose loops are sorted.
  void findInnermost();
};

/// Sizes of the tile of C that a work-group computes: its invocations are
/// `groupRows` by `kGroupColumns`, and each has `rows` by `columns` sums.
struct GpuTile {
  static constexpr int64_t kGroupColumns = 16;
  /// Iterations over k between two barriers.
  static constexpr int64_t kDepth = 16;
  int64_t groupRows, rows, columns;

  int64_t m() const { return rows * groupRows; }
  int64_t n() const { return columns * kGroupColumns; }
};

/// The contraction that a bound dispatch (bp-bind-buffers) computes its results
/// from, or none when it is anything else or too small for tiles: of few
/// rows, which may be taken all the same.
std::optional<GpuContraction> matchGpuContraction(mlir::func::FuncOp func,
                                                  const GpuTarget &target,
                                                  bool anyRows = false);

/// The products that an op adds up, with no loops by role; none when it is
/// anything else.
std::optional<GpuContraction> readProducts(const GroupSums &sums,
                                           const GpuTarget &target);

/// The op in the body of an op that does nothing but widen the elements of one
/// tensor; null for any other op.
mlir::Operation *findWidening(mlir::linalg::GenericOp op);

/// As many sums of an invocation as the size asks for: 1, 2, 4 and so on up to
/// `most`. One that is not known is not taken for large.
int64_t sumsFor(int64_t size, int64_t invocations, int64_t most);

/// Tiles of so many rows and columns; nothing where a size is not known.
std::optional<int64_t> tileCount(GpuContraction &contraction, int64_t tileM,
                                 int64_t tileN);

/// Tiles for these loops.
GpuTile planGpuTile(GpuContraction &contraction);

/// Writes the loops in front of the function's end.
mlir::LogicalResult emitGpuContraction(mlir::func::FuncOp func,
                                       GpuContraction &contraction);

} // namespace backplane

#endif // BACKPLANE_EMIT_GPU_CONTRACTION_H
