// SPDX-License-Identifier: Apache-2.0
//
// The whole compiler, read top to bottom. docs/reference/stages.md has the
// contract of each stage.
#include "sdk/compiler/Compile.h"

#include "sdk/compiler/Describe.h"
#include "sdk/compiler/Kernels.h"
#include "sdk/compiler/Schedule.h"
#include "sdk/compiler/Stages.h"
#include "sdk/emit/Emit.h"
#include "sdk/fusion/Fusion.h"
#include "sdk/graph/Decompose.h"
#include "sdk/optimize/FoldConstants.h"
#include "sdk/optimize/Passes.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace backplane;

namespace {

/// One model for one target: from the graph to a variant of the artifact.
class VariantCompiler {
public:
  VariantCompiler(const CompileServices &services, const Target &target,
                  std::string dumpFolder)
      : services_(services), target_(target), dump_(std::move(dumpFolder)),
        context_(registry(), MLIRContext::Threading::DISABLED),
        diagnostics_(context_) {}

  Result<std::unique_ptr<fb::VariantT>>
  run(const Graph &graph, WeightPool &pool, std::vector<std::string> &weights);

private:
  static const DialectRegistry &registry();
  Status optimize(ModuleOp module, WeightPool &pool,
                  std::vector<std::string> &report);
  Status formDispatches(ModuleOp module);
  Status addKernels(ModuleOp module, Schedule &schedule, fb::VariantT &variant);
  Status check(const Graph &graph) const;
  size_t maxConstants() const {
    return target_.maxConstants ? target_.maxConstants : BP_MAX_CONSTANTS;
  }

  const CompileServices &services_;
  const Target &target_;
  StageDump dump_;
  MLIRContext context_;
  Diagnostics diagnostics_;
};

} // namespace

const DialectRegistry &VariantCompiler::registry() {
  static const DialectRegistry registry = [] {
    DialectRegistry all;
    all.insert<bp::BpDialect, func::FuncDialect>();
    registerEmitDialects(all);
    return all;
  }();
  return registry;
}

/// Refuses a graph with a dtype that the target cannot hold.
Status VariantCompiler::check(const Graph &graph) const {
  for (const backplane::Op &op : graph.ops)
    for (const auto *list : {&op.operands, &op.results})
      for (ValueId value : *list)
        if (DType type = graph.type(value).dtype;
            !(target_.storageDTypes >> unsigned(type) & 1))
          return unimplemented("target " + target_.name + " has no " +
                               std::string(name(type)) + ", which " + op.name +
                               " " + op.location + " uses");
  return {};
}

Status VariantCompiler::optimize(ModuleOp module, WeightPool &pool,
                                 std::vector<std::string> &report) {
  auto read = [&](StringRef id) -> std::optional<Bytes> {
    const Weight *weight = pool.find(std::string_view(id));
    if (!weight || weight->data.size() > maxConstantBytes)
      return std::nullopt;
    return Bytes(weight->data.begin(), weight->data.end());
  };
  auto status = runPasses(module, diagnostics_, [&](OpPassManager &manager) {
    manager.addPass(bp::createSimplifyPass());
    manager.addPass(createCSEPass());
    manager.addPass(bp::createTableLookupPass(read));
    manager.addPass(bp::createFoldScalesPass());
    manager.addPass(bp::createSimplifyPass());
    manager.addPass(createCSEPass());
    manager.addPass(bp::createOutlineConstantsPass());
  });
  if (!status.ok())
    return status;
  if (failed(bp::foldConstants(module, services_.evaluate, pool, report)))
    return diagnostics_.take(internalError("constants cannot be folded"));
  return runPasses(module, diagnostics_, [&](OpPassManager &manager) {
    manager.addPass(bp::createSimplifyPass());
    manager.addPass(createCSEPass());
  });
}

Status VariantCompiler::formDispatches(ModuleOp module) {
  bp::FusionOptions options;
  options.fusion = target_.fusion;
  options.maxBindings = target_.maxBindings;
  options.maxOps = target_.maxFusedOps;
  options.claim = [&](const Graph &group) {
    Claim claim = askClaim(services_, target_, group);
    if (!claim.answered)
      return bp::ClaimAnswer{};
    return bp::ClaimAnswer{claim.supported, claim.costNs, claim.reason};
  };
  if (failed(bp::formDispatches(module, options)) ||
      failed(mlir::verify(module)))
    return diagnostics_.take(internalError("dispatches cannot be formed"));
  return {};
}

