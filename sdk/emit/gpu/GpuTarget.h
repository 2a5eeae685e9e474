// SPDX-License-Identifier: Apache-2.0
//
// GpuTarget.h: what the passes know of the GPU that code is made for.
//
// `bp-gpu-target` states it as the attribute `bp.gpu` of the module. Without
// it, code is for what every GPU has.
#ifndef BACKPLANE_EMIT_GPU_GPUTARGET_H
#define BACKPLANE_EMIT_GPU_GPUTARGET_H

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>

namespace backplane {

struct GpuTarget {
  /// Invocations of a work-group.
  int64_t groupSize = 128;
  /// Invocations of a cluster. Subgroups that exchange values are as large or
  /// consist of several.
  int64_t clusterSize = 8;
  /// Memory that a work-group shares.
  int64_t sharedBytes = 16384;
  /// Temporaries up to this size are memory of the invocation.
  int64_t privateBytes = 1024;
  /// Work-groups along x, beyond which they continue along y.
  int64_t gridWidth = 32768;

  int64_t clusters() const { return groupSize / clusterSize; }
  mlir::DictionaryAttr toAttribute(mlir::MLIRContext *context) const;
};

/// That of the module around an op, whose values are plausible; otherwise a
/// diagnostic at the module.
mlir::FailureOr<GpuTarget> readGpuTarget(mlir::ModuleOp module);

} // namespace backplane

#endif // BACKPLANE_EMIT_GPU_GPUTARGET_H
