// SPDX-License-Identifier: Apache-2.0
//
// LinearBuffers.h: the buffers of a dispatch as linear memory, for code of one
// invocation. Private to this folder.
#ifndef BACKPLANE_EMIT_GPU_LINEARBUFFERS_H
#define BACKPLANE_EMIT_GPU_LINEARBUFFERS_H

#include "sdk/emit/common/Dispatch.h"
#include "sdk/emit/gpu/GpuTarget.h"

#include "mlir/IR/PatternMatch.h"

#include <map>

namespace backplane {

struct LinearBuffers {
  /// Bytes of temporaries that all invocations share.
  Dim workspace = Dim(0);
  /// The number of the binding of each argument that is a buffer.
  std::map<unsigned, unsigned> bindings;
};

/// Who does a dispatch.
enum class BufferUsers {
  One,      ///< one invocation
  Sequence, ///< work-groups, from stage to stage
  Parallel, ///< invocations that do not know of each other
};

/// Arguments and tables of constants become `memref<?xT>`, and their elements
/// are accessed by number. Small temporaries are the invocation's own, others a
/// range of the workspace, which is an argument for each. A failure has been
/// diagnosed.
mlir::FailureOr<LinearBuffers> makeLinear(mlir::IRRewriter &rewriter,
                                          const Dispatch &dispatch,
                                          const GpuTarget &target,
                                          BufferUsers users);

} // namespace backplane

#endif // BACKPLANE_EMIT_GPU_LINEARBUFFERS_H
