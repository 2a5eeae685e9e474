// SPDX-License-Identifier: Apache-2.0
//
// Kernels.h: from dispatches to executables: dispatches that are equal but for
// names share a kernel, known ones come from the cache, the rest goes to the
// plug-in's `compile` or becomes a job of EmitKernels.h.
#ifndef BACKPLANE_COMPILER_KERNELS_H
#define BACKPLANE_COMPILER_KERNELS_H

#include "sdk/compiler/DispatchDump.h"
#include "sdk/compiler/EmitKernels.h"
#include "sdk/compiler/WeightInputs.h"
#include "sdk/emit/Emit.h"
#include "sdk/program/Variant.h"
#include "sdk/schedule/Launch.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace backplane {

/// The kernels that the programs of a variant use on one device, in the order
/// in which they need them first.
class KernelOrder {
public:
  /// Where in the order a kernel is, from now on.
  uint32_t positionOf(size_t kernel);
  const std::vector<size_t> &kernels() const { return kernels_; }

private:
  std::vector<size_t> kernels_;
  std::map<size_t, uint32_t> positions_;
};

/// Those that are linked into one executable, and those that have one each.
struct KernelOrders {
  KernelOrder linked, own;

  size_t count() const {
    return linked.kernels().size() + own.kernels().size();
  }
  /// What the numbers of a device's executables start from: they leave 0 to
  /// what is linked.
  uint32_t first() const {
    return linked.kernels().empty() && !own.kernels().empty() ? 1 : 0;
  }
};

/// Compiles kernels for one target, each once. What is to be generated becomes
/// a job, as several can be done at once; plug-ins are called here, one call at
/// a time.
class KernelCompiler {
public:
  /// `jobs` gets the jobs of all targets.
  KernelCompiler(const CompileServices &services, const Target &target,
                 std::vector<EmitJob> &jobs)
      : services_(services), target_(target),
        emitter_(findEmitter(target.emitter)), jobs_(jobs) {}

  /// Who makes a kernel: the plug-in alone, or the emitter where it refuses.
  enum class By : uint8_t { Plugin, Either };
  /// The number of the kernel of this dispatch, which is there after
  /// takeGenerated. Failures name the dispatch.
  Result<size_t> add(mlir::func::FuncOp dispatch, const WeightInputs &weights,
                     By by = By::Either);
  /// The number of the registered kernel that the dispatch was formed for; none
  /// where it was not.
  Result<std::optional<size_t>> addRegistered(mlir::func::FuncOp dispatch,
                                              const WeightInputs &weights);
  /// Takes what the jobs of its kernels gave.
  void takeGenerated();
  /// Why a kernel is not there.
  const Status &status(size_t index) const { return made_[index].status; }
  const Kernel &kernel(size_t index) const { return made_[index].kernel; }
  /// What a kernel needs where its symbols have these names.
  struct Needs {
    std::vector<Launch> launches;
    std::optional<Dim> scratch;
    std::vector<Launch> initLaunches;
    uint64_t persistentBytes = 0;
    std::optional<Dim> flops;
  };
  Result<Needs> needs(size_t index,
                      const std::vector<std::string> &symbols) const;
  size_t cacheHits() const { return hits_; }
  /// What graph passes did since the last call.
  std::vector<std::string> takeReport() { return std::exchange(report_, {}); }

  /// Executable and first entry of a kernel, which joins the orders. Those of
  /// `own` start from 1.
  std::pair<uint32_t, uint32_t> entryOf(size_t kernel,
                                        KernelOrders &orders) const;
  /// One executable of what is linked, and one for each other kernel. Takes the
  /// code of the kernels.
  Result<std::vector<ExecutableInfo>> executables(const KernelOrders &orders);

private:
  struct Made {
    Kernel kernel;
    bool own;                  ///< it is not linked
    std::optional<size_t> job; ///< that is to generate it
    Status status;             ///< of its job
  };
  /// What graph passes make of a dispatch without names.
  Result<Graph> passed(const Graph &plain, const std::string &label);
  /// `questions` gets what the plug-in asked of weights.
  Result<Kernel> compileByPlugin(const Graph &graph,
                                 const WeightInputs &weights,
                                 const std::string &name,
                                 WeightQuestions &questions);
  Result<size_t> addByPlugin(const std::string &base, const Graph &plain,
                             const WeightInputs &weights,
                             const std::string &dispatch);
  Result<size_t> addByEmitter(const std::string &key, llvm::StringRef dispatch,
                              const Graph &graph,
                              std::optional<KernelTemplate> ir = {});
  std::optional<Kernel> cached(const std::string &key);
  size_t keep(const std::string &key, Kernel kernel, const Graph &graph,
              bool own);
  bool links() const { return !target_.emitter.empty(); }
  Status link(const KernelOrder &order, std::vector<ExecutableInfo> &result);

  const CompileServices &services_;
  const Target &target_;
  const Emitter *emitter_; ///< null: the plug-in's `compile`, or an unknown one
  std::vector<EmitJob> &jobs_;
  std::vector<Made> made_;
  std::map<std::string, size_t> byKey_;
  /// What was asked of weights for a key, which is then not all of the key.
  std::map<std::string, WeightQuestions> questions_;
  size_t hits_ = 0;
  std::vector<std::string> report_;
  DispatchDump dispatchDump_ = DispatchDump::fromEnvironment();
};

} // namespace backplane

#endif // BACKPLANE_COMPILER_KERNELS_H
