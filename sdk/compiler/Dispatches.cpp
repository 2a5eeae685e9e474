// SPDX-License-Identifier: Apache-2.0
//
// Dispatches.cpp: from groups of ops to dispatches, and from dispatches to
// kernels.
#include "sdk/compiler/Variant.h"
#include "sdk/dialect/Attributes.h"
#include "sdk/dialect/Describe.h"

#include "sdk/compiler/Phase.h"
#include "sdk/fusion/Fusion.h"
#include "sdk/fusion/KernelGroups.h"
#include "sdk/optimize/Passes.h"
#include "sdk/package/Check.h"

#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Transforms/Passes.h"

#include "llvm/ADT/StringExtras.h"

#include <set>

using namespace mlir;
using namespace backplane;

static Status moveTables(VariantContext &context, ModuleOp module) {
  bool needed = llvm::any_of(context.targets, [](const Target &target) {
    const Emitter *emitter = findEmitter(target.emitter);
    return emitter && !emitter->hasConstantMemory;
  });
  if (!needed)
    return {};
  return runPasses(module, context.diagnostics, [&](OpPassManager &manager) {
    manager.addPass(bp::createMoveTablesPass(&context.pool));
    manager.addPass(createCSEPass());
  });
}

Status backplane::fuse(VariantContext &context, ModuleOp module) {
  Phase phase(context.services, stage::fusion.name);
  if (auto status = moveTables(context, module); !status.ok())
    return status;
  std::vector<bp::FusionOptions> devices;
  for (const Target &target : context.targets) {
    bp::FusionOptions options;
    options.fusion = target.fusion;
    options.maxBindings = target.maxBindings;
    options.maxOps = target.maxFusedOps;
    options.claim = [&](const Graph &group) {
      Claim claim = askClaim(context.services, target, group);
      if (!claim.answered)
        return bp::ClaimAnswer{};
      return bp::ClaimAnswer{claim.supported, claim.costNs, claim.reason};
    };
    devices.push_back(std::move(options));
  }
  if (failed(bp::formDispatches(module, devices)) ||
      failed(mlir::verify(module)))
    return context.diagnostics.take(
        internalError("dispatches cannot be formed"));
  return {};
}

/// "add (/a) of f32": each op of a dispatch, and the dtypes that it uses.
static std::string describeOps(func::FuncOp dispatch) {
  auto ops = llvm::map_range(dispatch.front().without_terminator(),
                             [](Operation &op) { return bp::describe(&op); });
  std::set<std::string> dtypes;
  for (ArrayRef<Type> types :
       {dispatch.getArgumentTypes(), dispatch.getResultTypes()})
    for (Type type : types)
      if (auto tensor = bp::toTensorType(type))
        dtypes.insert(std::string(name(tensor->dtype)));
  return llvm::join(ops, ", ") + " of " + llvm::join(dtypes, ", ");
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
  uint64_t workspace = target.workspaceLimit ? std::min(target.workspaceLimit,
                                                        limits::workspaceBytes)
                                             : limits::workspaceBytes;
  for (const KernelLaunch &launch : kernel.launches) {
    for (const std::string &size : launch.grid)
      if (Status s = within(size, "a grid", UINT32_MAX); !s.ok())
        return s;
    if (Status s = within(launch.workspace, "a workspace in bytes", workspace);
        !s.ok())
      return s;
    if (Status s = within(launch.sharedBytes, "shared memory in bytes",
                          limits::sharedBytes);
        !s.ok())
      return s;
  }
  for (ArrayRef<Type> types :
       {dispatch.getArgumentTypes(), dispatch.getResultTypes()})
    for (Type type : types)
      if (Status s = within(bp::toTensorType(type)->bytes().str(),
                            "a tensor in bytes", uint64_t(1) << 62);
          !s.ok())
        return s;
  return within(kernel.scratch, "scratch in bytes", uint64_t(1) << 62);
}

/// Which inputs of a dispatch are weights.
static WeightInputs weightsOf(const VariantContext &context,
                              const Schedule &schedule,
                              const std::vector<std::string> &ids,
                              const ScheduledDispatch &scheduled) {
  const Program &program = scheduled.init ? schedule.init : schedule.program;
  const auto &dispatch =
      std::get<program::Dispatch>(program.commands[scheduled.command]);
  WeightInputs weights;
  for (size_t i = 0; i + scheduled.results < dispatch.bindings.size(); ++i) {
    const Slot &slot = program.slots[dispatch.bindings[i].slot];
    if (slot.kind == SlotKind::Weight)
      weights.add({ids[slot.index], context.pool.find(ids[slot.index])});
    else
      weights.add({});
  }
  return weights;
}

/// The kernels of a dispatch, by their numbers on its device.
struct DispatchKernels {
  size_t kernel = 0;
  std::optional<size_t> native; ///< in its place, where it is there
};

