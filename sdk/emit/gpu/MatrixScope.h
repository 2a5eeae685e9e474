// SPDX-License-Identifier: Apache-2.0
//
// MatrixScope.h: memory of the work-group in a contraction by matrix
// instructions, and how the factors come there. Private to this folder.
#ifndef BACKPLANE_EMIT_GPU_MATRIXSCOPE_H
#define BACKPLANE_EMIT_GPU_MATRIXSCOPE_H

#include "sdk/emit/gpu/ContractScope.h"
#include "sdk/emit/gpu/MatrixPlan.h"

namespace backplane {

struct MatrixPlaceValues {
  mlir::Value row, column;
};

struct MatrixScope : ContractScope {
  const MatrixPlan &plan;
  Value memory; ///< words of the work-group: stages, each a block of A and of B
  Value lane;   ///< of this invocation in its subgroup
  Value subgroupM, subgroupN; ///< where this subgroup is in the work-group
  Value lineInPiece, piece;   ///< that this lane names in a load
  /// Where barriers of stages begin, of a plan that copies blocks.
  int64_t barrierWord = 0;
  /// Sizes of the buffers that are copied from.
  llvm::DenseMap<Value, llvm::SmallVector<mlir::OpFoldResult>> bufferSizes;

  MatrixScope(mlir::ImplicitLocOpBuilder &builder, GpuContraction &c,
              const MatrixPlan &plan)
      : ContractScope(builder, c), plan(plan) {}

  /// Reads these sizes: in front of all loops, as patterns that join indices
  /// move them outwards.
  void readBufferSizes();
  /// Copies a block of a factor to the words from `first` on: rows from `start`
  /// on, k from `firstK` on, zeros beyond the edges. Copies that need no
  /// registers may be under way behind it.
  mlir::LogicalResult fill(const StagedFactor &factor, Value first, Value start,
                           Value size, Value firstK);
  /// Whether an invocation can hold its share of a block in registers: a few
  /// whole pieces.
  bool canHold(const StagedFactor &factor) const;
  /// That share of the block that fill() would copy, as words.
  mlir::FailureOr<Values> hold(const StagedFactor &factor, Value start,
                               Value size, Value firstK);
  /// Copies what it holds to the words from `first` on.
  void release(const StagedFactor &factor, Value first, mlir::ValueRange held);
  /// Groups of such copies; nothing where no factor has any.
  void endGroup();
  void waitForGroups(int64_t open);

  /// Code of one invocation of the work-group.
  void byOne(llvm::function_ref<void()> work);
  /// Makes the barriers of all stages.
  void makeBarriers();
  /// The address of the barrier of a stage.
  Value barrierOf(Value stage);
  /// Begins to copy a block of a factor, as fill() does; it counts at the
  /// barrier.
  void copyBlocks(const StagedFactor &factor, Value first, Value start,
                  Value firstK, Value barrier);
  /// Waits until the block of this number is in its stage.
  void waitForBlock(Value block);

  /// Finds out which invocation this is.
  void findLane();
  /// Adds the products of two blocks in memory, those of the first `depth` k.
  Values multiplyFragments(Value firstA, Value firstB, int64_t depth,
                           mlir::ValueRange sums);
  /// Fragments of A, a row of instructions each.
  using Fragments = llvm::SmallVector<Values>;
  /// Those of a block in memory, for each k of an instruction.
  llvm::SmallVector<Fragments> loadLeft(Value first, int64_t depth);
  /// Adds the products of each of these with a block of B in memory, from k on.
  void multiplyLeft(llvm::ArrayRef<Fragments> lefts, Value firstB, int64_t k,
                    Values &sums);
  /// Begins to add the products of two blocks in memory, those of the first
  /// `depth` k, by the instructions of a plan that has `products`.
  Values multiplyInMemory(Value firstA, Value firstB, int64_t depth,
                          mlir::ValueRange sums);
  /// Adds the same products, of opaque matrices.
  Values multiplyOpaque(Value firstA, Value firstB, int64_t depth,
                        mlir::ValueRange sums);
  /// A block of a factor, from a row and a k on, at which a group of lines or a
  /// piece of one begins.
  MatrixInMemory inMemory(const StagedFactor &factor, Value first, Value row,
                          int64_t k);
  /// As many sums as a lane has, as they begin.
  Values startSums();
  /// Where the sum of this number is, from the first one of the lane.
  MatrixPlace placeOf(size_t number) const;
  /// Finishes and stores the sums, in place of what is in memory.
  mlir::LogicalResult finishSums(mlir::ValueRange sums);

  /// The first word of a piece of a line; `lineInPiece` is the line modulo 8.
  Value wordOf(const StagedFactor &factor, Value line, Value lineInPiece,
               Value piece);
  /// The first word of the place of a piece of a line, before the order of
  /// pieces is changed.
  Value placeWord(const StagedFactor &factor, Value line, Value place);
  /// The address of an element of linear memory, in bytes.
  Value addressOf(Value buffer, Value element, int64_t bytes);
  /// Where the first element of this lane is in a matrix.
  MatrixPlaceValues placeOfLane(const FragmentLayout &layout);
  void storeWord(Value value, Value at);
  Value loadWord(Value at, mlir::Type type);

private:
  /// Of what an invocation copies at once.
  struct UnitPlace {
    Value line, along;
  };
  UnitPlace placeOfUnit(const StagedFactor &factor, Value unit);
  /// The row and the k of its first element.
  MatrixPlaceValues elementOfUnit(const StagedFactor &factor, Value start,
                                  Value firstK, UnitPlace place);
  Value wordOfUnit(const StagedFactor &factor, Value first, UnitPlace place);
  Value heldUnit(int64_t number) {
    return add(thread, index(number * c.target.groupSize));
  }
  mlir::LogicalResult copyPart(const StagedFactor &factor, Value first,
                               Value start, Value size, Value firstK,
                               Value unit);
  mlir::LogicalResult copyByRegisters(const StagedFactor &factor, Value word,
                                      Value rowAt, Value kAt, Value size);
  void copyLine(const StagedFactor &factor, Value word, Value rowAt, Value kAt,
                Value size);
  mlir::FailureOr<Values> readContiguous(const StagedFactor &factor,
                                         Value rowAt, Value kAt, Value size);
  Values loadLines(const StagedFactor &factor, Value first, Value row,
                   int64_t k, MatrixPlace one, MatrixPlace two, int64_t count);
  Values loadWords(const StagedFactor &factor, const FragmentLayout &layout,
                   Value first, Value row, int64_t k);
  llvm::SmallVector<Values> loadFragments(const StagedFactor &factor,
                                          const FragmentLayout &layout,
                                          Value first, Value row, int64_t k,
                                          int64_t count, int64_t rows);
  Value choose(int64_t one, int64_t two);
  Fragments loadLeftAt(Value first, int64_t k);
  Values loadOpaque(const StagedFactor &factor, OpaqueMatrices::Factor which,
                    Value first, Value row, int64_t k, int64_t count);
  void keepOpaqueRows(mlir::ValueRange sums);
  void keepRows(mlir::ValueRange sums);
  mlir::LogicalResult finishRows(int64_t part);
};

} // namespace backplane

#endif // BACKPLANE_EMIT_GPU_MATRIXSCOPE_H
