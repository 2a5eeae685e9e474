// SPDX-License-Identifier: Apache-2.0
//
// EmitKernels.h: generates the code of kernels, several at once. Each thread
// has an MLIR context of its own; no two jobs share anything that changes, and
// what a job gives depends on nothing but itself.
#ifndef BACKPLANE_COMPILER_EMITKERNELS_H
#define BACKPLANE_COMPILER_EMITKERNELS_H

#include "sdk/compiler/KernelTemplate.h"
#include "sdk/compiler/Target.h"
#include "sdk/emit/common/Emitter.h"
#include "sdk/package/KernelPack.h"

#include <functional>
#include <vector>

namespace backplane {

/// Called after each stage of a kernel when IR dumps are wanted.
using KernelDump = std::function<void(llvm::StringRef stage, mlir::ModuleOp)>;

/// A kernel to generate, and what came of it.
struct EmitJob {
  const Target *target;
  const Emitter *emitter;
  Graph graph;      ///< of the dispatch, with the symbols of kernels
  std::string name; ///< of the entry
  std::string key;  ///< in the cache
  std::optional<KernelTemplate> ir = {}; ///< in the place of its ops
  Result<Kernel> kernel = internalError("it was not generated");
};

EmitTarget emitTargetOf(const Target &target);

/// Does all jobs on `services.threads` threads at most; one of them is this
/// one. Kernels go to the cache as soon as they are there. Once a job has
/// failed, other than by BP_STATUS_UNIMPLEMENTED, none behind it is begun: the
/// first failure is the same for any number of threads. With a dump all is done
/// on this thread, in order.
void emitKernels(std::vector<EmitJob> &jobs, const CompileServices &services,
                 const KernelDump &dump);

} // namespace backplane

#endif // BACKPLANE_COMPILER_EMITKERNELS_H