/// The registered kernel of a dispatch if it has one, and generated code, which
/// may be a job, unless the registered one is code.
static Result<DispatchKernels> addKernel(KernelCompiler &kernels,
                                         func::FuncOp function,
                                         const WeightInputs &weights,
                                         const Target &target, Draft &draft) {
  auto add = [&](KernelCompiler::By by) {
    auto index = kernels.add(function, weights, by);
    return index ? Result<DispatchKernels>({*index, std::nullopt})
                 : Result<DispatchKernels>(index.status());
  };
  if (bp::partitionOf(function))
    return add(KernelCompiler::By::Plugin);
  auto registered = kernels.addRegistered(function, weights);
  Status refused = registered.status();
  if (registered && *registered)
    refused = checkSizes(kernels.kernel(**registered), function, target);
  if (!refused.ok())
    draft.report.push_back(refused.message() + "; generated code runs instead");
  bool used = refused.ok() && *registered;
  if (used && !kernels.kernel(**registered).native)
    return DispatchKernels{**registered, std::nullopt};
  auto added = add(KernelCompiler::By::Either);
  if (added && used)
    added->native = *registered;
  return added;
}

/// Why the kernel that was asked for does not compute a dispatch.
static Status notByKernel(const VariantContext &context, func::FuncOp function,
                          const Draft &draft) {
  std::string text =
      "kernel " + context.kernel + " does not compute " + describeOps(function);
  for (const std::string &line : draft.report)
    if (line.starts_with("kernel " + context.kernel) &&
        line.find(" is n") != line.npos)
      text += "; " + line;
  return Status(BP_STATUS_FAILED_PRECONDITION, text);
}

/// The kernel of a dispatch where the request names the one: no other code.
static Result<DispatchKernels>
addNamedKernel(VariantContext &context, func::FuncOp function, unsigned device,
               const WeightInputs &weights, const Draft &draft) {
  KernelCompiler &kernels = context.kernels[device];
  auto registered = kernels.addRegistered(function, weights);
  if (!registered)
    return registered.status();
  if (!*registered)
    return notByKernel(context, function, draft);
  if (Status s = checkSizes(kernels.kernel(**registered), function,
                            context.targets[device]);
      !s.ok())
    return s.within("kernel " + context.kernel);
  return DispatchKernels{**registered, std::nullopt};
}

namespace {

/// The kernels of all dispatches of a program. A device that cannot make one is
/// noted when another one could.
class ProgramKernels {
public:
  ProgramKernels(VariantContext &context, ModuleOp module,
                 const Schedule &schedule, Draft &draft, Refusals &refusals)
      : context_(context), schedule_(schedule), draft_(draft),
        refusals_(refusals), functions_(module) {}

  Status compile() {
    Status stop;
    for (const ScheduledDispatch &scheduled : schedule_.dispatches)
      if (stop = add(scheduled); !stop.ok())
        break;
    generate();
    for (auto [scheduled, kernels] : llvm::zip(schedule_.dispatches, all_))
      if (Status s = check(scheduled, kernels); !s.ok())
        return s;
    return stop.ok() ? refused_ : stop;
  }
  /// Of each dispatch, once compile has succeeded.
  const DispatchKernels &operator[](size_t dispatch) const {
    return *all_[dispatch];
  }

private:
  Status add(const ScheduledDispatch &scheduled);
  void generate();
  Status check(const ScheduledDispatch &scheduled,
               const std::optional<DispatchKernels> &kernels);
  Status refuse(func::FuncOp function, const Status &status);
  Status refuse(const bp::KernelMatch &match, const Status &status);

  VariantContext &context_;
  const Schedule &schedule_;
  Draft &draft_;
  Refusals &refusals_;
  SymbolTable functions_;
  std::vector<std::optional<DispatchKernels>> all_; ///< none: refused
  Status refused_;
};

} // namespace

/// Without the kernel whose IR made no code of a dispatch.
Status ProgramKernels::refuse(const bp::KernelMatch &match,
                              const Status &status) {
  std::string name = match.kernel->fullName();
  if (!context_.kernel.empty())
    return status.within("kernel " + name);
  refusals_.kernels.insert(name);
  refusals_.report.push_back("kernel " + name +
                             " is not used: " + status.message());
  refused_ = status.within("kernel " + name);
  return refused_;
}

/// Fails when that does not help.
Status ProgramKernels::refuse(func::FuncOp function, const Status &status) {
  if (status.code() != BP_STATUS_UNIMPLEMENTED)
    return status;
  if (auto match = bp::kernelMatchOf(
          function, context_.targets[bp::deviceOf(function)].kernels);
      match && !match->kernel->ir.empty())
    return refuse(*match, status);
  size_t known = refusals_.ops.size();
  ::refuse(context_, function, status, refusals_);
  const Target &target = context_.targets[bp::deviceOf(function)];
  refused_ = status.within("target " + target.name + " cannot run " +
                           describeOps(function));
  bool isLast = context_.targets.size() == 1; // no other cut helps
  return isLast && refusals_.ops.size() != known ? refused_ : Status();
}

