// SPDX-License-Identifier: Apache-2.0
//
// ContractTiles.h: a micro tile in the tile registers of AMX. Private to this
// folder.
//
// A register has 16 rows of 64 bytes. One of A has 64 elements of k of a row in
// each; one of B has four elements of k of 16 columns in each, as VNNI packing
// lays them; one of sums has 16 of them in each. The bytes of A beyond k are
// zero, so that those of B may be anything.
#ifndef BACKPLANE_EMIT_CPU_CONTRACTTILES_H
#define BACKPLANE_EMIT_CPU_CONTRACTTILES_H

#include "sdk/emit/cpu/ContractScope.h"

namespace backplane {

class TileBuilder : ContractScope {
public:
  /// `vectors`: of a panel of B.
  TileBuilder(const ContractScope &scope, int64_t vectors)
      : ContractScope(scope), vectors(vectors) {}

  /// Rows of a register: row r begins at element start + r * stride; those of
  /// the next one of A's rows, or of B's columns, lie `between` elements
  /// behind.
  struct Rows {
    mlir::Value memref, start, stride, between = {};
  };
  /// Adds up countK products for each of the sums of a micro tile, whose rows
  /// are those of `sums`, and adds these to those of earlier blocks of k, where
  /// it does not `begin`.
  void multiply(const Rows &a, const Rows &b, mlir::Value countK,
                const Rows &sums, mlir::Value begins);

private:
  Values load(const Rows &sums, mlir::Value begins);
  Values add(const Rows &a, const Rows &b, mlir::Value step,
             mlir::ValueRange registers);
  mlir::Value address(const Rows &rows, mlir::Value offset);
  mlir::Value strideInBytes(const Rows &rows);
  mlir::Value loadOne(const Rows &rows, mlir::Value offset);
  mlir::Value call(llvm::StringRef name, mlir::ValueRange operands);
  mlir::Value multiplyAdd(mlir::Value a, mlir::Value b, mlir::Value sum);
  Values offsetsOfSums(const Rows &sums);
  void clear(const Rows &sums);

  int64_t vectors;
};

} // namespace backplane

#endif // BACKPLANE_EMIT_CPU_CONTRACTTILES_H
