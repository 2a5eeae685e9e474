// SPDX-License-Identifier: Apache-2.0
#include "sdk/compiler/Target.h"

#include "hal/core/CompilerCalls.h"
#include "sdk/compiler/GraphPasses.h"
#include "sdk/compiler/Pipelines.h"
#include "sdk/compiler/RegisteredKernels.h"
#include "sdk/graph/OpTable.h"
#include "sdk/graph/Wire.h"
#include "sdk/partition/TargetNames.h"
#include "sdk/support/Error.h"

#include <set>

using namespace backplane;

namespace {

std::vector<TargetNumerics> copyNumerics(const bp_target_t &target) {
  std::vector<TargetNumerics> numerics;
  for (uint64_t i = 0; i < target.numerics_count; ++i) {
    const bp_numerics_t &given = *target.numerics[i];
    numerics.push_back({.opClass = std::string(view(given.op_class)),
                        .dtype = DType(given.dtype),
                        .flags = given.flags});
  }
  return numerics;
}

Result<Target> copyTarget(const CompilerPlugin &plugin, const bp_target_t &t) {
  Target target{.plugin = &plugin};
  auto properties = copyProperties(t.properties, t.property_count);
  if (!properties)
    return properties.status();
  target.properties = std::move(*properties);
  target.toolchain = view(t.toolchain);
  for (uint64_t i = 0; i < t.op_version_count; ++i) {
    uint32_t &version =
        target.opVersions[std::string(view(t.op_versions[i].op))];
    version = std::max(version, t.op_versions[i].version);
  }
  target.name = view(t.name);
  target.driver = view(t.driver);
  target.format = view(t.format);
  for (uint64_t i = 0; i < t.required_feature_count; ++i)
    target.requiredFeatures.emplace_back(view(t.required_features[i]));
  target.rank = t.rank;
  target.emitter = view(t.emitter);
  target.triple = view(t.triple);
  target.cpu = view(t.cpu);
  target.features = view(t.features);
  target.storageDTypes = t.storage_dtypes;
  target.computeDTypes = t.compute_dtypes ? t.compute_dtypes : t.storage_dtypes;
  target.workspaceLimit = t.workspace_limit;
  target.vectorBits = t.vector_bits;
  target.maxBindings = t.max_bindings;
  target.maxConstants = t.max_constants;
  target.fusion = t.fusion;
  target.maxFusedOps = t.max_fused_ops;
  target.staticShapes = t.flags & BP_TARGET_STATIC_SHAPES;
  target.numerics = copyNumerics(t);
  return target;
}

Result<std::vector<Target>> listTargets(const CompilerPlugin &plugin) {
  std::vector<Target> targets;
  Status status = callTargets(plugin, [&](const bp_target_t &given) {
    Result<Target> target = copyTarget(plugin, given);
    if (target)
      targets.push_back(std::move(*target));
    return target.status();
  });
  if (!status.ok())
    return status.within(plugin.name);
  return targets;
}

/// A graph with one op, whose operands are its inputs.
Graph singleOp(const Graph &graph, const Op &op) {
  Graph single;
  single.symbols = graph.symbols;
  single.variables = graph.variables;
  Op copy = op;
  std::map<ValueId, ValueId> ids;
  for (ValueId &operand : copy.operands) {
    auto [at, fresh] = ids.emplace(operand, 0);
    if (fresh)
      at->second = single.addInput("in" + std::to_string(ids.size() - 1),
                                   graph.type(operand));
    operand = at->second;
  }
  for (ValueId &result : copy.results) {
    result = single.addValue(graph.type(result));
    single.addOutput(result, "out" + std::to_string(single.outputs.size()));
  }
  single.ops.push_back(std::move(copy));
  return single;
}

} // namespace

Result<Target> backplane::findTarget(const CompileServices &services,
                                     std::string_view name) {
  std::string known;
  for (const CompilerPlugin &plugin : services.plugins) {
    if (!plugin.table || !plugin.table->targets)
      continue;
    auto targets = listTargets(plugin);
    if (!targets)
      return targets.status();
    for (Target &target : *targets) {
      if (target.name == name) {
        if (auto status = readStages(target); !status.ok())
          return status;
        if (auto status = readGraphPasses(target); !status.ok())
          return status;
        addRegisteredKernels(services, target);
        return std::move(target);
      }
      known += (known.empty() ? "" : ", ") + target.name;
    }
  }
  return notFound("no plug-in has the target '" + std::string(name) +
                  "'; there are: " + (known.empty() ? "none" : known));
}

