// SPDX-License-Identifier: Apache-2.0
//
// Match.h: a dispatch that a registered kernel computes.
#ifndef BACKPLANE_KERNELS_MATCH_H
#define BACKPLANE_KERNELS_MATCH_H

#include "sdk/dialect/Graph.h"
#include "sdk/kernels/RegisteredKernel.h"

#include <memory>

namespace bp {

/// Kernels of one target, as backplane::Target has them.
using RegisteredKernels =
    llvm::ArrayRef<std::shared_ptr<const backplane::RegisteredKernel>>;

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
/// says; none: code is generated for it. `kernels` are those of the dispatch's
/// target, as when it was matched.
std::optional<KernelMatch> kernelMatchOf(mlir::func::FuncOp dispatch,
                                         RegisteredKernels kernels);

} // namespace bp

#endif // BACKPLANE_KERNELS_MATCH_H
