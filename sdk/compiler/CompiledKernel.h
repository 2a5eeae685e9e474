// SPDX-License-Identifier: Apache-2.0
//
// CompiledKernel.h: what a plug-in's `compile` returned, as a kernel. Free of
// MLIR.
#ifndef BACKPLANE_COMPILER_COMPILEDKERNEL_H
#define BACKPLANE_COMPILER_COMPILEDKERNEL_H

#include "backplane/compiler.h"
#include "backplane/cpp/Result.h"
#include "sdk/package/KernelPack.h"

namespace backplane {

/// A copy, with launches in any case (hal/core/CompilerCalls.h).
Kernel copyKernel(const bp_compiled_t &compiled);

/// Whether the launches fit their dispatch: its bindings, its symbols, each
/// other. `weights` says which inputs are weights.
Status checkKernel(const Kernel &kernel, const Graph &dispatch,
                   const std::vector<bool> &weights);

} // namespace backplane

#endif // BACKPLANE_COMPILER_COMPILEDKERNEL_H
