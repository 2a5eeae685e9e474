// SPDX-License-Identifier: Apache-2.0
//
// Launch.h: what a kernel asks of its launch in place of what the target's
// kernels have: invocations, and memory that they share. Private to this
// folder.
#ifndef BACKPLANE_EMIT_GPU_LAUNCH_H
#define BACKPLANE_EMIT_GPU_LAUNCH_H

#include "sdk/emit/gpu/GpuTarget.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace backplane {

/// Work-groups of the function have so many invocations.
void askForThreads(mlir::func::FuncOp func, int64_t threads);
/// Invocations of its work-groups.
int64_t threadsOf(mlir::func::FuncOp func, const GpuTarget &target);

/// Memory of the work-group is dynamic where it is more than there is without
/// asking, and where products read it (MemoryProducts::kAlignment).
void askForMemory(mlir::Value memory, const GpuTarget &target,
                  bool hasProducts);
/// Bytes that the function asks for.
int64_t dynamicBytes(mlir::func::FuncOp func);

} // namespace backplane

#endif // BACKPLANE_EMIT_GPU_LAUNCH_H
