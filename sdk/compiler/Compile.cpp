// SPDX-License-Identifier: Apache-2.0
//
// The whole compiler, read top to bottom: a model, its variants, their
// programs. docs/reference/stages.md has the contract of each stage.
#include "sdk/compiler/Compile.h"

#include "sdk/compiler/Describe.h"
#include "sdk/compiler/GraphPasses.h"
#include "sdk/compiler/Phase.h"
#include "sdk/compiler/ProgramPipelines.h"
#include "sdk/compiler/RegisteredKernels.h"
#include "sdk/compiler/Variant.h"
#include "sdk/graph/Satisfiable.h"
#include "sdk/graph/Wire.h"
#include "sdk/kernels/FixSize.h"
#include "sdk/package/Artifact.h"

#include <set>

using namespace mlir;
using namespace backplane;

/// Ops that have devices, to a program.
static Result<CompiledProgram>
compilePlaced(VariantContext &context, ModuleOp module, const Graph &graph,
              const std::string &name, OneDevice device, Draft draft,
              Refusals &refusals) {
  if (Status s = compileRegions(context, module, graph, draft, refusals);
      !s.ok())
    return s;
  matchKernels(context, module, name, device, refusals, draft);
  if (Status s = chooseLayouts(context, module); !s.ok())
    return s.within(stage::layout.name);
  if (Status s =
          runProgramPipeline(context, module, stage::layout, device, draft);
      !s.ok())
    return s;
  context.dump.write(name, stage::layout, module);
  if (Status s = fuse(context, module); !s.ok())
    return s.within(stage::fusion.name);
  context.dump.write(name, stage::fusion, module);
  auto scheduled = schedule(module, draft.weights, draft.constants);
  if (!scheduled)
    return context.diagnostics.take(scheduled.status())
        .within(stage::schedule.name);
  if (Status s = makeKernels(context, module, *scheduled, draft, refusals);
      !s.ok())
    return s;
  if (Status s = finishSchedule(module, *scheduled); !s.ok())
    return s.within(stage::schedule.name);
  if (!context.dump.status().ok())
    return context.dump.status();
  llvm::append_range(draft.report, scheduled->report);
  draft.constants = scheduled->constants;
  appendInit(draft.init, std::move(scheduled->init));
  return CompiledProgram{std::move(scheduled->program), std::move(draft)};
}

/// Whether the ops of a program differ in what runs them.
static bool isDivided(const VariantContext &context, OneDevice device) {
  return !device || context.targets[*device].plugin->table->partition;
}

/// Tries until no device refuses what it was given. Each round that fails has
/// taught something new about ops and a device, so that there is a last one.
static Result<CompiledProgram>
compileSplit(VariantContext &context, ModuleOp module, const Graph &graph,
             const std::string &name, OneDevice device, const Draft &draft) {
  Refusals refusals;
  for (;;) {
    OwningOpRef<ModuleOp> attempt = module.clone();
    Draft copy = draft;
    size_t known = refusals.size();
    if (Status s = partition(context, *attempt, graph, device, refusals, copy);
        !s.ok())
      return s.within(stage::partition.name);
    if (isDivided(context, device))
      context.dump.write(name, stage::partition, *attempt);
    auto compiled = compilePlaced(context, *attempt, graph, name, device,
                                  std::move(copy), refusals);
    if (compiled)
      llvm::append_range(compiled->draft.report, refusals.report);
    bool isLast = device && !refusals.ops.empty(); // no other device runs it
    if (compiled || isLast || refusals.size() == known)
      return compiled;
  }
}

/// The graph passes of the device over a program without control flow; `module`
/// becomes what they make of it.
static Status passProgram(VariantContext &context,
                          OwningOpRef<ModuleOp> &module, OneDevice device,
                          Draft &draft) {
  const std::string stage(stage::partition.name);
  for (unsigned i = 0; i < context.targets.size(); ++i) {
    const Target &target = context.targets[i];
    if (!hasGraphPass(target, stage) || (device && *device != i))
      continue;
    std::string what = "target " + target.name + ", stage " + stage;
    auto main = module->lookupSymbol<func::FuncOp>("main");
    bool control = !main.getOps<bp::ControlOp>().empty();
    if (!device || control) {
      draft.report.push_back(what + ": its graph passes are left out, as " +
                             (control ? "the program has control flow"
                                      : "several targets share the program"));
      continue;
    }
    auto graph = bp::exportGraph(main);
    if (!graph)
      return graph.status();
    auto changed = runGraphPasses(context.services, target, stage, *graph, what,
                                  draft.report);
    if (!changed)
      return changed.status();
    if (*changed == *graph)
      continue;
    changed = decomposeFor(context, *changed, device);
    if (!changed)
      return changed.status();
    module = bp::importGraph(context.mlir, *changed);
    if (!module)
      return context.diagnostics.take(internalError("no module"));
  }
  return {};
}

/// By all stages, with the composites that no compiler has refused so far.
static Result<CompiledProgram> compileOnce(VariantContext &context,
                                           const Graph &graph,
                                           const std::string &name,
                                           OneDevice device, Draft draft) {
  auto primitives = decomposeFor(context, graph, device);
  if (!primitives)
    return primitives.status();
  OwningOpRef<ModuleOp> module = bp::importGraph(context.mlir, *primitives);
  if (!module)
    return context.diagnostics.take(internalError("the graph has no module"));
  if (Status s =
          runProgramPipeline(context, *module, stage::import, device, draft);
      !s.ok())
    return s;
  context.dump.write(name, stage::import, *module);
  if (Status s = optimize(context, *module, graph, device, draft); !s.ok())
    return s.within(stage::optimize.name);
  context.dump.write(name, stage::optimize, *module);
  if (Status s = passProgram(context, module, device, draft); !s.ok())
    return s.within(stage::partition.name);
  if (Status s =
          runProgramPipeline(context, *module, stage::partition, device, draft);
      !s.ok())
    return s;
  return compileSplit(context, *module, graph, name, device, draft);
}

