// SPDX-License-Identifier: Apache-2.0
//
// ContractDots.h: a matrix times a few vectors, as dot products: lanes are
// elements of k, so that each load of A feeds a vector of products for every
// column, where a column for each lane would leave most of them idle. Private
// to this folder.
#ifndef BACKPLANE_EMIT_CPU_CONTRACTDOTS_H
#define BACKPLANE_EMIT_CPU_CONTRACTDOTS_H

#include "sdk/emit/cpu/ContractEpilogue.h"

namespace backplane {

class DotsBuilder : ContractScope {
public:
  explicit DotsBuilder(const ContractScope &scope);
  void run();

private:
  using Sums = llvm::SmallVector<mlir::Value>;
  /// Some rows of the group, from the first one on.
  struct Tile {
    mlir::Value first;
    int64_t rows;
  };
  mlir::Value startOfColumn(int64_t column) const;
  void packColumns();
  void runTile(const Tile &tile);
  Sums multiply(llvm::ArrayRef<mlir::Value> startsOfA);
  Sums addProducts(llvm::ArrayRef<mlir::Value> startsOfA, mlir::Value k,
                   mlir::Value mask, mlir::ValueRange sums);
  mlir::Value joinHalves(mlir::Value a, mlir::Value b, int64_t half);
  mlir::Value sumLanes(Sums sums);
  void finish(const Tile &tile, mlir::ValueRange sums);

  int64_t columns, sizeK, wholeK; ///< elements of k in whole vectors
  mlir::Value packed;             ///< columns of B, each in whole vectors
  ContractEpilogue epilogue;
};

} // namespace backplane

#endif // BACKPLANE_EMIT_CPU_CONTRACTDOTS_H
