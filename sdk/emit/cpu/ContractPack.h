// SPDX-License-Identifier: Apache-2.0
//
// ContractPack.h: copies of A and B in the order in which the micro-kernel
// reads them. Private to this folder.
#ifndef BACKPLANE_EMIT_CPU_CONTRACTPACK_H
#define BACKPLANE_EMIT_CPU_CONTRACTPACK_H

#include "sdk/emit/cpu/ContractGather.h"
#include "sdk/emit/cpu/ContractImage.h"
#include "sdk/emit/cpu/ContractVnni.h"

namespace backplane {

class ContractPacker : ContractScope {
public:
  /// Makes the memory of the copies. `result`: the same work-group with the
  /// rows and columns of C.
  ContractPacker(const ContractScope &scope, const ContractScope &result);

  /// Panels of `rows` rows, each row with `depth` elements of k; rows beyond
  /// the edge are zero, and so is what a step of the kernel has beyond it. Null
  /// when the plan reads A where it is.
  mlir::Value packedA;
  /// Panels of `vectors * lanes` columns, each with `depthB` rows; columns
  /// beyond the edge are zero. When the plan reads B where it is, only the
  /// panel that is not full; null when B lies in blocks or is an image.
  mlir::Value packedB;
  /// What the kernel reads instead of packed B, if anything; instead of A where
  /// C is computed transposed.
  std::optional<ImageBuilder> pixels;

  /// Before all copies, where columns of B do not lie next to each other.
  void prepareColumns();
  // Copy elements firstK to firstK + countK of k.
  void packA(mlir::Value firstK, mlir::Value countK);
  void packB(mlir::Value firstK, mlir::Value countK);
  /// Of B the last panel alone, which is not full.
  void packRest(mlir::Value panel, mlir::Value firstK, mlir::Value countK) {
    packPanel(panel, firstK, countK, false);
  }

private:
  /// Elements of A: (row, k) of the block is at start + row * strideM +
  /// (firstK + k) * strideK.
  struct RowsOfA {
    mlir::Value strideK, firstK;
    mlir::Value chunk; ///< elements that are copied at once
    mlir::Value whole; ///< elements in whole chunks
  };
  VectorWidth chunkOfA() const;
  mlir::Value offsetInA(mlir::Value row, mlir::Value k);
  mlir::Value startOfRow(mlir::Value row);
  mlir::Value elementOfA(const RowsOfA &from, mlir::Value row, mlir::Value k);
  void copyVector(const RowsOfA &from, mlir::Value row, mlir::Value k,
                  mlir::Value mask);
  void copyVectors(const RowsOfA &from, mlir::Value row, mlir::Value countK);
  void copyElements(const RowsOfA &from, mlir::Value row, mlir::Value countK);
  void clearRows(mlir::Value end, mlir::Value countK, mlir::Value chunk);
  void storeRow(mlir::Value to, llvm::ArrayRef<mlir::Value> vectors);
  void storeRows(mlir::Value to, mlir::Value countK, RowReader read);
  void storeSteps(mlir::Value to, mlir::Value countK, RowReader read,
                  llvm::function_ref<void(mlir::Value k)> storeWhole);
  void packPanel(mlir::Value panel, mlir::Value firstK, mlir::Value countK,
                 bool full);
  bool permutesBlocks() const;
  void packBlocks(mlir::Value panel, mlir::Value firstK, mlir::Value countK);
  void gatherPanel(mlir::Value panel, mlir::Value firstK, mlir::Value countK);
  void gatherWindows(PanelGather &gather, mlir::Value to, mlir::Value firstK,
                     mlir::Value countK);
  bool transposesB() const;
  void transposePanel(mlir::Value panel, mlir::Value firstK,
                      mlir::Value countK);
  void transposeTile(mlir::ValueRange columns, mlir::Value to, mlir::Value k,
                     mlir::Value mask);

  ColumnShares shares; ///< null unless prepared
};

} // namespace backplane

#endif // BACKPLANE_EMIT_CPU_CONTRACTPACK_H
