// SPDX-License-Identifier: Apache-2.0
//
// DimToIndex.h: dim expressions as IR.
//
// A dim rides through the compiler as text over symbols ("2 * n + 1", see
// sdk/graph/Dim.h); kernels get the symbols as `index` arguments. This
// turns the one into arithmetic on the other.
#ifndef BACKPLANE_LOWER_DIMTOINDEX_H
#define BACKPLANE_LOWER_DIMTOINDEX_H

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"

namespace bp {

class DimToIndex {
public:
  /// Says that this symbol is this value of type `index`.
  void bind(llvm::StringRef symbol, mlir::Value value);

  /// The value of an expression: an index attribute when it is a number, else
  /// arithmetic put at the builder's insertion point (constants folded). Fails,
  /// with a diagnostic at `loc`, on a syntax error or an unbound symbol.
  mlir::FailureOr<mlir::OpFoldResult> materialize(mlir::OpBuilder &builder,
                                                  mlir::Location loc,
                                                  llvm::StringRef text) const;

private:
  llvm::StringMap<mlir::Value> symbols;
};

} // namespace bp

#endif // BACKPLANE_LOWER_DIMTOINDEX_H
