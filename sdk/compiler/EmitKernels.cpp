// SPDX-License-Identifier: Apache-2.0
#include "sdk/compiler/EmitKernels.h"

#include "sdk/compiler/FatalErrors.h"
#include "sdk/compiler/KernelInPlace.h"
#include "sdk/compiler/OnThreads.h"
#include "sdk/compiler/Phase.h"
#include "sdk/compiler/Stages.h"
#include "sdk/dialect/Graph.h"
#include "sdk/emit/Emit.h"
#include "sdk/lower/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"

#include <atomic>
#include <mutex>
#include <set>

using namespace mlir;
using namespace backplane;

EmitTarget backplane::emitTargetOf(const Target &target) {
  return {.triple = target.triple,
          .cpu = target.cpu,
          .features = target.features,
          .vectorBits = target.vectorBits,
          .properties = target.properties};
}

/// The pipelines of a target for one dispatch.
static std::vector<EmitStage> stagesOf(const Target &target) {
  std::vector<EmitStage> stages;
  for (const StagePipeline &stage : target.stages)
    if (findStage(stage.stage)->pipelines == PipelineScope::Dispatch)
      stages.push_back({stage.stage, stage.pipeline});
  return stages;
}

static Kernel kernelOf(ObjectCode code) {
  KernelLaunch launch = {.name = std::move(code.entry.name),
                         .grid = std::move(code.entry.grid),
                         .workspace = std::move(code.entry.workspace),
                         .access = std::move(code.entry.access),
                         .constantCount = code.entry.constantCount,
                         .workgroup = code.entry.workgroup};
  if (code.entry.sharedBytes)
    launch.sharedBytes = std::to_string(code.entry.sharedBytes);
  for (uint32_t i = 0; i < launch.access.size(); ++i)
    launch.bindings.push_back({i, "", ""});
  return Kernel{.code = std::move(code.object),
                .launches = {std::move(launch)}};
}

namespace {

/// Collects the paths that a dispatch takes (sdk/emit/common/CodePaths.h).
class PathCollector : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit PathCollector(std::set<std::string> &paths) : paths_(paths) {}
  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    paths_.insert(remark.getRemarkName().str());
  }

private:
  std::set<std::string> &paths_;
};

/// What one thread generates code with.
class KernelEmitter {
public:
  explicit KernelEmitter(const KernelDump &dump)
      : context_(dialects(), MLIRContext::Threading::DISABLED),
        diagnostics_(context_),
        remarks_(&context_,
                 [this](Diagnostic &said) {
                   if (said.getSeverity() != DiagnosticSeverity::Remark)
                     return failure();
                   notes_.push_back(said.str());
                   return success();
                 }),
        dump_(dump) {
    context_.printOpOnDiagnostic(false);
    (void)remark::enableOptimizationRemarks(
        context_, std::make_unique<PathCollector>(paths_),
        std::make_unique<remark::RemarkEmittingPolicyAll>(),
        {.passed = "bp-.*"});
  }

  Result<Kernel> run(const EmitJob &job) {
    notes_.clear();
    paths_.clear();
    auto kernel = emit(job);
    Status status =
        diagnostics_.take(kernel ? Status() : Status(kernel.status()));
    return kernel ? kernel : Result<Kernel>(std::move(status));
  }

private:
  /// A module with the dispatch as its only function.
  OwningOpRef<ModuleOp> import(const EmitJob &job) {
    OwningOpRef<ModuleOp> module = bp::importGraph(context_, job.graph);
    if (!module)
      return {};
    auto function = module->lookupSymbol<func::FuncOp>("main");
    OpBuilder builder(&context_);
    SmallVector<mlir::Attribute> symbols;
    for (const backplane::Symbol &symbol : job.graph.symbols)
      symbols.push_back(builder.getStringAttr(symbol.name));
    function->setAttr(bp::dispatchAttr, builder.getUnitAttr());
    function->setAttr(bp::symbolsAttr, builder.getArrayAttr(symbols));
    function.setName(job.name);
    return module;
  }

  Result<Kernel> emit(const EmitJob &job) {
    OwningOpRef<ModuleOp> module = import(job);
    if (!module)
      return internalError("no module");
    PassManager manager(&context_);
    manager.addPass(bp::createLowerToLinalgPass());
    if (failed(manager.run(*module)))
      return unimplemented("cannot be lowered");
    if (job.ir && failed(applyTemplate(*module, *job.ir)))
      return unimplemented("its IR cannot be used");
    if (dump_)
      dump_(stage::lower.name, *module);
    std::vector<uint32_t> inPlace =
        inPlaceInputs(*module->getOps<func::FuncOp>().begin());
    EmitTarget target = emitTargetOf(*job.target);
    target.contract = mayContract(*job.target, job.graph);
    FailureOr<ObjectCode> object = compileDispatch(
        *module, *job.emitter, target, stagesOf(*job.target), dump_);
    if (failed(object))
      return unimplemented("cannot be emitted");
    Kernel kernel = kernelOf(std::move(*object));
    kernel.notes = notes_;
    if (!paths_.empty())
      kernel.notes.push_back("code paths " + llvm::join(paths_, ", "));
    kernel.inPlace = std::move(inPlace);
    keepReplaceable(kernel.inPlace, job.graph);
    return kernel;
  }

  MLIRContext context_;
  Diagnostics diagnostics_;
  /// Remarks of passes, for people.
  std::vector<std::string> notes_;
  std::set<std::string> paths_;
  ScopedDiagnosticHandler remarks_;
  const KernelDump &dump_;
};

/// Jobs that several threads take from, in order.
class Batch {
public:
  Batch(std::vector<EmitJob> &jobs, const CompileServices &services,
        const KernelDump &dump)
      : jobs_(jobs), services_(services), dump_(dump) {}

  /// Takes jobs until none is left.
  void work() {
    EmitJob *job = nullptr;
    Status status = catchFatalErrors([&] {
      std::optional<KernelEmitter> emitter;
      while ((job = take())) {
        if (!emitter)
          emitter.emplace(dump_);
        Phase phase(services_, job->name);
        job->kernel = emitter->run(*job);
        finish(*job);
      }
      return Status();
    });
    if (status.ok())
      return;
    job->kernel = std::move(status);
    failed_ = true;
  }

private:
  EmitJob *take() {
    size_t index = failed_ ? jobs_.size() : next_++;
    return index < jobs_.size() ? &jobs_[index] : nullptr;
  }

  void finish(const EmitJob &job) {
    if (job.kernel && services_.cachePut)
      services_.cachePut(job.key, packKernel(*job.kernel));
    if (!job.kernel && job.kernel.code() != BP_STATUS_UNIMPLEMENTED)
      failed_ = true;
    if (!services_.progress)
      return;
    // Made before: memory that is short must not leave the lock behind.
    const std::string what = "code for " + job.target->name;
    std::lock_guard<std::mutex> lock(mutex_);
    services_.progress(what, ++done_, jobs_.size());
  }

  std::vector<EmitJob> &jobs_;
  const CompileServices &services_;
  const KernelDump &dump_;
  std::atomic<size_t> next_ = 0;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
  size_t done_ = 0; ///< guarded by mutex_
};

} // namespace

void backplane::emitKernels(std::vector<EmitJob> &jobs,
                            const CompileServices &services,
                            const KernelDump &dump) {
  Batch batch(jobs, services, dump);
  size_t threads = dump ? 1 : std::min<size_t>(services.threads, jobs.size());
  runOnThreads(unsigned(threads), [&] { batch.work(); });
}
