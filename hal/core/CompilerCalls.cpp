// SPDX-License-Identifier: Apache-2.0
#include "hal/core/CompilerCalls.h"
#include "hal/core/Error.h"
#include "hal/core/Guarded.h"
#include "hal/core/Tables.h"
#include "sdk/support/Condition.h"
#include "sdk/support/GivenText.h"

#include <algorithm>
#include <initializer_list>
#include <vector>

namespace backplane {
namespace {

constexpr uint64_t maxItems = 1024;
constexpr uint64_t maxTargets = 1024;
constexpr uint32_t maxBindings = 4096;

Status checkTexts(const char *what, const bp_string_t *texts, uint64_t count) {
  if (count > maxItems || (count && !texts))
    return invalidArgument(std::string(what) + " has a list of " +
                           std::to_string(count) + " texts, at most " +
                           std::to_string(maxItems) + " in a valid array");
  for (uint64_t i = 0; i < count; ++i)
    if (!isReadable(texts[i]))
      return invalidArgument(std::string(what) + " has a damaged string");
  return {};
}

Status checkTexts(const char *what, std::initializer_list<bp_string_t> texts) {
  return checkTexts(what, texts.begin(), texts.size());
}

// ---- Targets ----

constexpr uint32_t knownNumerics =
    BP_NUMERICS_FLUSH_INPUT | BP_NUMERICS_FLUSH_OUTPUT | BP_NUMERICS_CONTRACT |
    BP_NUMERICS_DETERMINISTIC;
constexpr uint32_t knownFusion =
    BP_FUSE_ELEMENTWISE | BP_FUSE_EPILOGUE | BP_FUSE_PROLOGUE |
    BP_FUSE_REDUCTION | BP_FUSE_MOVEMENT | BP_FUSE_WIDENING | BP_FUSE_WEIGHTS |
    BP_FUSE_ATTENTION | BP_FUSE_NARROW_ATTENTION | BP_FUSE_ROWS |
    BP_FUSE_VIEWS | BP_FUSE_MIXED_SIGNS | BP_FUSE_BYTE_PAIRS;

/// A target with numerics of this build's size, and checked properties.
struct TargetCopy {
  bp_target_t target;
  std::vector<bp_numerics_t> numerics;
  std::vector<const bp_numerics_t *> pointers;
  std::vector<Property> properties;
  std::vector<bp_property_t> cProperties;
};

Status copyNumerics(TargetCopy &copy) {
  if (copy.target.numerics_count > maxItems ||
      (copy.target.numerics_count && !copy.target.numerics))
    return invalidArgument("a target has a damaged list of numerics");
  copy.numerics.resize(copy.target.numerics_count);
  for (uint64_t i = 0; i < copy.target.numerics_count; ++i) {
    bp_numerics_t &numerics = copy.numerics[i];
    if (Status s = copyStruct(copy.target.numerics[i], bp_numerics_t_TYPE,
                              "numerics of a target", numerics);
        !s.ok())
      return s;
    if (!isReadable(numerics.op_class))
      return invalidArgument("numerics of a target have a damaged string");
    numerics.flags &= knownNumerics;
    copy.pointers.push_back(&numerics);
  }
  copy.target.numerics = copy.pointers.data();
  return {};
}

Status copyTargetProperties(TargetCopy &copy) {
  auto properties =
      copyProperties(copy.target.properties, copy.target.property_count);
  if (!properties)
    return properties.status();
  copy.properties = std::move(*properties);
  copy.cProperties = cForms(copy.properties);
  copy.target.properties = copy.cProperties.data();
  return {};
}

Status checkOpVersions(const bp_target_t &target) {
  uint64_t count = target.op_version_count;
  if (count > maxItems || (count && !target.op_versions))
    return invalidArgument("it lists " + std::to_string(count) +
                           " versions of ops, at most " +
                           std::to_string(maxItems) + " in a valid array");
  for (uint64_t i = 0; i < count; ++i) {
    const bp_op_version_t &known = target.op_versions[i];
    if (!isReadable(known.op) || !known.op.size || !known.version ||
        known.reserved)
      return invalidArgument("its version " + std::to_string(i) +
                             " of an op has no name, no version from 1 on, or "
                             "a reserved member that is not 0");
  }
  return {};
}

Status checkRequirements(const bp_target_t &target) {
  for (uint64_t i = 0; i < target.required_feature_count; ++i)
    if (Status s = checkRequirement(view(target.required_features[i])); !s.ok())
      return s;
  return {};
}

Status copyTarget(const bp_target_t *from, TargetCopy &copy) {
  bp_target_t &t = copy.target;
  if (Status s = copyStruct(from, bp_target_t_TYPE, "target", t); !s.ok())
    return s;
  if (Status s = checkTexts("a target", {t.name, t.description, t.driver,
                                         t.format, t.emitter, t.triple, t.cpu,
                                         t.features, t.toolchain});
      !s.ok())
    return s;
  if (Status s =
          checkTexts("a target", t.required_features, t.required_feature_count);
      !s.ok())
    return s;
  t.fusion &= knownFusion;
  t.flags &= BP_TARGET_STATIC_SHAPES | BP_TARGET_COMPILES_SIZES;
  if (t.max_constants > BP_MAX_CONSTANTS)
    return invalidArgument("target '" + std::string(view(t.name)) + "' has " +
                           std::to_string(t.max_constants) +
                           " constants, the ABI has at most " +
                           std::to_string(BP_MAX_CONSTANTS));
  for (const Status &part :
       {copyTargetProperties(copy), checkRequirements(t), checkOpVersions(t)})
    if (!part.ok())
      return part.within("target '" + std::string(view(t.name)) + "'");
  return copyNumerics(copy);
}

/// What a sink has: who gets the results, and the first failure.
template <typename Receiver> struct Collector {
  const Receiver &put;
  Status failure;
  uint64_t count = 0;

  bp_status_t take(Status status) {
    if (failure.ok())
      failure = std::move(status);
    return failure.code();
  }
};

bp_status_t putTarget(void *context, const bp_target_t *from) {
  auto &collector = *static_cast<Collector<TargetSink> *>(context);
  if (++collector.count > maxTargets)
    return collector.take(
        Status(BP_STATUS_RESOURCE_EXHAUSTED, "lists more than 1024 targets"));
  TargetCopy copy;
  if (Status s = copyTarget(from, copy); !s.ok())
    return collector.take(std::move(s));
  return collector.take(collector.put(copy.target));
}

// ---- Compiling ----

/// A compiled dispatch with structs of this build's size, and launches in any
/// case.
struct LaunchCopies {
  std::vector<bp_launch_t> launches;
  std::vector<bp_entry_t> entries; ///< of the launches
  std::vector<const bp_launch_t *> pointers;
};
struct CompiledCopy {
  bp_compiled_t compiled;
  LaunchCopies launches, initLaunches;
  std::vector<Property> statistics;
  std::vector<bp_property_t> cStatistics;
};

Status copyEntry(const bp_entry_t *from, bp_entry_t &entry) {
  if (Status s = copyStruct(from, bp_entry_t_TYPE, "entry", entry); !s.ok())
    return s;
  if (entry.binding_count > maxBindings ||
      (entry.binding_count && !entry.binding_access))
    return invalidArgument("the entry has too many bindings, or no list");
  if (entry.parameter_count > BP_MAX_PARAMETERS)
    return invalidArgument("the entry has " +
                           std::to_string(entry.parameter_count) +
                           " parameters, at most " +
                           std::to_string(BP_MAX_PARAMETERS) + " are possible");
  const bp_bytes_t &data = entry.driver_data;
  if (data.size > BP_MAX_DRIVER_DATA || (data.size && !data.data))
    return invalidArgument("the entry has " + std::to_string(data.size) +
                           " bytes for its driver, at most " +
                           std::to_string(BP_MAX_DRIVER_DATA) +
                           " behind a pointer are possible");
  return checkTexts("the entry", {entry.name});
}

Status checkLaunch(const bp_launch_t &launch) {
  const bp_entry_t &entry = *launch.entry;
  if (entry.parameter_count && !launch.parameters)
    return invalidArgument(
        "the launch of entry '" + std::string(view(entry.name)) +
        "' lacks its " + std::to_string(entry.parameter_count) + " parameters");
  for (uint32_t i = 0; launch.bindings && i < entry.binding_count; ++i)
    if (Status s = checkTexts("a binding", {launch.bindings[i].offset,
                                            launch.bindings[i].length});
        !s.ok())
      return s;
  if (Status s =
          checkTexts("a launch", launch.parameters, entry.parameter_count);
      !s.ok())
    return s;
  if (Status s = checkTexts("a launch", {launch.grid[0], launch.grid[1],
                                         launch.grid[2], launch.shared_bytes});
      !s.ok())
    return s;
  for (bp_string_t size : launch.grid)
    if (size.size &&
        view(size).find_first_not_of('0') == std::string_view::npos)
      return invalidArgument("the launch of entry '" +
                             std::string(view(entry.name)) +
                             "' has a grid of 0 work-groups");
  return {};
}

/// The launch of a compiled dispatch that lists none.
bp_launch_t onlyLaunch(const bp_compiled_t &compiled) {
  bp_launch_t launch = {BP_HEADER(bp_launch_t)};
  launch.entry = compiled.entry;
  std::copy_n(compiled.grid, 3, launch.grid);
  return launch;
}

Status copyLaunch(const bp_launch_t *from, bp_launch_t &launch,
                  bp_entry_t &entry) {
  if (Status s = copyStruct(from, bp_launch_t_TYPE, "launch", launch); !s.ok())
    return s;
  if (Status s = copyEntry(launch.entry, entry); !s.ok())
    return s;
  launch.entry = &entry;
  return checkLaunch(launch);
}

Status copyLaunches(const bp_launch_t *const *from, uint64_t count,
                    LaunchCopies &copies) {
  if (count > BP_MAX_LAUNCHES || (count && !from))
    return invalidArgument("the compiled dispatch has a list of " +
                           std::to_string(count) + " launches, at most " +
                           std::to_string(BP_MAX_LAUNCHES) +
                           " in a valid array are possible");
  copies.launches.resize(count);
  copies.entries.resize(count);
  for (uint64_t i = 0; i < count; ++i) {
    if (Status s = copyLaunch(from[i], copies.launches[i], copies.entries[i]);
        !s.ok())
      return s;
    copies.pointers.push_back(&copies.launches[i]);
  }
  return {};
}

Status copyLaunches(CompiledCopy &copy) {
  bp_compiled_t &compiled = copy.compiled;
  if (compiled.launch_count && compiled.in_place)
    return invalidArgument("the compiled dispatch says what is in place, "
                           "which one with a list of launches cannot");
  const bp_launch_t only = onlyLaunch(compiled);
  const bp_launch_t *first = &only;
  Status status = compiled.launch_count
                      ? copyLaunches(compiled.launches, compiled.launch_count,
                                     copy.launches)
                      : copyLaunches(&first, 1, copy.launches);
  if (status.ok())
    status = copyLaunches(compiled.init_launches, compiled.init_launch_count,
                          copy.initLaunches);
  compiled.entry = copy.launches.entries.data();
  compiled.launches = copy.launches.pointers.data();
  compiled.launch_count = copy.launches.pointers.size();
  compiled.init_launches = copy.initLaunches.pointers.data();
  return status;
}

/// Its log, as far as it is kept, and its figures.
Status copyNotes(CompiledCopy &copy) {
  bp_compiled_t &compiled = copy.compiled;
  if (compiled.log.size && !compiled.log.data)
    return invalidArgument("the log is a null pointer with a size");
  compiled.log.size = std::min<uint64_t>(compiled.log.size, BP_MAX_LOG);
  auto statistics =
      copyProperties(compiled.statistics, compiled.statistic_count);
  if (!statistics)
    return statistics.status().within("the statistics");
  copy.statistics = std::move(*statistics);
  copy.cStatistics = cForms(copy.statistics);
  compiled.statistics = copy.cStatistics.data();
  return {};
}

Status copyCompiled(const bp_compiled_t *from, CompiledCopy &copy) {
  bp_compiled_t &compiled = copy.compiled;
  if (Status s =
          copyStruct(from, bp_compiled_t_TYPE, "compiled dispatch", compiled);
      !s.ok())
    return s;
  if (compiled.blob.size && !compiled.blob.data)
    return invalidArgument("the blob is a null pointer with a size");
  if (Status s = checkTexts("the compiled dispatch",
                            {compiled.grid[0], compiled.grid[1],
                             compiled.grid[2], compiled.scratch_bytes});
      !s.ok())
    return s;
  if (Status s = copyNotes(copy); !s.ok())
    return s;
  return copyLaunches(copy);
}

bp_status_t putCompiled(void *context, const bp_compiled_t *from) {
  auto &collector = *static_cast<Collector<CompiledSink> *>(context);
  if (++collector.count > 1)
    return collector.take(invalidArgument("gave two results for a dispatch"));
  return collector.take(copyCompiled(from, collector.put));
}

bp_status_t putStage(void *context, bp_string_t stage, bp_string_t pipeline) {
  auto &collector = *static_cast<Collector<StageSink> *>(context);
  if (Status s = checkTexts("a stage", {stage, pipeline}); !s.ok())
    return collector.take(std::move(s));
  collector.put(view(stage), view(pipeline));
  return BP_STATUS_OK;
}

bp_status_t putReason(void *context, bp_string_t text) {
  if (!isReadable(text))
    return BP_STATUS_INVALID_ARGUMENT;
  *static_cast<std::string *>(context) = view(text);
  return BP_STATUS_OK;
}

} // namespace

Status callTargets(const CompilerPlugin &plugin, const TargetSink &put) {
  Collector<TargetSink> collector{put, {}};
  const bp_target_sink_t sink = {putTarget, &collector};
  Status status =
      callPlugin("targets", plugin.table->targets, plugin.self, &sink);
  return collector.failure.ok() ? status : collector.failure;
}

Status callStages(const CompilerPlugin &plugin, std::string_view target,
                  const StageSink &put) {
  Collector<StageSink> collector{put, {}};
  const bp_stage_sink_t sink = {putStage, &collector};
  Status status = callPlugin("stages", plugin.table->stages, plugin.self,
                             toC(target), &sink);
  return collector.failure.ok() ? status : collector.failure;
}

Status callClaim(const CompilerPlugin &plugin, std::string_view target,
                 const bp_graph_t *graph, const bp_graph_table_t *table,
                 ClaimAnswer &out) {
  const bp_string_sink_t reason = {putReason, &out.reason};
  Guarded<bp_claim_t> answer(BP_HEADER(bp_claim_t));
  answer.value().reason = &reason;
  Status status = callPlugin("claim", plugin.table->claim, plugin.self,
                             toC(target), graph, table, &answer.value());
  if (!answer.intact())
    return invalidArgument("claim: wrote behind the struct that it was given");
  out.supported = status.ok() && answer.value().supported;
  out.costNs = answer.value().cost_ns;
  return status;
}

Status copyCompiled(const bp_compiled_t *from, const CompiledSink &put) {
  CompiledCopy copy;
  if (Status s = copyCompiled(from, copy); !s.ok())
    return s;
  return put(copy.compiled);
}

Status callCompile(const CompilerPlugin &plugin,
                   const bp_compile_request_t &request,
                   const CompiledSink &put) {
  if (!plugin.table->compile)
    return unimplemented("it has no function compile");
  Collector<CompiledSink> collector{put, {}};
  const bp_compiled_sink_t sink = {putCompiled, &collector};
  Status status = callPlugin("compile", plugin.table->compile, plugin.self,
                             &request, &sink);
  if (!collector.failure.ok())
    return collector.failure.within("compile");
  if (status.ok() && !collector.count)
    return internalError("compile: succeeded without a result");
  return status;
}

} // namespace backplane
