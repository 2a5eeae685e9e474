// SPDX-License-Identifier: Apache-2.0
//
// LaneEmitter.h: writes the loops of an op, one of them on vectors. Private to
// this folder. LaneLoops.cpp has what all ops need, and loops without blocks;
// LaneBlocks.cpp results of reductions in blocks, LaneExtremes.cpp maxima.
#ifndef BACKPLANE_EMIT_CPU_LANEEMITTER_H
#define BACKPLANE_EMIT_CPU_LANEEMITTER_H

#include "sdk/emit/cpu/LaneMemory.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace backplane {

class LaneEmitter : LaneMemory {
public:
  /// `extremesForget`: the larger of two is one instruction, but not where NaN
  /// wins.
  LaneEmitter(mlir::OpBuilder &builder, mlir::linalg::GenericOp op,
              unsigned loop, VectorWidth width, bool extremesForget,
              llvm::ArrayRef<Padding> paddings)
      : LaneMemory(builder, op, loop, width, paddings),
        extremesForget(extremesForget) {}
  void run();

private:
  /// What computes the next values of accumulators.
  using Step = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::ValueRange carried)>;
  /// Neighbouring results: vectors of the loop with lanes, for each of some
  /// iterations of another parallel loop, or none.
  struct Block;

  /// The lanes of `vectors` vectors.
  mlir::Value lanesOf(int64_t vectors) {
    return builder.createOrFold<mlir::arith::MulIOp>(loc, laneCount,
                                                     index(vectors));
  }
  mlir::Value addVectors(mlir::Value a, int64_t vectors) {
    return vectors == 0
               ? a
               : mlir::arith::AddIOp::create(builder, loc, a, lanesOf(vectors))
                     .getResult();
  }
  bool isReduction(unsigned i) {
    return op.getIteratorTypesArray()[i] ==
           mlir::utils::IteratorType::reduction;
  }
  unsigned bodySize() {
    return std::distance(op.getBody()->begin(), op.getBody()->end()) - 1;
  }
  mlir::Value roundDown(mlir::Value value, int64_t vectors);
  Lanes maskedLanes(mlir::Value start);
  mlir::scf::ForOp
  forLanes(int64_t unroll,
           llvm::function_ref<void(llvm::ArrayRef<Lanes>)> body);
  llvm::SmallVector<mlir::Value>
  carryLoops(llvm::ArrayRef<unsigned> loops,
             llvm::SmallVector<mlir::Value> carried, Step body);
  llvm::SmallVector<mlir::Value>
  carryLanes(int64_t unroll, llvm::SmallVector<mlir::Value> carried);
  llvm::SmallVector<mlir::Value> loadInputs(const Lanes &at);
  llvm::SmallVector<mlir::Value> compute(const Lanes &at,
                                         mlir::ValueRange accumulators);
  mlir::Value indexOf(unsigned number, const Lanes &at);
  void loadShared();
  void emitParallel();
  void emitReduction(llvm::ArrayRef<unsigned> reductions);
  mlir::Value combineParts(mlir::Operation *combiner,
                           llvm::ArrayRef<mlir::Value> parts, mlir::Value old);
  llvm::SmallVector<mlir::Value> combineStep(const Lanes &at,
                                             mlir::ValueRange accumulators);

  /// What is carried for one vector of the results at first, what it is with
  /// one more iteration, and the results that it stands for.
  llvm::SmallVector<mlir::Value> startOf(mlir::ValueRange values);
  llvm::SmallVector<mlir::Value> extend(const Lanes &at,
                                        mlir::ValueRange carried);
  llvm::SmallVector<mlir::Value> finished(mlir::ValueRange carried);

  // LaneExtremes.cpp
  bool splitsExtremes();
  llvm::SmallVector<mlir::Value> startExtreme(mlir::Value value);
  llvm::SmallVector<mlir::Value> extendExtreme(const Lanes &at,
                                               mlir::ValueRange carried);
  llvm::SmallVector<mlir::Value> joinExtremes(mlir::ValueRange a,
                                              mlir::ValueRange b);
  llvm::SmallVector<mlir::Value> reduceExtremes(mlir::ValueRange carried);
  mlir::Value finishExtreme(mlir::ValueRange carried);
  mlir::Value finishRow(mlir::ValueRange carried, int64_t unroll,
                        mlir::Value old);

  // LaneBlocks.cpp
  void emitBlocks(llvm::ArrayRef<unsigned> outer,
                  llvm::ArrayRef<unsigned> reductions);
  void emitBlock(const Block &block, llvm::ArrayRef<unsigned> reductions);
  void forColumns(int64_t room,
                  llvm::function_ref<void(llvm::ArrayRef<Lanes>)> body);
  void forRows(std::optional<unsigned> row, int64_t room,
               llvm::function_ref<void(llvm::ArrayRef<mlir::Value>)> body);
  bool meetsNoPadding(unsigned number, int64_t first, int64_t last);
  std::pair<int64_t, int64_t> blocksInside(unsigned number, int64_t count);
  void forBlocks(unsigned number, int64_t count, bool &inside,
                 llvm::function_ref<void(mlir::Value, int64_t)> block);
  llvm::SmallVector<mlir::Value> carryShort(llvm::ArrayRef<unsigned> loops,
                                            int64_t copies,
                                            llvm::SmallVector<mlir::Value>,
                                            Step body);
  int64_t opsPerVector();
  bool hasFactors();
  llvm::SmallVector<mlir::Value> writeOut(llvm::ArrayRef<unsigned> loops,
                                          llvm::SmallVector<mlir::Value>,
                                          Step body);
  llvm::SmallVector<mlir::Value> sumNarrow(const Block &block,
                                           llvm::ArrayRef<unsigned> reductions,
                                           llvm::SmallVector<mlir::Value>);
  llvm::SmallVector<mlir::Value> addRun(const Block &block, unsigned last,
                                        mlir::Value low, mlir::Value high,
                                        mlir::ValueRange totals);
  void forBlock(const Block &block,
                llvm::function_ref<void(const Lanes &at)> body);

  bool extremesForget;
};

} // namespace backplane

#endif // BACKPLANE_EMIT_CPU_LANEEMITTER_H
