// SPDX-License-Identifier: Apache-2.0
#include "hal/core/GraphPassCalls.h"
#include "hal/core/Error.h"
#include "hal/core/Tables.h"

#include <algorithm>

namespace backplane {
namespace {

constexpr size_t maxPasses = 256;
constexpr size_t maxName = 64;
constexpr size_t maxText = 1u << 16;

struct Listed {
  std::vector<GraphPass> passes;
  Status failure;

  bp_status_t take(Status status) {
    if (failure.ok())
      failure = std::move(status);
    return failure.code();
  }
};

bool isName(std::string_view text) {
  return !text.empty() && text.size() <= maxName &&
         std::ranges::all_of(text, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
         });
}

Status add(const bp_graph_pass_t *from, std::vector<GraphPass> &passes) {
  bp_graph_pass_t pass;
  if (Status s = copyStruct(from, bp_graph_pass_t_TYPE, "graph pass", pass);
      !s.ok())
    return s;
  for (bp_string_t text : {pass.name, pass.description, pass.stage})
    if (text.size && (!text.data || text.size > maxText))
      return invalidArgument("a graph pass has a damaged string");
  std::string_view name = view(pass.name);
  if (!isName(name))
    return invalidArgument("a graph pass has no name of a-z, 0-9 and -, of " +
                           std::to_string(maxName) + " letters at most");
  if (std::ranges::count(passes, name, &GraphPass::name))
    return invalidArgument("lists graph pass '" + std::string(name) +
                           "' twice");
  if (passes.size() == maxPasses)
    return Status(BP_STATUS_RESOURCE_EXHAUSTED, "lists more than " +
                                                    std::to_string(maxPasses) +
                                                    " graph passes");
  passes.push_back({std::string(name), std::string(view(pass.description)),
                    std::string(view(pass.stage))});
  return {};
}

bp_status_t putPass(void *context, const bp_graph_pass_t *from) {
  auto &listed = *static_cast<Listed *>(context);
  return listed.take(add(from, listed.passes));
}

struct Given {
  std::optional<Bytes> bytes;
  Status failure;
};

bp_status_t putBytes(void *context, bp_bytes_t from) {
  auto &given = *static_cast<Given *>(context);
  const auto *bytes = static_cast<const uint8_t *>(from.data);
  if (given.bytes)
    given.failure = invalidArgument("gave two graphs");
  else if (!from.data || !from.size)
    given.failure = invalidArgument("gave no bytes for a graph");
  else
    given.bytes.emplace(bytes, bytes + from.size);
  return given.failure.code();
}

} // namespace

Result<std::vector<GraphPass>> callGraphPasses(const CompilerPlugin &plugin,
                                               std::string_view target) {
  Listed listed;
  const bp_graph_pass_sink_t sink = {putPass, &listed};
  Status status = callPlugin("graph_passes", plugin.table->graph_passes,
                             plugin.self, toC(target), &sink);
  if (!listed.failure.ok())
    return listed.failure.within("graph_passes");
  if (status.code() == BP_STATUS_UNIMPLEMENTED && listed.passes.empty())
    return listed.passes;
  if (!status.ok())
    return status;
  return std::move(listed.passes);
}

Result<std::optional<Bytes>> callGraphPass(const CompilerPlugin &plugin,
                                           std::string_view target,
                                           std::string_view pass,
                                           const Bytes &graph,
                                           const bp_graph_table_t *table) {
  bp_graph_pass_request_t request = {BP_HEADER(bp_graph_pass_request_t)};
  request.target = toC(target);
  request.pass = toC(pass);
  request.graph = {graph.data(), graph.size()};
  request.graph_table = table;
  Given given;
  const bp_bytes_sink_t sink = {putBytes, &given};
  Status status = callPlugin("run_graph_pass", plugin.table->run_graph_pass,
                             plugin.self, &request, &sink);
  if (!given.failure.ok())
    return given.failure;
  if (!status.ok())
    return status;
  return std::move(given.bytes);
}

} // namespace backplane
