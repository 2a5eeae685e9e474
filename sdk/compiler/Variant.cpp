// SPDX-License-Identifier: Apache-2.0
#include "sdk/compiler/Variant.h"

#include "sdk/compiler/Phase.h"
#include "sdk/emit/Emit.h"
#include "sdk/fusion/Fusion.h"
#include "sdk/graph/Decompose.h"
#include "sdk/optimize/FoldConstants.h"
#include "sdk/optimize/Passes.h"
#include "sdk/package/Check.h"

#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Transforms/Passes.h"

#include "llvm/ADT/StringExtras.h"

#include <set>

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
                                 const std::vector<Target> &targets,
                                 WeightPool &pool,
                                 std::vector<std::string> &weights,
                                 std::string dumpFolder)
    : services_(services), targets_(targets), pool_(pool), weights_(weights),
      dump_(std::move(dumpFolder)),
      context_(registry(), MLIRContext::Threading::DISABLED),
      diagnostics_(context_) {
  // A message of a pass may come while an op is half rewritten.
  context_.printOpOnDiagnostic(false);
  auto dump = [this](StringRef stage, ModuleOp kernel) {
    auto functions = kernel.getOps<func::FuncOp>();
    std::string name =
        functions.empty() ? "kernel" : (*functions.begin()).getName().str();
    dump_.write(name + "." + stage.str(), kernel);
  };
  for (const Target &target : targets_)
    kernels_.emplace_back(services, target, dump);
}

/// Refuses a graph with a dtype that the target cannot hold.
Status VariantCompiler::check(const Graph &graph, unsigned device) const {
  const Target &target = targets_[device];
  for (const backplane::Op &op : graph.ops)
    for (const auto *list : {&op.operands, &op.results})
      for (ValueId value : *list)
        if (DType type = graph.type(value).dtype;
            !(target.storageDTypes >> unsigned(type) & 1))
          return unimplemented("target " + target.name + " has no " +
                               std::string(name(type)) + ", which " + op.name +
                               " " + op.location + " uses");
  return {};
}

