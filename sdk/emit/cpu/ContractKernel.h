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
  /// Makes the memory of tiles.
  MicroKernel(const ContractScope &scope, const ContractPacker &packed);

  /// rows x vectors sums for each tile of the group, row by row; where k has
  /// one block, those of the last call alone.
  mlir::Value tiles;
  /// Where the tile of these panels is there.
  mlir::Value startOfTile(mlir::Value panelB, mlir::Value panelA) const;

  /// What takes the sums of a tile, row by row, instead of memory; null: none.
  using Finish = llvm::function_ref<void(mlir::ValueRange)>;

  /// Where the plan packs B: whether a full panel is packed already, or read
  /// from B and packed on the way.
  enum class Panel { Packed, ToBePacked };
  /// Before what is multiplied with so many elements of k of a panel of B.
  void enterPanel(mlir::Value panelB, mlir::Value countK);
  /// Adds up countK products for each element of the tile in which these panels
  /// meet, and adds these sums to those of earlier blocks of k.
  void multiply(mlir::Value panelB, mlir::Value panelA, mlir::Value firstK,
                mlir::Value countK, Panel panel, Finish finish = nullptr);

private:
  /// Where it reads: element (row, k) of A at start + row * strideM + k *
  /// strideK, vector v of row k of B at start + k * strideK + v * lanes.
  struct Source {
    mlir::Value memref, start, strideM, strideK;
    mlir::Value next = {}; ///< what to fetch early, like start; null: nothing
    /// From one block of columns to the next; null: there are no blocks.
    mlir::Value strideBlock = {};
    mlir::Value copy = {}; ///< of B: where its panel is packed; null: it is not
  };
  Source sourceA(mlir::Value panelA, mlir::Value firstK);
  mlir::Value startOfNext(mlir::Value panelA, mlir::Value firstK);
  void fetch(mlir::Value memref, mlir::Value at);
  void fetchRows(const Source &fromA, mlir::Value k);
  void fetchPixels(const Source &fromA, mlir::Value k);
  Source sourceB(mlir::Value panelB, mlir::Value firstK);
  Source rowsOfB(mlir::Value panelB, mlir::Value firstK);
  Source packingB(mlir::Value panelB, mlir::Value firstK);
  mlir::Value vectorOfB(const Source &from, int64_t v) const;
  void multiply(const Source &fromA, const Source &fromB, mlir::Value countK,
                int64_t vectors);
  int64_t restVectors() const;
  llvm::SmallVector<mlir::Value> loadBytes(const Source &fromB, mlir::Value row,
                                           int64_t vectors);
  llvm::SmallVector<mlir::Value> loadRow(const Source &fromB, mlir::Value k,
                                         int64_t vectors);
  mlir::Value offsetInA(const Source &fromA, mlir::Value k);
  llvm::SmallVector<mlir::Value> addProducts(const Source &fromA,
                                             mlir::Value offsetA,
                                             llvm::ArrayRef<mlir::Value> rowB,
                                             mlir::ValueRange sums);
  void storeTile(mlir::ValueRange sums);
  void storeSums(mlir::ValueRange sums, bool first);

  using Sums = llvm::SmallVector<mlir::Value>;
  /// Adds the products of element `number` of k, whose pixels are at `pixels`.
  using Product = llvm::function_ref<Sums(
      mlir::Value number, mlir::Value pixels, mlir::ValueRange)>;
  void multiplyImage(const Source &fromA, mlir::Value panelB,
                     mlir::Value countK);
  void multiplyRowsOfPixels(mlir::Value panelB, mlir::Value panelA,
                            mlir::Value firstK, mlir::Value countK);
  void forPanel(mlir::Value panelB, llvm::function_ref<void(int64_t)> multiply);
  void multiplyWindows(const PixelPanel &panel, mlir::Value countK,
                       int64_t vectors, Product product);
  void forElementsInRow(const PixelPanel &panel,
                        llvm::function_ref<void(const PixelPanel &)> multiply);
  Sums addRow(const PixelPanel &panel, mlir::Value k, mlir::Value start,
              mlir::ValueRange sums, Product product);
  mlir::Value broadcastA(mlir::Value memref, mlir::Value at);
  mlir::Value multiplyAdd(mlir::Value a, mlir::Value b, mlir::Value sum);

  mlir::Value packedA, packedB;
  const std::optional<ImageBuilder> &pixels;
  Finish finish;            ///< of this tile
  PixelPanel pixelPanel;    ///< of the panel that was entered
  mlir::Value start, first; ///< of the tile; whether its block is the first
  VnniBuilder narrow;
};

} // namespace backplane

#endif // BACKPLANE_EMIT_CPU_CONTRACTKERNEL_H