Result<std::vector<Target>>
backplane::findTargets(const CompileServices &services,
                       std::string_view names) {
  std::map<std::string, Target, std::less<>> found;
  Status unusable; // of a name that is one
  auto known = [&](std::string_view name) {
    auto target = findTarget(services, name);
    if (target)
      found.emplace(name, std::move(*target));
    else if (target.status().code() != BP_STATUS_NOT_FOUND)
      unusable = target.status();
    return target.ok();
  };
  std::vector<Target> targets;
  for (const std::string &name : splitTargets(names, known))
    targets.push_back(found.at(name));
  if (!targets.empty())
    return targets;
  if (!unusable.ok())
    return unusable;
  auto single = findTarget(services, names);
  return single.ok() ? internalError("target '" + std::string(names) + "'")
                     : single.status();
}

static bool mayContract(const Target &target, std::string_view opClass,
                        DType dtype) {
  return std::ranges::none_of(
      target.numerics, [&](const TargetNumerics &declared) {
        return declared.opClass == opClass && declared.dtype == dtype &&
               !(declared.flags & BP_NUMERICS_CONTRACT);
      });
}

bool backplane::mayContract(const Target &target, const Graph &dispatch) {
  return std::ranges::all_of(dispatch.ops, [&](const Op &op) {
    const OpSpec *spec = findOp(op.name);
    auto may = [&](ValueId value) {
      return ::mayContract(target, spec->numericClass,
                           dispatch.type(value).dtype);
    };
    return !spec || (std::ranges::all_of(op.operands, may) &&
                     std::ranges::all_of(op.results, may));
  });
}

std::string backplane::unlistedOp(const Target &target, const Graph &graph) {
  if (target.opVersions.empty())
    return {};
  for (const Op &op : graph.ops) {
    const OpSpec *spec = findOp(op.name);
    uint32_t needed = spec ? minVersion(*spec, op.attributes) : op.version;
    auto known = target.opVersions.find(op.name);
    if (known == target.opVersions.end())
      return "'" + target.plugin->name + "' does not list the op " + op.name;
    if (known->second < needed)
      return op.name + " needs version " + std::to_string(needed) + ", '" +
             target.plugin->name + "' knows up to version " +
             std::to_string(known->second);
    for (const Graph &region : op.regions)
      if (std::string why = unlistedOp(target, region); !why.empty())
        return why;
  }
  return {};
}

std::string backplane::missingSize(const Target &target, const Graph &graph) {
  if (!target.staticShapes)
    return {};
  std::set<std::string> symbols;
  for (const Value &value : graph.values)
    for (const Dim &dim : value.type.dims)
      dim.collectSymbols(symbols);
  if (symbols.empty())
    return {};
  std::string names, options;
  for (const std::string &symbol : symbols) {
    names += (names.empty() ? "" : ", ") + symbol;
    options += " --dim " + symbol + "=SIZE";
  }
  return "target " + target.name + " takes sizes that are numbers, and " +
         names + (symbols.size() == 1 ? " is none" : " are none") +
         "; compile with" + options;
}

Claim backplane::askClaim(const CompileServices &services, const Target &target,
                          const Graph &graph) {
  if (std::string why = unlistedOp(target, graph); !why.empty())
    return {true, false, 0, std::move(why)};
  Bytes wire = writeGraph(graph);
  bp_graph_t *handle = nullptr;
  bp_error_t error;
  if (services.graphTable->graph_open({wire.data(), wire.size()}, &handle,
                                      &error) != BP_STATUS_OK)
    return {true, false, 0, "the graph does not open: " + error.message};
  ClaimAnswer answer;
  Status status = callClaim(*target.plugin, target.name, handle,
                            services.graphTable, answer);
  services.graphTable->graph_close(handle);
  if (status.code() == BP_STATUS_UNIMPLEMENTED)
    return {};
  return {true, answer.supported, answer.costNs,
          status.ok() ? std::move(answer.reason) : status.message()};
}

Claim backplane::askClaim(const CompileServices &services, const Target &target,
                          const Graph &graph, const Op &op) {
  return askClaim(services, target, singleOp(graph, op));
}
