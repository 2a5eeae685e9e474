// SPDX-License-Identifier: Apache-2.0
//
// ContractEpilogue.h: what happens to the sums of a contraction: the start
// value, the op that follows, the stores. Private to this folder.
#ifndef BACKPLANE_EMIT_CPU_CONTRACTEPILOGUE_H
#define BACKPLANE_EMIT_CPU_CONTRACTEPILOGUE_H

#include "sdk/emit/cpu/ContractScope.h"

namespace backplane {

class ContractEpilogue : ContractScope {
public:
  explicit ContractEpilogue(const ContractScope &scope)
      : ContractScope(scope) {}

  /// Makes memory for the sums of earlier blocks of k, for a k that has more
  /// than one. Returns whether it may.
  bool keepSums();

  /// The micro tile of these panels over the block of k from `firstK` on: adds
  /// it to the earlier blocks, if sums are kept, and after the last block
  /// finishes it.
  void finishTile(mlir::Value tile, mlir::Value panelB, mlir::Value panelA,
                  mlir::Value firstK);
  /// Finishes a vector of sums at row m, from column n of C on; null mask: all
  /// of it.
  void finishVector(mlir::Value sum, mlir::Value m, mlir::Value n,
                    mlir::Value mask);

private:
  struct Tile;
  void finishRows(const Tile &tile, bool last, bool full);
  void finishRow(const Tile &tile, mlir::Value row, mlir::Value tileRow,
                 bool last, bool full);
  std::optional<int64_t> lanesInRest(int64_t v) const;
  mlir::Value maskInRest(int64_t v, mlir::Value column) const;
  mlir::Value addEarlier(mlir::Value sum, mlir::Value at, mlir::Value firstK);
  llvm::SmallVector<mlir::Value> runBody(mlir::Value sum, mlir::Value m,
                                         mlir::Value n, mlir::Value mask);
  /// Where m and n are one loop each.
  mlir::Value indexOn(unsigned axis, mlir::Value m, mlir::Value n);
  mlir::Value elementOf(const FlatOperand &operand, mlir::Value m,
                        mlir::Value n);

  mlir::Value sums; ///< partial C of the group; null: not needed
};

} // namespace backplane

#endif // BACKPLANE_EMIT_CPU_CONTRACTEPILOGUE_H
