// SPDX-License-Identifier: Apache-2.0
//
// SymbolReads.h: which ops need a size that data decide. They use its symbol in
// a type or an attribute, which no operand shows.
#ifndef BACKPLANE_FUSION_SYMBOLREADS_H
#define BACKPLANE_FUSION_SYMBOLREADS_H

#include "sdk/dialect/Bp.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace bp {

/// Moves what has no operands after the reads whose symbols it uses: constants
/// that are folded stand at the start of `main`.
void orderReads(mlir::func::FuncOp main);

class SymbolReads {
public:
  explicit SymbolReads(mlir::func::FuncOp main);

  /// The values of the reads whose symbols the op uses. A control op may use
  /// all that are read before it: its programs are not looked at.
  llvm::SmallVector<mlir::Value> neededBy(mlir::Operation *op) const;
  /// Those of symbols by name, as `bp.symbols` lists them.
  llvm::SmallVector<mlir::Value> neededBy(mlir::ArrayAttr symbols) const;

private:
  llvm::MapVector<mlir::StringAttr, ReadOp> reads_; ///< in order
};

} // namespace bp

#endif // BACKPLANE_FUSION_SYMBOLREADS_H
