// SPDX-License-Identifier: Apache-2.0
//
// Kernels.h: from dispatches to executables: dispatches that are equal but for
// names share a kernel, known ones come from the cache, the rest goes to the
// plug-in's `compile` or through `lower` and the emitter.
#ifndef BACKPLANE_COMPILER_KERNELS_H
#define BACKPLANE_COMPILER_KERNELS_H

#include "sdk/compiler/KernelPack.h"
#include "sdk/compiler/Target.h"
#include "sdk/package/Artifact.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace backplane {

/// Called after each stage of a kernel when IR dumps are wanted.
using KernelDump = std::function<void(llvm::StringRef stage, mlir::ModuleOp)>;

/// Compiles kernels for one target.
class KernelCompiler {
public:
  KernelCompiler(const CompileServices &services, const Target &target,
                 KernelDump dump)
      : services_(services), target_(target), dump_(std::move(dump)) {}

  /// The number of the kernel of this dispatch, which is not in the executables
  /// yet. Failures name the dispatch.
  Result<size_t> add(mlir::func::FuncOp dispatch);
  const Kernel &kernel(size_t index) const { return kernels_[index]; }
  /// What a kernel needs where its symbols have these names, as expressions.
  struct Needs {
    std::array<std::string, 3> grid;
    std::string workspace; ///< empty: a plain number, which its entry holds
    std::string flops;
  };
  Result<Needs> needs(size_t index,
                      const std::vector<std::string> &symbols) const;
  /// Kernels that have a place.
  size_t count() const { return order_.size(); }
  /// Takes the places that kernels got after there were `count` of them.
  void rewind(size_t count);
  size_t cacheHits() const { return hits_; }

  /// Where kernel i ends, which it now does: its executable and entry.
  struct Place {
    uint32_t executable, entry;
  };
  Place placeOf(size_t kernel);
  /// All executables: one when the target's emitter links, else one a kernel.
  Result<std::vector<std::unique_ptr<fb::ExecutableT>>> executables();

private:
  /// `graph` is the dispatch without names, `symbols` are its own.
  Result<Kernel> compile(mlir::func::FuncOp dispatch,
                         const std::vector<std::string> &symbols,
                         const Graph &graph, const std::string &name);
  Result<Kernel> compileByPlugin(const Graph &graph, const std::string &name);
  Result<Kernel> emit(mlir::func::FuncOp dispatch, const std::string &name);
  std::string keyOf(const Bytes &wire) const;
  bool links() const { return !target_.emitter.empty(); }

  const CompileServices &services_;
  const Target &target_;
  KernelDump dump_;
  std::vector<Kernel> kernels_;
  std::vector<size_t> order_;         ///< those with a place
  std::map<size_t, uint32_t> places_; ///< where in the order a kernel is
  std::map<std::string, size_t> byKey_;
  size_t hits_ = 0;
};

} // namespace backplane

#endif // BACKPLANE_COMPILER_KERNELS_H
