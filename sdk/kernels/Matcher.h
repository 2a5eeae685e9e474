// SPDX-License-Identifier: Apache-2.0
//
// Matcher.h: one pattern at one op of a model. Private to sdk/kernels.
#ifndef BACKPLANE_KERNELS_MATCHER_H
#define BACKPLANE_KERNELS_MATCHER_H

#include "sdk/dialect/Describe.h"
#include "sdk/fusion/SymbolReads.h"
#include "sdk/kernels/Fills.h"
#include "sdk/kernels/PatternPlan.h"

namespace bp {

/// What is asked of a model again and again.
struct MatchedModel {
  MatchedModel(mlir::ModuleOp module, mlir::func::FuncOp main);

  const Fills *fills = nullptr; ///< never null while it is matched
  bool hasReshapes = false;
  SymbolReads reads;
  llvm::DenseMap<mlir::Operation *, unsigned> positions;
  /// Symbols that have a divisor, as multiples of another of that name.
  std::map<std::string, backplane::Dim, std::less<>> multiples;
  backplane::SymbolRanges ranges;  ///< of those others
  backplane::SymbolValues largest; ///< of the model's own symbols
};

/// Values of a model by those of a pattern.
using ValueMap = llvm::DenseMap<mlir::Value, mlir::Value>;

/// A reshape of the model between ops of a match, where the pattern has one
/// value.
struct InnerReshape {
  mlir::Operation *op;
  mlir::Value value; ///< of the pattern
};

/// Where a pattern was found, or how far it was.
struct PatternMatch {
  const PatternPlan *plan = nullptr;
  bool found = false;
  std::vector<mlir::Operation *> ops; ///< of each step
  std::vector<bool> swapped;          ///< operands of each step
  std::vector<InnerReshape> reshapes;
  std::map<std::string, backplane::Dim> symbols; ///< of the text
  size_t agreed = 0;      ///< steps before the first difference
  std::string difference; ///< empty unless at least half agreed
};

/// Looks for a pattern whose first step is `root`, among ops of the device.
PatternMatch matchAt(const MatchedModel &model, const PatternPlan &plan,
                     mlir::Operation *root);

/// What a value is a reshape of, through any number of them.
mlir::Value sourceOfReshapes(mlir::Value value);

} // namespace bp

#endif // BACKPLANE_KERNELS_MATCHER_H
