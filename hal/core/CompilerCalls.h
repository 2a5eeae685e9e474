// SPDX-License-Identifier: Apache-2.0
//
// CompilerCalls.h: the functions of a compiler plug-in, called with the same
// care as those of a driver: in the default floating-point environment, with
// exceptions caught. What the plug-in hands over is checked and reaches the
// caller as structs of this build, whatever minor version the plug-in has; flag
// bits that this host does not know are cleared. All pointers in them are valid
// during the call of the receiver only.
#ifndef BACKPLANE_CORE_COMPILERCALLS_H
#define BACKPLANE_CORE_COMPILERCALLS_H

#include "backplane/cpp/Result.h"
#include "hal/core/CompilerPlugin.h"

#include <functional>
#include <string>
#include <string_view>

namespace backplane {

using TargetSink = std::function<Status(const bp_target_t &target)>;
using StageSink =
    std::function<void(std::string_view stage, std::string_view pipeline)>;
using CompiledSink = std::function<Status(const bp_compiled_t &compiled)>;

/// Calls `put` with each target. A failure is that of `put`, or names the
/// function of the plug-in.
Status callTargets(const CompilerPlugin &plugin, const TargetSink &put);

/// Calls `put` with each pipeline for the target.
Status callStages(const CompilerPlugin &plugin, std::string_view target,
                  const StageSink &put);

/// What a plug-in says about a graph as one dispatch.
struct ClaimAnswer {
  bool supported = false;
  double costNs = 0;
  std::string reason;
};
/// BP_STATUS_UNIMPLEMENTED: the plug-in leaves it to the core.
Status callClaim(const CompilerPlugin &plugin, std::string_view target,
                 const bp_graph_t *graph, const bp_graph_table_t *table,
                 ClaimAnswer &out);

/// Checks a compiled dispatch and hands `put` a copy, as callCompile does.
Status copyCompiled(const bp_compiled_t *from, const CompiledSink &put);

/// Compiles a dispatch. `put` is called when it succeeds, once. `launches` has
/// one launch where the plug-in gave an entry and a grid only; `entry` is that
/// of the first.
Status callCompile(const CompilerPlugin &plugin,
                   const bp_compile_request_t &request,
                   const CompiledSink &put);

} // namespace backplane

#endif // BACKPLANE_CORE_COMPILERCALLS_H
