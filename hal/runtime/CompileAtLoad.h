// SPDX-License-Identifier: Apache-2.0
//
// CompileAtLoad.h: compiling when a session is created, from the graph that an
// artifact holds. The runtime has no compiler; who has one implements this.
#ifndef BACKPLANE_RUNTIME_COMPILEATLOAD_H
#define BACKPLANE_RUNTIME_COMPILEATLOAD_H

#include "LoadedArtifact.h"
#include "hal/worker/Pool.h"

#include <chrono>

namespace backplane::rt {

/// Of a compilation; with one, a worker compiles. 0: no limit.
struct CompileLimits {
  uint64_t bytes = 0; ///< of private memory
  std::chrono::milliseconds time{0};
  /// A worker compiles without a limit too: passes of a plug-in may crash, and
  /// so may LLVM where the memory of the process is limited.
  bool ownProcess = false;
  bool any() const { return bytes || time.count() || ownProcess; }
};

class CompileAtLoad {
public:
  virtual ~CompileAtLoad() = default;

  /// The graph of an artifact, compiled for the best target of a device, which
  /// may be behind one of `workers`. Fails when the artifact holds no graph.
  virtual Result<std::shared_ptr<const LoadedArtifact>>
  compileFor(const LoadedArtifact &artifact, const std::string &device,
             worker::Pool *workers, const CompileLimits &limits) = 0;

  /// Whether a target is compiled for each set of sizes that calls give; of
  /// several that are joined, whether one is.
  virtual bool compilesSizes(const std::string &target) const = 0;
  /// The same graph, compiled for a target and for these sizes only.
  virtual Result<std::shared_ptr<const LoadedArtifact>>
  compileSizes(const LoadedArtifact &artifact, const std::string &target,
               const SymbolValues &sizes, const CompileLimits &limits) = 0;
};

} // namespace backplane::rt

#endif // BACKPLANE_RUNTIME_COMPILEATLOAD_H
