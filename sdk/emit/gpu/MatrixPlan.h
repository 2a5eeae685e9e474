// SPDX-License-Identifier: Apache-2.0
//
// MatrixPlan.h: which matrix instruction computes a contraction, and how a
// work-group shares it. Private to this folder.
#ifndef BACKPLANE_EMIT_GPU_MATRIXPLAN_H
#define BACKPLANE_EMIT_GPU_MATRIXPLAN_H

#include "sdk/emit/gpu/BlockTensor.h"
#include "sdk/emit/gpu/Contraction.h"
#include "sdk/emit/gpu/MatrixUnit.h"

namespace backplane {

/// A factor in memory of the work-group: lines of 16 bytes and more, in pieces
/// of 16 bytes whose order differs from line to line, so that the same piece of
/// eight lines lies in all banks. Lines of opaque matrices are as they are, and
/// a piece of nothing is behind each, to the same end.
struct StagedFactor {
  GpuOperand operand; ///< its value has elements of `type` or wider ones
  mlir::Type type;    ///< of an element
  llvm::ArrayRef<unsigned> loops; ///< of a row
  int64_t rows, depth;            ///< of a block
  bool alongK;                    ///< a line is a row; else what has one k
  bool transposes;  ///< neighbours in memory are those of the other axis
  bool copies;      ///< lines are copied as they are, without registers
  int64_t panel;    ///< elements of a line that lie together
  int64_t padWords; ///< behind each line; 0: pieces are in another order
  int64_t lanes;    ///< elements that an invocation copies at once
  /// Where one invocation copies blocks for all; each panel is one.
  std::optional<BlockTensor> blocks;

  int64_t elementBytes() const {
    return int64_t(type.getIntOrFloatBitWidth()) / 8;
  }
  int64_t lines() const { return alongK ? rows : depth; }
  int64_t lineElements() const { return alongK ? depth : rows; }
  int64_t pieceElements() const { return LineLoads::kBytes / elementBytes(); }
  int64_t pieces() const { return lineElements() / pieceElements(); }
  int64_t panelPieces() const { return panel / pieceElements(); }
  int64_t wordElements() const { return 4 / elementBytes(); }
  /// Whether each lane loads its own words though the unit has loads of lines:
  /// no unit transposes elements of 32 bits.
  bool isOfWords() const { return !alongK && wordElements() == 1; }
  int64_t lineWords() const {
    return lineElements() / wordElements() + padWords;
  }
  int64_t words() const { return lines() * lineWords(); }
  bool copiesLines() const { return copies && !blocks; }
  int64_t panels() const { return pieces() / panelPieces(); }
  int64_t bytes() const { return 4 * words(); }
  /// What invocations copy of a block, `lanes` elements each.
  int64_t units() const { return lines() * lineElements() / lanes; }
  /// From the first `panel` elements of the first line to the next ones.
  int64_t panelWords() const { return lines() * panel / wordElements(); }
  /// Words that a lane has of a fragment.
  int64_t fragmentWords(const FragmentLayout &layout) const {
    return layout.elements() / wordElements();
  }
};

struct MatrixPlan {
  const MatrixUnit *unit;
  const MatrixInstruction *instruction;
  int64_t subgroupsM, subgroupsN; ///< in a work-group
  int64_t rows, columns;          ///< instructions of a subgroup along m and n
  int64_t stages;                 ///< blocks in memory at once, at least 2
  const LineLoads *loads;         ///< null: each lane loads its own words
  /// Null: products are of fragments. Else subgroups are counted by as many as
  /// multiply together.
  const MemoryProducts *products;
  /// Null: lanes know what they have.
  const OpaqueMatrices *opaque;
  StagedFactor a, b;

  /// Of those that multiply together.
  int64_t lanes() const {
    return opaque ? OpaqueMatrices::kLanes : instruction->lanes();
  }

  int64_t tileM() const { return subgroupsM * rows * instruction->m; }
  int64_t tileN() const { return subgroupsN * columns * instruction->n; }
  /// Invocations of a work-group, where `products` decide on it.
  int64_t threads() const { return subgroupsM * subgroupsN * lanes(); }
  int64_t stageWords() const { return a.words() + b.words(); }
  bool copiesLines() const { return a.copiesLines() || b.copiesLines(); }
  /// One invocation copies blocks of both factors for all.
  bool copiesBlocks() const { return a.blocks && b.blocks; }
  /// Words of the barriers of all stages, if there are any.
  int64_t barrierWords() const {
    return copiesBlocks() ? stages * BlockCopies::kBarrierBytes / 4 : 0;
  }
  /// Rows of C that are finished at once, and words from row to row.
  int64_t partRows() const { return subgroupsM * instruction->m; }
  int64_t partStride() const { return tileN() + 8; }
  int64_t partWords() const { return partRows() * partStride(); }
  /// Of the work-group: rows of C take the place of blocks.
  int64_t memoryWords() const {
    return std::max(stages * stageWords() + barrierWords(), partWords());
  }
};

/// A factor whose elements fit a narrow type.
struct NarrowFactor {
  mlir::Value value; ///< of that type, or as wide as it is multiplied
  mlir::Type type;
  MatrixElement element;
};

/// What a factor is; nothing where its elements are as wide as their type.
std::optional<NarrowFactor> narrowFactor(const GpuOperand &factor);

/// Whether the instruction multiplies these factors, and the target lists it.
bool multiplies(const GpuContraction &contraction,
                const MatrixInstruction &instruction, const NarrowFactor &a,
                const NarrowFactor &b);

/// As many instructions as the size asks for: 1, 2, 4 and so on.
int64_t countFor(int64_t size, int64_t step, int64_t most);

/// Whether the tiles of a plan keep a GPU busy.
bool isBusy(GpuContraction &contraction, const MatrixPlan &plan);

/// The instruction and the loads of a plan; nothing where the unit has no
/// instruction, or the target does not list its shape.
std::optional<MatrixPlan> findMatrixInstruction(GpuContraction &contraction,
                                                const MatrixUnit &unit,
                                                const NarrowFactor &a,
                                                const NarrowFactor &b);

/// How a block of a factor comes to memory of the work-group. Lines follow
/// those of its buffer where the unit can transpose them, else they are along
/// k.
StagedFactor stageFactor(GpuContraction &contraction, const MatrixPlan &plan,
                         const NarrowFactor &narrow, GpuOperand operand,
                         llvm::ArrayRef<unsigned> loops, int64_t rows,
                         int64_t depth);

/// A plan of products from memory of the work-group; none where the unit has
/// none for the contraction, or they would compute little else than zeros.
std::optional<MatrixPlan> planMemoryProducts(GpuContraction &contraction,
                                             const MatrixUnit &unit,
                                             const NarrowFactor &a,
                                             const NarrowFactor &b);

/// None where the unit has no instruction for the contraction, or the target
/// does not list its shape.
std::optional<MatrixPlan> planMatrix(GpuContraction &contraction,
                                     const MatrixUnit &unit);

/// Writes the loops in front of the function's end.
mlir::LogicalResult emitMatrixContraction(mlir::func::FuncOp func,
                                          GpuContraction &contraction,
                                          const MatrixPlan &plan);

} // namespace backplane

#endif // BACKPLANE_EMIT_GPU_MATRIXPLAN_H
