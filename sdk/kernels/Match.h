// SPDX-License-Identifier: Apache-2.0
//
// Match.h: where registered kernels compute what a model asks for.
//
// matchKernels looks for the graphs of kernels in `main` and marks their ops,
// fusion makes a dispatch of each group of them, kernelMatchOf says how it is
// called.
#ifndef BACKPLANE_KERNELS_MATCH_H
#define BACKPLANE_KERNELS_MATCH_H

#include "sdk/dialect/Graph.h"
#include "sdk/kernels/RegisteredKernel.h"

#include <functional>
#include <memory>
#include <set>

namespace bp {

/// Kernels of one target, as backplane::Target has them.
using RegisteredKernels =
    llvm::ArrayRef<std::shared_ptr<const backplane::RegisteredKernel>>;

/// A graph of a kernel, in the form that models have after `optimize`.
struct KernelPattern {
  const backplane::RegisteredKernel *kernel = nullptr;
  size_t number = 0;       ///< of the kernel, among those of its target
  size_t graph = 0;        ///< in kernel->text.graphs
  mlir::func::FuncOp main; ///< computes it, in a module with its symbols
  /// What `main` has in the place of symbols of the text: a product for more
  /// axes (SplitAxis.h), or a number (FixSize.h).
  std::map<std::string, backplane::Dim> replaced;
};

/// Estimated ns of generated code for a graph of a kernel at sizes of its
/// symbols; none: it cannot be told. `fused` has the inputs of the graph, by
/// number, that generated code would compute in the same dispatch.
using GeneratedCost = std::function<std::optional<double>(
    const backplane::Graph &graph, const backplane::SymbolValues &sizes,
    const std::set<int32_t> &fused)>;

/// What matchKernels did, for the report of a variant.
struct KernelReport {
  std::vector<std::string> used;
  /// Where at least half of a graph's ops were found: the first difference.
  std::vector<std::string> nearMisses;
};

/// Marks the ops of `main` that kernels compute with `bp.kernel`
/// (sdk/fusion/KernelGroups.h), those of this device only. Where several
/// kernels match an op, the ones without a cost go first, then the least cost
/// for each op that they take, at the largest sizes; then the largest match. A
/// kernel with a cost is used where that is less than what `generated` says;
/// without it wherever it matches.
/// Takes time in proportion to the ops of `main` for each pattern.
KernelReport matchKernels(mlir::ModuleOp module, unsigned device,
                          llvm::ArrayRef<KernelPattern> patterns,
                          const GeneratedCost &generated = nullptr);

/// How a kernel computes a dispatch.
struct KernelMatch {
  const backplane::RegisteredKernel *kernel = nullptr;
  size_t graph = 0; ///< which of kernel->text.graphs the dispatch equals
  /// Each symbol of the text, in symbols of the dispatch.
  std::map<std::string, backplane::Dim> symbols;
  /// For each binding of the text, inputs before outputs, the number of the
  /// dispatch's binding, its inputs before its outputs; -1: absent. An input of
  /// the dispatch may stand for several bindings of the text.
  std::vector<int32_t> bindings;
};

/// The match that a dispatch of `main` was formed from, as its `bp.kernel`
/// says; none: code is generated for it, or it is a partition. `kernels` are
/// those of the dispatch's target, as when it was matched.
std::optional<KernelMatch> kernelMatchOf(mlir::func::FuncOp dispatch,
                                         RegisteredKernels kernels);

} // namespace bp

#endif // BACKPLANE_KERNELS_MATCH_H
