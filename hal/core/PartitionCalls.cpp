// SPDX-License-Identifier: Apache-2.0
#include "hal/core/PartitionCalls.h"
#include "hal/core/Error.h"
#include "hal/core/Tables.h"

#include <algorithm>
#include <cmath>

namespace backplane {
namespace {

constexpr size_t maxPartitions = 4096;
constexpr size_t maxReason = 4096;

struct Given {
  size_t opCount; ///< of the graph
  std::vector<PartitionAnswer> partitions;
  Status failure;
};

Status checkOps(const bp_partition_t &from, size_t opCount) {
  if (!from.ops || from.op_count == 0 || from.op_count > opCount)
    return invalidArgument("it has " + std::to_string(from.op_count) +
                           " ops in its list, the graph has " +
                           std::to_string(opCount));
  std::vector<bool> seen(opCount, false);
  for (uint64_t i = 0; i < from.op_count; ++i) {
    const uint32_t op = from.ops[i];
    if (op >= opCount)
      return invalidArgument("it names op " + std::to_string(op) +
                             ", the graph has " + std::to_string(opCount));
    if (seen[op])
      return invalidArgument("it names op " + std::to_string(op) + " twice");
    seen[op] = true;
  }
  return {};
}

Status add(const bp_partition_t *given, Given &to) {
  bp_partition_t from;
  if (Status s = copyStruct(given, bp_partition_t_TYPE, "partition", from);
      !s.ok())
    return s;
  if (to.partitions.size() == maxPartitions)
    return Status(BP_STATUS_RESOURCE_EXHAUSTED,
                  "more than " + std::to_string(maxPartitions) +
                      " partitions of one graph");
  if (from.reason.size == 0 || !from.reason.data ||
      from.reason.size > maxReason)
    return invalidArgument("it has no reason of at most " +
                           std::to_string(maxReason) + " bytes");
  if (!std::isfinite(from.cost_ns) || from.cost_ns < 0)
    return invalidArgument("its cost is negative or no number");
  if (Status s = checkOps(from, to.opCount); !s.ok())
    return s;
  PartitionAnswer answer{{from.ops, from.ops + from.op_count},
                         from.cost_ns,
                         std::string(view(from.reason))};
  std::ranges::sort(answer.ops);
  std::ranges::replace_if(
      answer.reason, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  to.partitions.push_back(std::move(answer));
  return {};
}

bp_status_t put(void *context, const bp_partition_t *from) {
  auto &given = *static_cast<Given *>(context);
  Status status = add(from, given);
  if (!status.ok() && given.failure.ok())
    given.failure =
        status.within("partition " + std::to_string(given.partitions.size()));
  return given.failure.code();
}

} // namespace

Result<std::optional<std::vector<PartitionAnswer>>>
callPartition(const CompilerPlugin &plugin, std::string_view target,
              const bp_graph_t *graph, const bp_graph_table_t *table,
              const std::vector<uint8_t> &refused) {
  using Answers = std::optional<std::vector<PartitionAnswer>>;
  bp_partition_request_t request = {BP_HEADER(bp_partition_request_t)};
  request.target = toC(target);
  request.graph = graph;
  request.graph_table = table;
  if (std::ranges::count(refused, 1))
    request.refused = refused.data();
  Given given{refused.size(), {}, {}};
  const bp_partition_sink_t sink = {put, &given};
  Status status = callPlugin("partition", plugin.table->partition, plugin.self,
                             &request, &sink);
  if (!given.failure.ok())
    return given.failure.within("partition");
  if (status.code() == BP_STATUS_UNIMPLEMENTED && given.partitions.empty())
    return Answers();
  if (!status.ok())
    return status;
  return Answers(std::move(given.partitions));
}

} // namespace backplane
