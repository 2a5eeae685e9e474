// SPDX-License-Identifier: Apache-2.0
//
// Target.h: the targets of the loaded plug-ins, copied out of their structs,
// and the questions that the compiler asks their backends.
#ifndef BACKPLANE_COMPILER_TARGET_H
#define BACKPLANE_COMPILER_TARGET_H

#include "hal/core/GraphPassCalls.h"
#include "sdk/compiler/Compile.h"
#include "sdk/kernels/RegisteredKernel.h"
#include "sdk/support/Property.h"

namespace backplane {

/// A pipeline of a backend for one stage.
struct StagePipeline {
  std::string stage;
  std::string pipeline;
};

/// What the compiler reads of a bp_numerics_t.
struct TargetNumerics {
  std::string opClass;
  DType dtype;
  uint32_t flags; ///< BP_NUMERICS_
};

/// bp_target_t with memory of its own; see compiler.h for the meanings.
struct Target {
  const CompilerPlugin *plugin = nullptr;
  std::string name, driver, format;
  std::vector<std::string> requiredFeatures;
  uint32_t rank = 0;
  std::string emitter, triple, cpu, features;
  uint64_t storageDTypes = 0, computeDTypes = 0;
  uint64_t workspaceLimit = 0;
  uint32_t vectorBits = 0;
  uint32_t maxBindings = 0, maxConstants = 0;
  uint32_t fusion = 0, maxFusedOps = 0;
  bool staticShapes = false;
  std::vector<TargetNumerics> numerics;
  std::vector<Property> properties;
  std::string toolchain;
  /// The newest version of each op that the plug-in knows; empty: it does not
  /// say.
  std::map<std::string, uint32_t, std::less<>> opVersions;
  std::vector<StagePipeline> stages;
  std::vector<GraphPass> graphPasses; ///< in the order in which they run
  /// Registered kernels that may run on it, in order of preference.
  std::vector<std::shared_ptr<const RegisteredKernel>> kernels;
  std::vector<std::string> remarks; ///< for the report of a variant
};

/// The target with this name, of whichever plug-in has it. A failure lists
/// those that there are.
Result<Target> findTarget(const CompileServices &services,
                          std::string_view name);

/// The targets that `names` joins with a plus, in order.
Result<std::vector<Target>> findTargets(const CompileServices &services,
                                        std::string_view names);

/// Whether code of a dispatch may round a*b+c once. A class and dtype of which
/// nothing is declared may.
bool mayContract(const Target &target, const Graph &dispatch);

/// Why the plug-in is not shown this graph: an op that it does not list, or not
/// at this version; empty when it is.
std::string unlistedOp(const Target &target, const Graph &graph);

/// Why the target runs no dispatch of this graph, whose sizes calls give; empty
/// when it does.
std::string missingSize(const Target &target, const Graph &graph);

/// What a backend says about a graph as one dispatch.
struct Claim {
  bool answered = false; ///< false: the backend leaves it to the core
  bool supported = false;
  double costNs = 0;
  std::string reason;
};
Claim askClaim(const CompileServices &services, const Target &target,
               const Graph &graph);

/// The answer about one op of a graph.
Claim askClaim(const CompileServices &services, const Target &target,
               const Graph &graph, const Op &op);

} // namespace backplane

#endif // BACKPLANE_COMPILER_TARGET_H
