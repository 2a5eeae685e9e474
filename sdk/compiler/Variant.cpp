// SPDX-License-Identifier: Apache-2.0
#include "sdk/compiler/Variant.h"

#include "sdk/emit/Emit.h"
#include "sdk/fusion/Fusion.h"
#include "sdk/graph/Decompose.h"
#include "sdk/optimize/FoldConstants.h"
#include "sdk/optimize/Passes.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace backplane;

const DialectRegistry &VariantCompiler::registry() {
  static const DialectRegistry registry = [] {
    DialectRegistry all;
    all.insert<bp::BpDialect, func::FuncDialect>();
    registerEmitDialects(all);
    return all;
  }();
  return registry;
}

VariantCompiler::VariantCompiler(const CompileServices &services,
                                 const Target &target, WeightPool &pool,
                                 std::vector<std::string> &weights,
                                 std::string dumpFolder)
    : services_(services), target_(target), pool_(pool), weights_(weights),
      dump_(std::move(dumpFolder)),
      context_(registry(), MLIRContext::Threading::DISABLED),
      diagnostics_(context_),
      kernels_(services, target, [this](StringRef stage, ModuleOp kernel) {
        auto functions = kernel.getOps<func::FuncOp>();
        std::string name =
            functions.empty() ? "kernel" : (*functions.begin()).getName().str();
        dump_.write(name + "." + stage.str(), kernel);
      }) {}

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

/// The graph with the composites that the backend does not claim decomposed.
/// Regions get their turn when they are compiled.
Result<Graph> VariantCompiler::primitives(const Graph &graph) const {
  auto keep = [&](const backplane::Op &op) {
    return askClaim(services_, target_, graph, op).supported;
  };
  auto result = decompose(graph, keep, false);
  if (!result)
    return result.status().within("decompose");
  if (auto status = check(*result); !status.ok())
    return status;
  return result;
}

Status VariantCompiler::runPipeline(ModuleOp module) {
  auto read = [&](StringRef id) -> std::optional<Bytes> {
    const Weight *weight = pool_.find(std::string_view(id));
    if (!weight || weight->data.size() > maxConstantBytes)
      return std::nullopt;
    return Bytes(weight->data.begin(), weight->data.end());
  };
  auto status = runPasses(module, diagnostics_, [&](OpPassManager &manager) {
    manager.addPass(bp::createForwardVariablesPass());
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
  if (failed(bp::foldConstants(module, services_.evaluate, pool_,
                               variant_->report)))
    return diagnostics_.take(internalError("constants cannot be folded"));
  return runPasses(module, diagnostics_, [&](OpPassManager &manager) {
    manager.addPass(bp::createSimplifyPass());
    manager.addPass(createCSEPass());
  });
}

/// Again while that shows what an `if` will choose.
Status VariantCompiler::optimize(ModuleOp module, const Graph &graph) {
  for (;;) {
    if (auto status = runPipeline(module); !status.ok())
      return status;
    auto decided = decideIfs(module, graph);
    if (!decided || !*decided)
      return decided.status();
  }
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
Status VariantCompiler::addKernels(ModuleOp module, Schedule &schedule) {
  uint64_t done = 0;
  for (ScheduledDispatch &scheduled : schedule.dispatches) {
    if (services_.progress)
      services_.progress("kernels for " + target_.name, done++,
                         schedule.dispatches.size());
    auto index =
        kernels_.add(module.lookupSymbol<func::FuncOp>(scheduled.function));
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
    KernelCompiler::Place place = kernels_.placeOf(*index);
    dispatch->executable = place.executable;
    dispatch->entry = place.entry;
    const auto &grid = kernels_.kernel(*index).grid;
    dispatch->grid.assign(grid.begin(), grid.end());
    dispatch->workspace = kernels_.symbolicWorkspace(*index);
    scheduled.inPlace = kernels_.kernel(*index).inPlace;
  }
  dispatches_ += schedule.dispatches.size();
  return {};
}

Status VariantCompiler::addExecutables() {
  variant_->report.push_back(std::to_string(dispatches_) +
                             " dispatches share " +
                             std::to_string(kernels_.count()) + " kernels");
  // Not in the report: equal models give equal bytes.
  if (services_.log)
    services_.log(BP_LOG_DEBUG, std::to_string(kernels_.cacheHits()) +
                                    " kernels came from the cache");
  auto executables = kernels_.executables(context_);
  if (!executables)
    return diagnostics_.take(executables.status());
  variant_->executables = std::move(*executables);
  return {};
}

void VariantCompiler::addReport(ModuleOp module) {
  if (auto report = module->getAttrOfType<ArrayAttr>("bp.report"))
    for (auto line : report.getAsRange<StringAttr>())
      variant_->report.push_back(line.str());
}

/// `name` starts the names of stages: empty for the model itself.
Result<fb::ProgramT> VariantCompiler::compileProgram(const Graph &graph,
                                                     const std::string &name) {
  auto ops = primitives(graph);
  if (!ops)
    return ops.status();
  OwningOpRef<ModuleOp> module = bp::importGraph(context_, *ops);
  if (!module)
    return diagnostics_.take(internalError("the graph has no module"));
  dump_.write(name + "import", *module);
  if (auto status = optimize(*module, graph); !status.ok())
    return status.within("optimize");
  dump_.write(name + "optimize", *module);
  if (auto status = compileRegions(*module, graph); !status.ok())
    return status;
  if (auto status = formDispatches(*module); !status.ok())
    return status.within("fusion");
  dump_.write(name + "fusion", *module);
  auto schedule = backplane::schedule(*module, weights_, constants_);
  if (!schedule)
    return diagnostics_.take(schedule.status()).within("schedule");
  addReport(*module);
  if (auto status = addKernels(*module, *schedule); !status.ok())
    return status;
  if (auto status = finishSchedule(*module, *schedule); !status.ok())
    return status.within("schedule");
  llvm::append_range(variant_->report, schedule->report);
  constants_ = schedule->constants;
  appendInit(init_, std::move(schedule->init));
  return std::move(schedule->program);
}

Result<std::unique_ptr<fb::VariantT>> VariantCompiler::run(const Graph &graph) {
  variant_ = std::make_unique<fb::VariantT>();
  variant_->target = target_.name;
  variant_->driver = target_.driver;
  variant_->format = target_.format;
  variant_->required_features = target_.requiredFeatures;
  variant_->rank = target_.rank;
  auto program = compileProgram(graph, "");
  if (!program)
    return program.status();
  variant_->program = std::make_unique<fb::ProgramT>(std::move(*program));
  if (!init_.commands.empty())
    variant_->init = std::make_unique<fb::ProgramT>(std::move(init_));
  if (auto status = addExecutables(); !status.ok())
    return status;
  return std::move(variant_);
}
