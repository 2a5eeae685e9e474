// SPDX-License-Identifier: Apache-2.0
//
// TileScope.h: products of blocks in memory of the work-group, each invocation
// with sums in registers, and how the blocks come there. Private to this
// folder.
#ifndef BACKPLANE_EMIT_GPU_TILESCOPE_H
#define BACKPLANE_EMIT_GPU_TILESCOPE_H

#include "sdk/emit/gpu/ContractScope.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace backplane {

/// A block of one factor in memory of the work-group: element (k, row) is at
/// first + k * stride + row.
struct Block2d {
  const GpuOperand *factor;
  llvm::ArrayRef<unsigned> loops; ///< of a row
  int64_t first, rows, stride;
  mlir::Value start, size; ///< of the rows in C

  /// Words that it takes.
  int64_t room() const { return stride * GpuTile::kDepth; }
};

/// A block of so many rows. Where neighbours in memory differ in k, their
/// places lie in different banks.
Block2d makeBlock(const GpuOperand &factor, llvm::ArrayRef<unsigned> loops,
                  int64_t first, int64_t rows);

struct TileScope : ContractScope {
  GpuTile tile;
  Value row, column; ///< of this invocation
  Value memory;      ///< of the work-group

  TileScope(mlir::ImplicitLocOpBuilder &builder, GpuContraction &c,
            GpuTile tile)
      : ContractScope(builder, c), tile(tile) {}

  /// Finds out which invocation this is.
  void findThread();
  /// Copies a block of a factor, from `firstK` on.
  mlir::LogicalResult fill(const Block2d &block, Value firstK);
  /// Adds the products of two blocks.
  Values multiply(const Block2d &left, const Block2d &right,
                  mlir::ValueRange sums);
  /// As many sums as this invocation has, as they begin.
  Values startSums();
  /// Where the sum of this number is in the tile.
  std::pair<int64_t, int64_t> placeOf(size_t number) const {
    return {int64_t(number) / tile.columns * tile.groupRows,
            int64_t(number) % tile.columns * GpuTile::kGroupColumns};
  }

  Value load(Value at) { return mlir::memref::LoadOp::create(b, memory, at); }
  void store(Value value, Value at) {
    mlir::memref::StoreOp::create(b, value, memory, at);
  }

private:
  int64_t lanesOf(const Block2d &block);
  mlir::LogicalResult copyPart(const Block2d &block, Value firstK,
                               int64_t lanes, Value part);
  void multiplyOnce(const Block2d &left, const Block2d &right, Value k,
                    Values &sums);
  Value addProduct(Value x, Value y, Value sum);
};

} // namespace backplane

#endif // BACKPLANE_EMIT_GPU_TILESCOPE_H
