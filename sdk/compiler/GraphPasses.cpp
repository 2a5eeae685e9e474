// SPDX-License-Identifier: Apache-2.0
#include "sdk/compiler/GraphPasses.h"

#include "sdk/compiler/StageTable.h"
#include "sdk/graph/Model.h"
#include "sdk/graph/Wire.h"
#include "sdk/support/Error.h"
#include "sdk/support/NearestName.h"

#include <algorithm>

using namespace backplane;

namespace {

std::string label(const Target &target, const GraphPass &pass) {
  return target.plugin->name + ": graph pass '" + pass.name + "'";
}

/// The first of several that is another one after a pass; empty: none is.
template <typename List, typename Same>
std::string differing(const char *what, const List &before, const List &after,
                      Same same) {
  if (before.size() != after.size())
    return "gave " + std::to_string(after.size()) + " " + what + "s, not " +
           std::to_string(before.size());
  for (size_t i = 0; i < before.size(); ++i)
    if (!same(before[i], after[i]))
      return std::string("changed ") + what + " " + std::to_string(i);
  return {};
}

/// What a pass changed that it must keep; empty: nothing.
std::string changedInterface(const Graph &before, const Graph &after) {
  auto equal = [](const auto &a, const auto &b) { return a == b; };
  auto input = [&](ValueId a, ValueId b) {
    return before.values[a] == after.values[b];
  };
  auto output = [&](const GraphOutput &a, const GraphOutput &b) {
    return a.name == b.name && before.type(a.value) == after.type(b.value);
  };
  for (std::string changed :
       {differing("symbol", before.symbols, after.symbols, equal),
        differing("variable", before.variables, after.variables, equal),
        differing("input", before.inputs, after.inputs, input),
        differing("output", before.outputs, after.outputs, output)})
    if (!changed.empty())
      return changed;
  auto known = weightsOf(before);
  for (const auto &[id, type] : weightsOf(after))
    if (auto found = known.find(id);
        found == known.end() || !(found->second == type))
      return "uses weight '" + id + "', which the graph does not have";
  return {};
}

/// The graph of a pass in the place of `before`. What it says of checks and
/// names is not read.
Result<Graph> takeOver(const Graph &before, const Bytes &bytes) {
  auto graph = readGraph(bytes);
  if (!graph)
    return graph.status().within("gave what is no graph");
  if (std::string changed = changedInterface(before, *graph); !changed.empty())
    return invalidArgument(changed);
  graph->name = before.name;
  graph->assertions = before.assertions;
  return graph;
}

/// The graph after a pass; none: it stays as it is.
Result<std::optional<Graph>> runOne(const CompileServices &services,
                                    const Target &target, const GraphPass &pass,
                                    const Graph &graph) {
  if (std::string why = unlistedOp(target, graph); !why.empty())
    return unimplemented(why);
  auto bytes = callGraphPass(*target.plugin, target.name, pass.name,
                             writeGraph(graph), services.graphTable);
  if (!bytes)
    return bytes.status();
  if (!*bytes)
    return std::optional<Graph>();
  auto changed = takeOver(graph, **bytes);
  if (!changed)
    return Status(BP_STATUS_INVALID_ARGUMENT, changed.message());
  return std::optional(std::move(*changed));
}

} // namespace

Status backplane::readGraphPasses(Target &target) {
  auto passes = callGraphPasses(*target.plugin, target.name);
  if (!passes)
    return passes.status().within(target.plugin->name);
  const std::vector<std::string> places = {std::string(stage::partition.name),
                                           std::string(stage::lower.name)};
  for (const GraphPass &pass : *passes) {
    if (std::ranges::count(places, pass.stage))
      continue;
    std::string near = nearestName(pass.stage, places);
    return invalidArgument(
        label(target, pass) + " is for '" + pass.stage + "'" +
        (near.empty() ? "" : "; did you mean '" + near + "'?") +
        "; graph passes are for partition, lower");
  }
  target.graphPasses = std::move(*passes);
  return {};
}

bool backplane::hasGraphPass(const Target &target, std::string_view stage) {
  return std::ranges::count(target.graphPasses, stage, &GraphPass::stage) > 0;
}

Result<Graph> backplane::runGraphPasses(const CompileServices &services,
                                        const Target &target,
                                        std::string_view stage, Graph graph,
                                        const std::string &what,
                                        std::vector<std::string> &report) {
  for (const GraphPass &pass : target.graphPasses) {
    if (pass.stage != stage)
      continue;
    auto changed = runOne(services, target, pass, graph);
    std::string line = what + ": " + label(target, pass);
    if (changed.status().code() == BP_STATUS_UNIMPLEMENTED) {
      report.push_back(line + " passed it over: " + changed.message());
      continue;
    }
    if (!changed)
      return changed.status().within(label(target, pass));
    if (!*changed || **changed == graph)
      continue;
    report.push_back(line + ": " + std::to_string(graph.ops.size()) +
                     " ops before, " + std::to_string((*changed)->ops.size()) +
                     " after");
    graph = std::move(**changed);
  }
  return graph;
}
