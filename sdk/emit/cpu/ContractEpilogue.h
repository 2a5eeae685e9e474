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

  /// Finishes the micro tile of these panels, whose sums, row by row, are in
  /// `tile` from `start` on.
  void finishTile(mlir::Value tile, mlir::Value start, mlir::Value panelB,
                  mlir::Value panelA);
  /// Whether tiles are whole and little follows few products, so that sums are
  /// best finished in registers.
  bool takesRegisters() const;
  /// Finishes the micro tile of these panels, which has these sums.
  void finishSums(mlir::ValueRange sums, mlir::Value panelB,
                  mlir::Value panelA);
  /// Finishes the panel that begins with row m of C, where C is computed
  /// transposed: the tiles of `computed` from `start` on.
  void finishTransposed(const ContractScope &computed, mlir::Value tiles,
                        mlir::Value start, mlir::Value panelB);
  /// Finishes a vector of sums at row m, from column n of C on; null mask: all
  /// of it.
  void finishVector(mlir::Value sum, mlir::Value m, mlir::Value n,
                    mlir::Value mask);

private:
  struct Tile;
  void finishSquare(llvm::ArrayRef<mlir::Value> rows, mlir::Value m,
                    mlir::Value column);
  void finishRows(const Tile &tile, bool full);
  void finishRow(const Tile &tile, mlir::Value row, mlir::Value start,
                 bool full);
  std::optional<int64_t> lanesInRest(int64_t v) const;
  mlir::Value maskInRest(int64_t v, mlir::Value column) const;
  llvm::SmallVector<mlir::Value> runBody(mlir::Value sum, mlir::Value m,
                                         mlir::Value n, mlir::Value mask);
  /// Where m and n are one loop each.
  mlir::Value indexOn(unsigned axis, mlir::Value m, mlir::Value n);
  mlir::Value elementOf(const FlatOperand &operand, mlir::Value m,
                        mlir::Value n);
};

} // namespace backplane

#endif // BACKPLANE_EMIT_CPU_CONTRACTEPILOGUE_H
