// SPDX-License-Identifier: Apache-2.0
//
// GpuTarget.h: what the passes know of the GPU that code is made for, from the
// properties of the target. Where they say nothing, code is for what every GPU
// has.
#ifndef BACKPLANE_EMIT_GPU_GPUTARGET_H
#define BACKPLANE_EMIT_GPU_GPUTARGET_H

#include "sdk/emit/gpu/MatrixUnit.h"

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>

namespace backplane {

/// A matrix instruction that the target has, by its left factor.
struct MatrixShape {
  MatrixElement element;
  int64_t m, n, k;
};

struct GpuTarget {
  /// Invocations of a work-group: `group_threads`.
  int64_t groupSize = 128;
  /// The same where code takes as many as it wants: `max_group_threads`, not
  /// less.
  int64_t maxGroupSize = 0;
  /// Invocations of a cluster: the smallest of `subgroup_sizes`, at most 32.
  /// Subgroups that exchange values are as large or consist of several.
  int64_t clusterSize = 8;
  /// Memory that a work-group shares: `shared_bytes`.
  int64_t sharedBytes = 16384;
  /// The same where the launch asks for it: `max_shared_bytes`, not less.
  int64_t maxSharedBytes = 0;
  /// Temporaries up to this size are memory of the invocation:
  /// `private_bytes`.
  int64_t privateBytes = 1024;
  /// Work-groups along x, beyond which they continue along y: `grid_width`.
  int64_t gridWidth = 32768;
  /// Sums of a matrix product that an invocation has at most: `tile_sizes`.
  int64_t tileRows = 8, tileColumns = 4;
  /// `matrix_shapes.<dtype>`
  llvm::SmallVector<MatrixShape> matrixShapes;

  int64_t clusters() const { return groupSize / clusterSize; }
  bool hasMatrixShape(MatrixElement element, int64_t m, int64_t n,
                      int64_t k) const {
    return llvm::any_of(matrixShapes, [&](const MatrixShape &shape) {
      return shape.element == element && shape.m == m && shape.n == n &&
             shape.k == k;
    });
  }
};

/// That of a module, whose values are plausible; otherwise a diagnostic at the
/// module.
mlir::FailureOr<GpuTarget> readGpuTarget(mlir::ModuleOp module);

} // namespace backplane

#endif // BACKPLANE_EMIT_GPU_GPUTARGET_H
