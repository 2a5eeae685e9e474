// SPDX-License-Identifier: Apache-2.0
//
// PatternPlan.h: in which order the ops of a pattern are looked for. Private to
// sdk/kernels.
#ifndef BACKPLANE_KERNELS_PATTERNPLAN_H
#define BACKPLANE_KERNELS_PATTERNPLAN_H

#include "sdk/kernels/Match.h"

namespace bp {

/// An op of a pattern, found from a value that is known by then.
struct PatternStep {
  mlir::Operation *op;
  mlir::Value via;    ///< null: the first op
  bool forward;       ///< the op uses `via`, else it defines it
  bool isCommutative; ///< its two operands may change places
  /// It computes from inputs alone what costs nothing: it may be used outside,
  /// too, as the kernel gets a copy.
  bool isShared;
};

struct PatternPlan {
  KernelPattern pattern;
  std::vector<PatternStep> steps;
  /// The number of each input and output in the bindings of the text.
  llvm::DenseMap<mlir::Value, int32_t> inputs, outputs;

  const backplane::KernelText &text() const { return pattern.kernel->text; }
};

/// Fails with the reason why such a graph is never matched: optimizing it has
/// left nothing of an input or an output, or its ops do not hang together.
backplane::Result<PatternPlan> planPattern(const KernelPattern &pattern);

} // namespace bp

#endif // BACKPLANE_KERNELS_PATTERNPLAN_H
