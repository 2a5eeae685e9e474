// SPDX-License-Identifier: Apache-2.0
//
// PartitionCalls.h: `partition` of a compiler plug-in, called with the same
// care as the functions of CompilerCalls.h.
#ifndef BACKPLANE_CORE_PARTITIONCALLS_H
#define BACKPLANE_CORE_PARTITIONCALLS_H

#include "backplane/cpp/Result.h"
#include "hal/core/CompilerPlugin.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace backplane {

/// A partition as a plug-in gives it: ops in ascending order, each once, all of
/// them of the graph.
struct PartitionAnswer {
  std::vector<uint32_t> ops;
  double costNs = 0; ///< 0: not known
  std::string reason;
};

/// The partitions of a graph. `refused` has a byte for each of its ops. None:
/// the plug-in has none for it.
Result<std::optional<std::vector<PartitionAnswer>>>
callPartition(const CompilerPlugin &plugin, std::string_view target,
              const bp_graph_t *graph, const bp_graph_table_t *table,
              const std::vector<uint8_t> &refused);

} // namespace backplane

#endif // BACKPLANE_CORE_PARTITIONCALLS_H
