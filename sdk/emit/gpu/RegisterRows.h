// SPDX-License-Identifier: Apache-2.0
//
// RegisterRows.h: the softmax of an attention whose scores stay in the
// registers that matrix instructions leave them in: lanes that have a row
// together exchange its maximum and its sum. Private to this folder.
#ifndef BACKPLANE_EMIT_GPU_REGISTERROWS_H
#define BACKPLANE_EMIT_GPU_REGISTERROWS_H

#include "sdk/emit/gpu/MatrixScope.h"
#include "sdk/emit/gpu/ScoreReader.h"

namespace backplane {

class RegisterRows {
public:
  using Value = mlir::Value;
  using Values = llvm::SmallVector<mlir::Value>;

  /// Both scopes are within the loop of work-groups, and have the same rows.
  /// Weights are multiplied by two to the power of `exponent`.
  RegisterRows(const GpuAttention &attention, MatrixScope &scores,
               MatrixScope &product, int64_t exponent);

  /// How many values are carried from block to block.
  size_t carried() const { return 2 * rows.size(); }
  /// Finds out what rows see, which decides on the rows of this work-group; in
  /// front of all else.
  mlir::LogicalResult begin();
  /// What is carried from block to block, one after the other: the maximum of
  /// each row of this lane, and its part of their sums.
  Values start();
  /// Makes weights of the sums of a block of scores, the first of which is in
  /// column `first`. scaleSums() corrects earlier sums by what it found.
  mlir::FailureOr<Values> weigh(Value first, mlir::ValueRange carried,
                                Values &sums);
  /// One more than the last column that rows of this work-group see.
  Value endOfColumns() const { return lastEnd; }
  /// Finds the factors of the end.
  mlir::LogicalResult finish(mlir::ValueRange carried);
  /// Multiplies the sums of the product by the factors of their rows.
  void scaleSums(Values &sums);

private:
  void reverseTiles();
  Value withinColumns(Value end);
  mlir::LogicalResult findTileEnds(bool repeats);
  size_t rowOf(const MatrixScope &scope, size_t number) const;
  Value rowAt(size_t row);
  mlir::FailureOr<Values> prepare(Value first, mlir::ValueRange sums);
  Values hideBeyond(Value first, mlir::ValueRange scores);
  Value columnOf(Value first, size_t number);
  Value meet(Value own, llvm::function_ref<Value(Value, Value)> combine);

  const GpuAttention &attention;
  MatrixScope &scores, &product;
  mlir::ImplicitLocOpBuilder &b;
  ScoreReader reader;
  int64_t exponent;
  /// Sums stand for scores, which the powers scale by this, where nothing else
  /// is made of them.
  std::optional<double> onlyScale;
  llvm::SmallVector<int64_t> rows; ///< of this lane, from its first one
  MatrixPlaceValues own;           ///< the place of the first score in the tile
  Values factors;                  ///< per row
  /// One more than the last column: that each row sees, the first row of the
  /// tile, and any.
  Values ends;
  Value firstEnd, lastEnd;
};

} // namespace backplane

#endif // BACKPLANE_EMIT_GPU_REGISTERROWS_H