Result<CompiledProgram> backplane::compileProgram(VariantContext &context,
                                                  const Graph &graph,
                                                  const std::string &name,
                                                  OneDevice device,
                                                  Draft draft) {
  for (;;) {
    size_t known = context.refusedComposites.size();
    auto compiled = compileOnce(context, graph, name, device, draft);
    if (compiled || context.refusedComposites.size() == known)
      return compiled;
  }
}

/// One model for one target, or split over several. `weights` are the ids that
/// slots number; the variant's are added.
static Result<VariantInfo> compileVariant(const CompileServices &services,
                                          const std::vector<Target> &targets,
                                          CompileRequest &request,
                                          std::string dumpFolder,
                                          bool keepsWeights,
                                          std::vector<std::string> &weights) {
  const std::string &kernel = request.kernel;
  VariantContext context(services, targets, request.model.weights,
                         std::move(dumpFolder),
                         kernel == noKernels ? "" : kernel);
  context.keepsWeights = keepsWeights;
  Draft draft{.weights = weights,
              .kernels = std::vector<KernelOrders>(targets.size())};
  for (const Target &target : targets)
    llvm::append_range(draft.report, target.remarks);
  auto compiled = compileProgram(
      context, request.model.graph, "",
      targets.size() == 1 ? OneDevice(0u) : std::nullopt, std::move(draft));
  if (!compiled)
    return compiled.status();
  if (!context.kernel.empty() && compiled->draft.dispatches == 0)
    return Status(BP_STATUS_FAILED_PRECONDITION,
                  "kernel " + kernel +
                      " computes nothing of the graph, which needs no "
                      "dispatch");
  for (const auto &[composite, line] : context.refusedComposites)
    compiled->draft.report.push_back(line);
  weights = compiled->draft.weights;
  return link(context, std::move(*compiled));
}

/// Keeps the graph, so that it can be compiled for further targets later on.
static void embedGraph(const Graph &graph, ArtifactInfo &artifact,
                       std::vector<std::string> &weights) {
  artifact.graph = Blob::of(writeGraph(graph));
  std::set<std::string> known(weights.begin(), weights.end());
  for (const auto &[id, type] : weightsOf(graph))
    if (known.insert(id).second)
      weights.push_back(id);
}

/// Puts the number in the place of each symbol that has one value only. Where
/// the number shows that a branch is never valid, the symbol stays.
static void fixSizes(Graph &graph) {
  std::vector<backplane::Symbol> symbols = graph.symbols;
  for (const backplane::Symbol &symbol : symbols) {
    bool isRead = llvm::any_of(graph.ops, [&](const backplane::Op &op) {
      return op.name == "read" && op.string("symbol") == symbol.name;
    });
    if (symbol.minimum != symbol.maximum || isRead)
      continue;
    if (auto fixed = fixSymbol(graph, symbol.name, symbol.minimum))
      graph = std::move(*fixed);
  }
}

/// The targets of each variant.
static Result<std::vector<std::vector<Target>>>
findVariants(const CompileRequest &request, const CompileServices &services) {
  std::vector<std::vector<Target>> variants;
  for (const std::string &name : request.targets) {
    auto targets = findTargets(services, name);
    if (!targets)
      return targets.status();
    if (Status s = chooseKernels(request.kernel, *targets); !s.ok())
      return s;
    variants.push_back(std::move(*targets));
  }
  return variants;
}

/// Whether somebody reads weights as the model has them: its graph, or one of
/// several variants.
static bool keepsWeights(const CompileRequest &request,
                         ArrayRef<std::vector<Target>> variants) {
  return request.embedGraph ||
         (variants.size() > 1 &&
          llvm::any_of(variants, [](ArrayRef<Target> targets) {
            return llvm::any_of(targets, [](const Target &target) {
              return !(target.fusion & BP_FUSE_WEIGHTS);
            });
          }));
}

Status backplane::compileModel(CompileRequest request,
                               const CompileServices &services) {
  fixSizes(request.model.graph);
  if (auto status = checkSatisfiable(request.model.graph); !status.ok())
    return status;
  ArtifactInfo artifact;
  std::vector<std::string> weights;
  describeModel(request.model.graph, artifact, weights);
  auto variants = findVariants(request, services);
  if (!variants)
    return variants.status();
  bool keeps = keepsWeights(request, *variants);
  for (const auto &[name, targets] : llvm::zip(request.targets, *variants)) {
    std::string dumps = request.dumpDir;
    if (!dumps.empty() && request.targets.size() > 1)
      dumps += "/" + name;
    Phase phase(services, "variant " + name);
    auto variant =
        compileVariant(services, targets, request, dumps, keeps, weights);
    if (!variant)
      return variant.status().within(name);
    artifact.variants.push_back(std::move(*variant));
  }
  dropUnusedWeights(artifact, weights);
  if (request.embedGraph)
    embedGraph(request.model.graph, artifact, weights);
  for (const std::string &id : weights)
    artifact.weights.push_back({.id = id});
  Phase phase(services, "write artifact");
  return writeArtifact(request.outputPath, artifact, request.model.weights);
}
