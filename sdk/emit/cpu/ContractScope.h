// SPDX-License-Identifier: Apache-2.0
//
// ContractScope.h: what the packer, the micro-kernel and the epilogue of a
// contraction all see. Private to this folder.
//
// Each of them derives from ContractScope, so that their code reads as the
// arithmetic it makes; what they hand each other are the functions and the
// buffers of their own headers.
#ifndef BACKPLANE_EMIT_CPU_CONTRACTSCOPE_H
#define BACKPLANE_EMIT_CPU_CONTRACTSCOPE_H

#include "sdk/emit/cpu/ContractOperands.h"
#include "sdk/emit/cpu/ContractPlan.h"
#include "sdk/emit/cpu/ImageTile.h"
#include "sdk/emit/cpu/VnniPlan.h"

namespace backplane {

/// vscale is at most this: vectors of 2048 bits.
inline constexpr int64_t kMaxScale = 16;

/// A contraction and the decisions about it.
struct ContractProblem {
  Contraction c;
  ContractPlan plan;
  VnniPlan vnni;
  ContractOperands operands;
  std::optional<ImageTile> image = {}; ///< none: B is packed, or read in place
};

/// The loop over work-groups, of these sizes and steps.
mlir::scf::ForallOp
loopOverGroups(const VectorBuilder &b,
               llvm::ArrayRef<std::pair<mlir::Value, int64_t>> loops);

/// Starts the code of a work-group; returns the indices that its scope takes.
llvm::SmallVector<mlir::Value> enterGroup(const VectorBuilder &b,
                                          const ContractProblem &problem);

/// The code of one work-group: a tile of C, of the iteration `outer`.
class ContractScope : public VectorBuilder {
public:
  /// `ids`: the indices of the outer loops, of the tile's first column and of
  /// its first row. The problem outlives the scope.
  ContractScope(const VectorBuilder &builder, const ContractProblem &problem,
                mlir::ValueRange ids);

  const Contraction &c;
  const ContractPlan &plan;
  const VnniPlan &vnni;
  const ContractOperands &operands;
  const std::optional<ImageTile> &image;
  mlir::Type element;                   ///< of sums, and of packed panels
  llvm::SmallVector<mlir::Value> outer; ///< index per outer loop
  mlir::Value firstM, firstN, countM, countN;

  /// Whether k may have more than one block.
  bool manyBlocks() const;
  /// Whether each tile of the group has a place of its own for its sums.
  bool keepsTiles() const { return plan.transposed || manyBlocks(); }
  /// Elements of k that the kernel multiplies at once.
  int64_t stepK() const { return vnni.perLane * vnni.block; }
  /// Elements of k that the kernel takes of a row of packed A at once.
  int64_t stepOfA() const { return vnni.tiles ? kTileDepth : stepK(); }
  /// Rows of packed B for each block of k.
  int64_t depthB() const { return plan.depth / vnni.perLane; }
  /// The columns of a panel of B.
  mlir::Value panelN() const { return lanesOf(plan.vectors); }
  // What these can be at most: memory is made before the machine is known.
  int64_t maxLanes() const {
    return width.scalable ? width.count * kMaxScale : width.count;
  }
  int64_t maxPanelN() const { return plan.vectors * maxLanes(); }
  /// Columns of a group, rounded up to whole panels.
  int64_t roomN() const {
    return width.scalable ? plan.groupN + maxPanelN() : plan.groupN;
  }

  /// Columns of the last panel of a row of C, where that is known; 0: it is
  /// full, as all others are.
  std::optional<int64_t> restColumns() const;
  /// Whether all columns of the panel are inside the group.
  mlir::Value isFull(mlir::Value panelB) const {
    return lessOrEqual(add(panelB, panelN()), countN);
  }
  /// The row of the group with which a micro tile starts. An A that is read in
  /// place has no rows beyond the edge: there the last tile starts earlier.
  mlir::Value firstRow(mlir::Value panelA) const;

  /// `linear` as indices of `loops`, last one fastest.
  llvm::SmallVector<mlir::Value> split(mlir::Value linear,
                                       llvm::ArrayRef<unsigned> loops) const;
  /// Element index: the sum of index times stride over `loops`.
  mlir::Value dot(const FlatOperand &operand, llvm::ArrayRef<unsigned> loops,
                  mlir::ValueRange indices) const;
  /// Element index where the loops of the tile are 0.
  mlir::Value originOf(const FlatOperand &operand) const;
  /// Elements of B from one index of an axis to the next.
  mlir::Value axisStrideOfB(unsigned axis) const;
  /// A vector of what lies in the padding of B.
  mlir::Value paddingOfB() const;
  /// Stride of the merged loop of a group.
  mlir::Value groupStride(const FlatOperand &operand,
                          llvm::ArrayRef<unsigned> loops) const;

  // What an element of memory is packed as: narrow where products are of
  // narrow operands, else what the op's body makes of it before it multiplies.
  mlir::Value packedLeft(mlir::Value value) const;
  mlir::Value packedRight(mlir::Value value) const;
  // What the op's body makes of an element before it multiplies.
  mlir::Value convertLeft(mlir::Value value) const;
  mlir::Value convertRight(mlir::Value value) const;
};

} // namespace backplane

#endif // BACKPLANE_EMIT_CPU_CONTRACTSCOPE_H