/// The graph with the composites that the backend does not claim decomposed.
/// Regions get their turn when they are compiled. With `split` other devices
/// may take what this one cannot hold.
Result<Graph> VariantCompiler::primitives(const Graph &graph, unsigned device,
                                          bool split) const {
  auto keep = [&](const backplane::Op &op) {
    return askClaim(services_, targets_[device], graph, op).supported;
  };
  auto result = decompose(graph, keep, false);
  if (!result)
    return result.status().within("decompose");
  if (!split)
    if (auto status = check(*result, device); !status.ok())
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
Status VariantCompiler::optimize(ModuleOp module, const Graph &graph,
                                 std::optional<unsigned> device) {
  Phase phase(services_, "optimize");
  for (;;) {
    if (auto status = runPipeline(module); !status.ok())
      return status;
    auto decided = decideIfs(module, graph, device);
    if (!decided || !*decided)
      return decided.status();
  }
}

/// Shaders have no memory for constants.
Status VariantCompiler::moveTables(ModuleOp module) {
  bool shaders = llvm::any_of(
      targets_, [](const Target &target) { return target.emitter == "spirv"; });
  if (!shaders)
    return {};
  return runPasses(module, diagnostics_, [&](OpPassManager &manager) {
    manager.addPass(bp::createMoveTablesPass(pool_));
    manager.addPass(createCSEPass());
  });
}

Status VariantCompiler::formDispatches(ModuleOp module) {
  Phase phase(services_, "fusion");
  if (auto status = moveTables(module); !status.ok())
    return status;
  std::vector<bp::FusionOptions> devices;
  for (const Target &target : targets_) {
    bp::FusionOptions options;
    options.fusion = target.fusion;
    options.maxBindings = target.maxBindings;
    options.maxOps = target.maxFusedOps;
    options.claim = [&](const Graph &group) {
      Claim claim = askClaim(services_, target, group);
      if (!claim.answered)
        return bp::ClaimAnswer{};
      return bp::ClaimAnswer{claim.supported, claim.costNs, claim.reason};
    };
    devices.push_back(std::move(options));
  }
  if (failed(bp::formDispatches(module, devices, pool_)) ||
      failed(mlir::verify(module)))
    return diagnostics_.take(internalError("dispatches cannot be formed"));
  return {};
}

/// "add (/a) of f32": each op of a dispatch, and the dtypes that it uses.
static std::string describeOps(func::FuncOp dispatch) {
  std::string text;
  for (Operation &op : dispatch.front().without_terminator()) {
    std::string location = bp::locationText(op.getLoc());
    text += (text.empty() ? "" : ", ") + op.getName().stripDialect().str() +
            (location.empty() ? "" : " (" + location + ")");
  }
  std::set<std::string> dtypes;
  for (ArrayRef<Type> types :
       {dispatch.getArgumentTypes(), dispatch.getResultTypes()})
    for (Type type : types)
      if (auto tensor = bp::toTensorType(type))
        dtypes.insert(std::string(name(tensor->dtype)));
  return text + " of " + llvm::join(dtypes, ", ");
}

/// Whether the plain numbers of a dispatch are such that an artifact may hold
/// them and its target takes them: a size that calls give is asked then.
static Status checkSizes(const Kernel &kernel, func::FuncOp dispatch,
                         const Target &target) {
  auto within = [](const std::string &text, const char *what,
                   uint64_t most) -> Status {
    auto size = Dim::parse(text.empty() ? "0" : text);
    int64_t value = size ? size->constant().value_or(0) : -1;
    if (value >= 0 && uint64_t(value) <= most)
      return {};
    return unimplemented("it needs " + std::string(what) + " of " + text +
                         ", the most is " + std::to_string(most));
  };
  for (const std::string &size : kernel.grid)
    if (Status s = within(size, "a grid", UINT32_MAX); !s.ok())
      return s;
  for (ArrayRef<Type> types :
       {dispatch.getArgumentTypes(), dispatch.getResultTypes()})
    for (Type type : types)
      if (Status s = within(bp::toTensorType(type)->bytes().str(),
                            "a tensor in bytes", uint64_t(1) << 62);
          !s.ok())
        return s;
  uint64_t workspace = target.workspaceLimit ? std::min(target.workspaceLimit,
                                                        limits::workspaceBytes)
                                             : limits::workspaceBytes;
  return within(kernel.workspace, "a workspace in bytes", workspace);
}

/// The kernels of all dispatches. A device that cannot make one is noted when
/// another one could.
Result<std::vector<size_t>>
VariantCompiler::compileKernels(ModuleOp module, const Schedule &schedule) {
  std::vector<size_t> indices;
  Status refused;
  SymbolTable functions(module);
  for (const ScheduledDispatch &scheduled : schedule.dispatches) {
    auto function = functions.lookup<func::FuncOp>(scheduled.function);
    unsigned device = bp::deviceOf(function);
    if (services_.progress)
      services_.progress("kernels for " + targets_[device].name, indices.size(),
                         schedule.dispatches.size());
    auto index = kernels_[device].add(function);
    if (index)
      if (Status s = checkSizes(kernels_[device].kernel(*index), function,
                                targets_[device]);
          !s.ok())
        index = s;
    if (!index) {
      Status status = diagnostics_.take(index.status());
      if (status.code() != BP_STATUS_UNIMPLEMENTED)
        return status;
      refuse(function, status);
      refused = status.within("target " + targets_[device].name +
                              " cannot run " + describeOps(function));
      if (targets_.size() == 1)
        return refused;
    }
    indices.push_back(index ? *index : 0);
  }
  if (!refused.ok())
    return refused;
  return indices;
}

/// Compiles each dispatch and completes the commands that run it.
Status VariantCompiler::addKernels(ModuleOp module, Schedule &schedule) {
  Phase phase(services_, "kernels");
  auto indices = compileKernels(module, schedule);
  if (!indices)
    return indices.status();
  SymbolTable functions(module);
  for (auto [scheduled, index] : llvm::zip(schedule.dispatches, *indices)) {
    auto function = functions.lookup<func::FuncOp>(scheduled.function);
    const Target &target = targets_[bp::deviceOf(function)];
    KernelCompiler &kernels = kernels_[bp::deviceOf(function)];
    fb::ProgramT &program = scheduled.init ? schedule.init : schedule.program;
    auto *dispatch = program.commands[scheduled.command]->body.AsDispatch();
    size_t most = target.maxConstants ? target.maxConstants : BP_MAX_CONSTANTS;
    if (dispatch->constants.size() > most)
      return unimplemented(scheduled.function + " uses " +
                           std::to_string(dispatch->constants.size()) +
                           " symbols, the target passes " +
                           std::to_string(most) +
                           "; give some of the model's sizes numbers");
    KernelCompiler::Place place = kernels.placeOf(index);
    dispatch->executable = place.executable;
    dispatch->entry = place.entry;
    auto needs = kernels.needs(index, dispatch->constants);
    if (!needs)
      return needs.status().within(scheduled.function);
    dispatch->grid.assign(needs->grid.begin(), needs->grid.end());
    dispatch->workspace = std::move(needs->workspace);
    dispatch->flops = std::move(needs->flops);
    scheduled.inPlace = kernels.kernel(index).inPlace;
  }
  dispatches_ += schedule.dispatches.size();
  return {};
}

/// Links the kernels of each device. Until then a dispatch counts the
/// executables of its own device.
Status VariantCompiler::addExecutables() {
  Phase phase(services_, "link");
  size_t kernelCount = 0, hits = 0;
  std::vector<uint32_t> first;
  for (auto [device, kernels] : llvm::enumerate(kernels_)) {
    kernelCount += kernels.count();
    hits += kernels.cacheHits();
    first.push_back(uint32_t(variant_->executables.size()));
    auto executables = kernels.executables();
    if (!executables)
      return diagnostics_.take(executables.status());
    for (auto &executable : *executables) {
      executable->device = uint8_t(device);
      variant_->executables.push_back(std::move(executable));
    }
  }
  forEachProgram(*variant_, [&](fb::ProgramT &program) {
    for (auto &command : program.commands)
      if (auto *dispatch = command->body.AsDispatch())
        dispatch->executable +=
            first[program.slots[dispatch->bindings.front()->slot]->device];
  });
  variant_->report.push_back(std::to_string(dispatches_) +
                             " dispatches share " +
                             std::to_string(kernelCount) + " kernels");
  // Not in the report: equal models give equal bytes.
  if (services_.log)
    services_.log(BP_LOG_DEBUG,
                  std::to_string(hits) + " kernels came from the cache");
  return {};
}

void VariantCompiler::addReport(ModuleOp module) {
  if (auto report = module->getAttrOfType<ArrayAttr>("bp.report"))
    for (auto line : report.getAsRange<StringAttr>())
      variant_->report.push_back(line.str());
}

/// `name` starts the names of stages: empty for the model itself.
Result<fb::ProgramT>
VariantCompiler::compileProgram(const Graph &graph, const std::string &name,
                                std::optional<unsigned> device) {
  auto ops = primitives(graph, device.value_or(0), !device);
  if (!ops)
    return ops.status();
  OwningOpRef<ModuleOp> module = bp::importGraph(context_, *ops);
  if (!module)
    return diagnostics_.take(internalError("the graph has no module"));
  dump_.write(name + "import", *module);
  if (!dump_.status().ok())
    return dump_.status();
  if (auto status = optimize(*module, graph, device); !status.ok())
    return status.within("optimize");
  dump_.write(name + "optimize", *module);
  if (!device)
    return splitProgram(*module, graph, name);
  if (*device != 0)
    for (Operation &op : module->lookupSymbol<func::FuncOp>("main")
                             .front()
                             .without_terminator())
      op.setAttr(bp::deviceAttr, Builder(&context_).getI64IntegerAttr(*device));
  return finishProgram(*module, graph, name);
}

/// From ops with devices to a program.
Result<fb::ProgramT> VariantCompiler::finishProgram(ModuleOp module,
                                                    const Graph &graph,
                                                    const std::string &name) {
  if (auto status = compileRegions(module, graph); !status.ok())
    return status;
  if (auto status = formDispatches(module); !status.ok())
    return status.within("fusion");
  dump_.write(name + "fusion", module);
  auto schedule = backplane::schedule(module, weights_, constants_);
  if (!schedule)
    return diagnostics_.take(schedule.status()).within("schedule");
  addReport(module);
  if (auto status = addKernels(module, *schedule); !status.ok())
    return status;
  if (!dump_.status().ok())
    return dump_.status();
  if (auto status = finishSchedule(module, *schedule); !status.ok())
    return status.within("schedule");
  llvm::append_range(variant_->report, schedule->report);
  constants_ = schedule->constants;
  appendInit(init_, std::move(schedule->init));
  return std::move(schedule->program);
}

Result<std::unique_ptr<fb::VariantT>> VariantCompiler::run(const Graph &graph) {
  variant_ = std::make_unique<fb::VariantT>();
  addDevices();
  auto program = compileProgram(
      graph, "", targets_.size() == 1 ? std::optional(0u) : std::nullopt);
  if (!program)
    return program.status();
  variant_->program = std::make_unique<fb::ProgramT>(std::move(*program));
  if (!init_.commands.empty())
    variant_->init = std::make_unique<fb::ProgramT>(std::move(init_));
  if (auto status = addExecutables(); !status.ok())
    return status;
  dropUnusedDevices();
  return std::move(variant_);
}