/// Finds or begins the kernels of the next dispatch.
Status ProgramKernels::add(const ScheduledDispatch &scheduled) {
  auto function = functions_.lookup<func::FuncOp>(scheduled.function);
  unsigned device = bp::deviceOf(function);
  const Target &target = context_.targets[device];
  KernelCompiler &kernels = context_.kernels[device];
  if (context_.services.progress)
    context_.services.progress("kernels for " + target.name, all_.size(),
                               schedule_.dispatches.size());
  WeightInputs weights =
      weightsOf(context_, schedule_, draft_.weights, scheduled);
  // A named kernel computes all dispatches but constants that it reads.
  bool isFree = context_.kernel.empty() || function.getNumArguments() == 0;
  auto added =
      isFree ? addKernel(kernels, function, weights, target, draft_)
             : addNamedKernel(context_, function, device, weights, draft_);
  llvm::append_range(draft_.report, kernels.takeReport());
  all_.push_back(added ? std::optional(*added) : std::nullopt);
  if (!added)
    return refuse(function, context_.diagnostics.take(added.status()));
  return {};
}

/// Generates what is missing, for all devices at once.
void ProgramKernels::generate() {
  emitKernels(context_.jobs, context_.services, context_.kernelDump());
  for (KernelCompiler &kernels : context_.kernels)
    kernels.takeGenerated();
  context_.jobs.clear();
}

Status ProgramKernels::check(const ScheduledDispatch &scheduled,
                             const std::optional<DispatchKernels> &kernels) {
  if (!kernels)
    return {};
  auto function = functions_.lookup<func::FuncOp>(scheduled.function);
  unsigned device = bp::deviceOf(function);
  const KernelCompiler &compiler = context_.kernels[device];
  Status status = compiler.status(kernels->kernel).within(scheduled.function);
  if (status.ok())
    for (const std::string &note : compiler.kernel(kernels->kernel).notes)
      draft_.report.push_back("'" + scheduled.function + "' on " +
                              context_.targets[device].name + ": " + note);
  if (status.ok() && context_.kernel.empty())
    status = checkSizes(compiler.kernel(kernels->kernel), function,
                        context_.targets[device]);
  return status.ok() ? status : refuse(function, status);
}

static void addReport(ModuleOp module, Draft &draft) {
  if (auto report = module->getAttrOfType<ArrayAttr>(bp::reportAttr))
    for (auto line : report.getAsRange<StringAttr>())
      draft.report.push_back(line.str());
}

/// How a dispatch runs a kernel.
static Result<KernelUse> useOf(KernelCompiler &kernels, size_t index,
                               KernelOrders &orders,
                               program::Dispatch &dispatch) {
  KernelUse use;
  std::tie(use.executable, use.entry) = kernels.entryOf(index, orders);
  std::vector<std::string> symbols;
  for (const Dim &constant : dispatch.constants)
    symbols.push_back(*constant.symbolName());
  auto needs = kernels.needs(index, symbols);
  if (!needs)
    return needs.status();
  // What each of several launches has of them is not known.
  if (needs->launches.size() == 1)
    dispatch.flops = std::move(needs->flops);
  use.launches = std::move(needs->launches);
  use.scratch = std::move(needs->scratch);
  use.initLaunches = std::move(needs->initLaunches);
  use.persistentBytes = needs->persistentBytes;
  use.inPlace = kernels.kernel(index).inPlace;
  return use;
}

static Status checkConstants(const program::Dispatch &dispatch,
                             const ScheduledDispatch &scheduled,
                             const Target &target) {
  size_t most = target.maxConstants ? target.maxConstants : BP_MAX_CONSTANTS;
  if (dispatch.constants.size() <= most)
    return {};
  return unimplemented(scheduled.function + " uses " +
                       std::to_string(dispatch.constants.size()) +
                       " symbols, the target passes " + std::to_string(most) +
                       "; give some of the model's sizes numbers");
}

Status backplane::makeKernels(VariantContext &context, ModuleOp module,
                              Schedule &schedule, Draft &draft,
                              Refusals &refusals) {
  Phase phase(context.services, "kernels");
  addReport(module, draft);
  ProgramKernels compiled(context, module, schedule, draft, refusals);
  if (Status s = compiled.compile(); !s.ok())
    return s;
  SymbolTable functions(module);
  for (auto [i, scheduled] : llvm::enumerate(schedule.dispatches)) {
    const DispatchKernels &made = compiled[i];
    unsigned device =
        bp::deviceOf(functions.lookup<func::FuncOp>(scheduled.function));
    KernelCompiler &kernels = context.kernels[device];
    KernelOrders &orders = draft.kernels[device];
    Program &program = scheduled.init ? schedule.init : schedule.program;
    auto &dispatch =
        std::get<program::Dispatch>(program.commands[scheduled.command]);
    if (Status s = checkConstants(dispatch, scheduled, context.targets[device]);
        !s.ok())
      return s;
    auto use = useOf(kernels, made.kernel, orders, dispatch);
    if (!use)
      return use.status().within(scheduled.function);
    scheduled.kernel = std::move(*use);
    if (!made.native)
      continue;
    auto native = useOf(kernels, *made.native, orders, dispatch);
    if (!native)
      return native.status().within(scheduled.function);
    scheduled.native = std::move(*native);
  }
  draft.dispatches += schedule.dispatches.size();
  return {};
}