/// Compiles each dispatch and completes the commands that run it.
Status VariantCompiler::addKernels(ModuleOp module, Schedule &schedule,
                                   fb::VariantT &variant) {
  KernelCompiler kernels(
      services_, target_, [&](StringRef stage, ModuleOp kernel) {
        auto functions = kernel.getOps<func::FuncOp>();
        std::string name =
            functions.empty() ? "kernel" : (*functions.begin()).getName().str();
        dump_.write(name + "." + stage.str(), kernel);
      });
  uint64_t done = 0;
  for (ScheduledDispatch &scheduled : schedule.dispatches) {
    if (services_.progress)
      services_.progress("kernels for " + target_.name, done++,
                         schedule.dispatches.size());
    auto index =
        kernels.add(module.lookupSymbol<func::FuncOp>(scheduled.function));
    if (!index)
      return diagnostics_.take(index.status());
    fb::ProgramT &program = scheduled.init ? schedule.init : schedule.program;
    auto *dispatch = program.commands[scheduled.command]->body.AsDispatch();
    if (dispatch->constants.size() > maxConstants())
      return unimplemented(scheduled.function + " uses " +
                           std::to_string(dispatch->constants.size()) +
                           " symbols, the target passes " +
                           std::to_string(maxConstants()) +
                           "; give some of the model's sizes numbers");
    KernelCompiler::Place place = kernels.placeOf(*index);
    dispatch->executable = place.executable;
    dispatch->entry = place.entry;
    const auto &grid = kernels.kernel(*index).grid;
    dispatch->grid.assign(grid.begin(), grid.end());
    dispatch->workspace = kernels.symbolicWorkspace(*index);
    scheduled.inPlace = kernels.kernel(*index).inPlace;
  }
  variant.report.push_back(std::to_string(schedule.dispatches.size()) +
                           " dispatches share " +
                           std::to_string(kernels.count()) + " kernels");
  // Not in the report: equal models give equal bytes.
  if (services_.log)
    services_.log(BP_LOG_DEBUG, std::to_string(kernels.cacheHits()) +
                                    " kernels came from the cache");
  auto executables = kernels.executables(context_);
  if (!executables)
    return diagnostics_.take(executables.status());
  variant.executables = std::move(*executables);
  return {};
}

static void addReport(ModuleOp module, fb::VariantT &variant) {
  if (auto report = module->getAttrOfType<ArrayAttr>("bp.report"))
    for (auto line : report.getAsRange<StringAttr>())
      variant.report.push_back(line.str());
}

Result<std::unique_ptr<fb::VariantT>>
VariantCompiler::run(const Graph &graph, WeightPool &pool,
                     std::vector<std::string> &weights) {
  auto primitives = decompose(graph, [&](const backplane::Op &op) {
    return askClaim(services_, target_, graph, op).supported;
  });
  if (!primitives)
    return primitives.status().within("decompose");
  if (auto status = check(*primitives); !status.ok())
    return status;
  OwningOpRef<ModuleOp> module = bp::importGraph(context_, *primitives);
  if (!module)
    return diagnostics_.take(internalError("the graph has no module"));
  dump_.write("import", *module);
  auto variant = std::make_unique<fb::VariantT>();
  if (auto status = optimize(*module, pool, variant->report); !status.ok())
    return status.within("optimize");
  dump_.write("optimize", *module);
  if (auto status = formDispatches(*module); !status.ok())
    return status.within("fusion");
  dump_.write("fusion", *module);
  auto schedule = backplane::schedule(*module, weights);
  if (!schedule)
    return diagnostics_.take(schedule.status()).within("schedule");

  variant->target = target_.name;
  variant->driver = target_.driver;
  variant->format = target_.format;
  variant->required_features = target_.requiredFeatures;
  variant->rank = target_.rank;
  addReport(*module, *variant);
  if (auto status = addKernels(*module, *schedule, *variant); !status.ok())
    return status;
  if (auto status = finishSchedule(*module, *schedule); !status.ok())
    return status.within("schedule");
  llvm::append_range(variant->report, schedule->report);
  variant->program =
      std::make_unique<fb::ProgramT>(std::move(schedule->program));
  if (!schedule->init.commands.empty())
    variant->init = std::make_unique<fb::ProgramT>(std::move(schedule->init));
  return variant;
}

Status backplane::compileModel(CompileRequest request,
                               const CompileServices &services) {
  fb::ArtifactT artifact;
  std::vector<std::string> weights;
  describeModel(request.model.graph, artifact, weights);
  for (const std::string &name : request.targets) {
    auto target = findTarget(services, name);
    if (!target)
      return target.status();
    std::string dumps = request.dumpDir;
    if (!dumps.empty() && request.targets.size() > 1)
      dumps += "/" + name;
    VariantCompiler compiler(services, *target, dumps);
    auto variant =
        compiler.run(request.model.graph, request.model.weights, weights);
    if (!variant)
      return variant.status().within(name);
    artifact.variants.push_back(std::move(*variant));
  }
  for (const std::string &id : weights) {
    artifact.weights.push_back(std::make_unique<fb::WeightInfoT>());
    artifact.weights.back()->id = id;
  }
  return writeArtifact(request.outputPath, artifact, request.model.weights);
}
