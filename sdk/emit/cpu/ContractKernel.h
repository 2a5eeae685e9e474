// SPDX-License-Identifier: Apache-2.0
//
// ContractKernel.h: the micro-kernel, a tile of C in registers. Private to this
// folder.
#ifndef BACKPLANE_EMIT_CPU_CONTRACTKERNEL_H
#define BACKPLANE_EMIT_CPU_CONTRACTKERNEL_H

#include "sdk/emit/cpu/ContractPack.h"

namespace backplane {

class MicroKernel : ContractScope {
public:
  /// Makes the memory of the tile.
  MicroKernel(const ContractScope &scope, const ContractPacker &packed);

  /// rows x vectors sums of the last call, row by row.
  mlir::Value tile;

  /// Adds up countK products for each element of the tile in which these panels
  /// meet.
  void multiply(mlir::Value panelB, mlir::Value panelA, mlir::Value firstK,
                mlir::Value countK);

private:
  /// Where it reads: element (row, k) of A at start + row * strideM + k *
  /// strideK, vector v of row k of B at start + k * strideK + v * lanes.
  struct Source {
    mlir::Value memref, start, strideM, strideK;
    mlir::Value next = {}; ///< what to fetch early, like start; null: nothing
    /// From one block of columns to the next; null: there are no blocks.
    mlir::Value strideBlock = {};
  };
  Source sourceA(mlir::Value panelA, mlir::Value firstK);
  mlir::Value startOfNext(mlir::Value panelA, mlir::Value firstK);
  Source sourceB(mlir::Value panelB, mlir::Value firstK);
  mlir::Value vectorOfB(const Source &from, int64_t v) const;
  void multiply(const Source &fromA, const Source &fromB, mlir::Value countK,
                int64_t vectors);
  int64_t restVectors() const;
  llvm::SmallVector<mlir::Value> addProducts(const Source &fromA,
                                             const Source &fromB, mlir::Value k,
                                             mlir::ValueRange sums);
  mlir::Value broadcastA(mlir::Value memref, mlir::Value at);
  mlir::Value multiplyAdd(mlir::Value a, mlir::Value b, mlir::Value sum);

  mlir::Value packedA, packedB;
  VnniBuilder narrow;
};

} // namespace backplane

#endif // BACKPLANE_EMIT_CPU_CONTRACTKERNEL_H
