// SPDX-License-Identifier: Apache-2.0
//
// AttentionRows.h: what a work-group does with the scores of its rows and a
// block of columns: from scores to weights, with a few neighbouring
// invocations, a team, for each row. Private to this folder.
#ifndef BACKPLANE_EMIT_GPU_ATTENTIONROWS_H
#define BACKPLANE_EMIT_GPU_ATTENTIONROWS_H

#include "sdk/emit/gpu/ScoreReader.h"

#include <functional>

namespace backplane {

/// A block of scores in memory of the work-group.
struct ScoreTile {
  int64_t rows, columns;
  /// Neighbouring columns whose weights are kept at once.
  int64_t width;
  /// Neighbouring columns of a row, in front of those of the next one, that lie
  /// in different banks.
  int64_t span;
  std::function<mlir::Value(mlir::Value row, mlir::Value column)> load;
  std::function<void(mlir::Value row, mlir::Value column, mlir::Value score)>
      store;
  /// Keeps weights, f32, for the second product.
  std::function<void(mlir::Value row, mlir::Value column,
                     mlir::ValueRange weights)>
      keep;
};

class AttentionRows {
public:
  using Value = mlir::Value;
  using Values = llvm::SmallVector<mlir::Value>;

  /// `scores` and `product` are within the loop of work-groups.
  AttentionRows(const GpuAttention &attention, ContractScope &scores,
                ContractScope &product, ScoreTile tile);
  /// Words of memory of the work-group that it takes.
  static int64_t words(const GpuAttention &attention, int64_t rows) {
    return attention.scores.target.groupSize + rows;
  }

  /// A pass for a reduction: what an invocation has of it at first, after the
  /// block from `first` on, and after all blocks, when it is known.
  Value startReduction(const RowReduction &reduction);
  mlir::FailureOr<Value> reduce(const RowReduction &reduction, Value first,
                                Value partial);
  void finishReduction(const RowReduction &reduction, Value partial);

  /// The last pass: what an invocation carries from block to block, and the
  /// weights of a block. A barrier stands at the end.
  Values start();
  mlir::FailureOr<Values> weigh(Value first, mlir::ValueRange carried);
  /// Whether earlier sums of a row are to be multiplied by `factor` then.
  bool corrects() const { return attention.softmax.has_value(); }
  /// What sums of this row are multiplied by: after a block, and at the end.
  Value factor(Value row);
  /// Finds the factors of the end.
  mlir::LogicalResult finish(mlir::ValueRange carried);

private:
  mlir::FailureOr<Values> forColumns(mlir::ValueRange carried,
                                     ContractScope::Step step);
  Value insideOf(Value first, Value column);
  mlir::FailureOr<Value> readWhole(Value tensor, Value first, Value column);
  mlir::FailureOr<Values> weighSoftmax(Value first, mlir::ValueRange carried);
  mlir::FailureOr<Value> ownScore(Value first, Value column);
  mlir::FailureOr<Value> largestScore(Value first);
  mlir::LogicalResult prepareScores(Value first);
  Value keepPowers(Value top);
  Value meet(Value memory, Value own, Value start,
             llvm::function_ref<Value(Value, Value)> combine);
  void storeFactor(Value factor);

  const GpuAttention &attention;
  ContractScope &product;
  mlir::ImplicitLocOpBuilder &b;
  ScoreReader reader;
  ScoreTile tile;
  int64_t team;            ///< invocations of a row
  Value row, member;       ///< of this invocation in the tile, in its team
  Value rowAt;             ///< in the product
  Value partials, factors; ///< memory of the work-group
};

} // namespace backplane

#endif // BACKPLANE_EMIT_GPU_ATTENTIONROWS_H
