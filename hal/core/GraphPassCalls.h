// SPDX-License-Identifier: Apache-2.0
//
// GraphPassCalls.h: the functions of a compiler plug-in that have to do with
// graph passes, called with the same care as those of CompilerCalls.h.
#ifndef BACKPLANE_CORE_GRAPHPASSCALLS_H
#define BACKPLANE_CORE_GRAPHPASSCALLS_H

#include "backplane/cpp/Result.h"
#include "hal/core/CompilerPlugin.h"
#include "sdk/support/Bytes.h"

#include <optional>
#include <string_view>
#include <vector>

namespace backplane {

/// A graph pass as a plug-in lists it.
struct GraphPass {
  std::string name, description, stage;
};

/// The graph passes for a target, with names that can be told apart. A plug-in
/// without any gives an empty list.
Result<std::vector<GraphPass>> callGraphPasses(const CompilerPlugin &plugin,
                                               std::string_view target);

/// The bytes that a pass makes of others; none: it leaves them as they are.
/// BP_STATUS_UNIMPLEMENTED: it does not do this graph.
Result<std::optional<Bytes>> callGraphPass(const CompilerPlugin &plugin,
                                           std::string_view target,
                                           std::string_view pass,
                                           const Bytes &graph,
                                           const bp_graph_table_t *table);

} // namespace backplane

#endif // BACKPLANE_CORE_GRAPHPASSCALLS_H
