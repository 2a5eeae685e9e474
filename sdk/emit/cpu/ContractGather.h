// SPDX-License-Identifier: Apache-2.0
//
// ContractGather.h: reads panels of a B whose columns do not lie next to each
// other, as the pixels of a convolution. Private to this folder.
#ifndef BACKPLANE_EMIT_CPU_CONTRACTGATHER_H
#define BACKPLANE_EMIT_CPU_CONTRACTGATHER_H

#include "sdk/emit/cpu/ContractScope.h"

namespace backplane {

/// For each column of the group, in `i32`: its share of B's element index, and
/// of the index on each padded axis.
struct ColumnShares {
  mlir::Value offset;
  llvm::SmallVector<mlir::Value> axes;
};

/// Computes the shares in memory of the work-group.
ColumnShares makeColumnShares(const ContractScope &scope);

/// Reads one panel.
class PanelGather : ContractScope {
public:
  PanelGather(const ContractScope &scope, const ColumnShares &shares,
              mlir::Value panel);
  /// The row of the panel with these indices of k; what lies in the padding has
  /// its value.
  llvm::SmallVector<mlir::Value> row(mlir::ValueRange k, mlir::Value shift);
  /// Elements of padding before the first one of B.
  mlir::Value paddingBefore();

private:
  /// A run of lanes that are neighbours in memory.
  struct Run {
    mlir::Value start; ///< offset of lane 0, were it part of the run
    mlir::Value mask;
  };
  int64_t maxRuns() const;
  int64_t laneStride() const;
  mlir::Value splat(mlir::Value scalar);
  mlir::Value toI32(mlir::Value value);
  mlir::Value toIndex(mlir::Value value);
  mlir::Value originsOf(mlir::Value offsets);
  llvm::SmallVector<Run> findRuns(mlir::Value at, mlir::Value offsets,
                                  int64_t count);
  void findContiguous(mlir::Value at, mlir::Value offsets);
  mlir::Value scalarOffset(mlir::ValueRange k,
                           llvm::SmallVectorImpl<mlir::Value> &axisOffsets);
  mlir::Value mask(size_t vector, mlir::ValueRange axisOffsets);
  mlir::Value load(size_t vector, mlir::Value base, mlir::Value mask);
  mlir::Value loadRuns(size_t vector, mlir::Value base, mlir::Value mask,
                       mlir::Value outside);
  mlir::Value isWhole(size_t vector, mlir::Value mask);
  mlir::Value loadWhole(size_t vector, mlir::Value base);
  mlir::Value loadApart(size_t vector, mlir::Value base, mlir::Value mask,
                        mlir::Value outside);

  const ColumnShares &shares;
  llvm::SmallVector<mlir::Value> offsets;                 ///< per vector
  llvm::SmallVector<llvm::SmallVector<mlir::Value>> axes; ///< per vector, axis
  /// Per vector: whether its lanes are neighbours, or as far apart as the lanes
  /// of a row, and the offset of lane 0.
  llvm::SmallVector<mlir::Value> contiguous, starts;
  llvm::SmallVector<llvm::SmallVector<Run>> runs; ///< per vector, if few
};

} // namespace backplane

#endif // BACKPLANE_EMIT_CPU_CONTRACTGATHER_H
