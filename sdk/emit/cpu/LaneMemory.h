// SPDX-License-Identifier: Apache-2.0
//
// LaneMemory.h: loops over vectors of iterations, their loads and stores.
// Private to this folder.
#ifndef BACKPLANE_EMIT_CPU_LANEMEMORY_H
#define BACKPLANE_EMIT_CPU_LANEMEMORY_H

#include "sdk/emit/cpu/LanePadding.h"
#include "sdk/emit/cpu/VectorBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace backplane {

/// One vector of iterations of the vectorised loop.
struct Lanes {
  mlir::Value start; ///< index of the first lane
  mlir::Value mask;  ///< null: all lanes are inside
  mlir::Value count; ///< number of lanes inside, with a mask
};

/// The loops of an op, one of which has lanes, and its operands inside.
class LaneMemory {
public:
  /// `paddings` are of inputs that are read from their sources.
  LaneMemory(mlir::OpBuilder &builder, mlir::linalg::GenericOp op,
             unsigned loop, VectorWidth width,
             llvm::ArrayRef<Padding> paddings = {})
      : builder(builder), op(op), loc(op.getLoc()), loop(loop), width(width),
        paddings(paddings) {}

protected:
  /// Makes the number of lanes and the bounds of the loops here.
  void readBounds();
  mlir::Value load(mlir::OpOperand &operand, const Lanes &at);
  void store(mlir::OpOperand &operand, mlir::Value value, const Lanes &at);
  /// Where the element of the current iterations is.
  llvm::SmallVector<mlir::Value> indices(mlir::OpOperand &operand);
  /// What masked lanes read: an integer 1 cannot trap in a division, a float 0
  /// takes no register.
  mlir::Value passThrough(mlir::VectorType type);

  // Loops; those of the op put their index into `ivs`.
  void forLoop(mlir::Value low, mlir::Value high, mlir::Value step,
               llvm::function_ref<void(mlir::Value)> body);
  void forLoops(llvm::ArrayRef<unsigned> loops,
                llvm::function_ref<void()> body);
  /// Cuts a loop into whole vectors and the rest, which has a mask. Its index
  /// is in the lanes only.
  void forParts(unsigned number, llvm::function_ref<void(const Lanes &)> body);
  /// The lanes of which there are `count`, or fewer.
  mlir::Value maskOf(mlir::Value count);

  mlir::Value index(int64_t value) {
    return mlir::arith::ConstantIndexOp::create(builder, loc, value);
  }
  mlir::Value add(mlir::Value a, int64_t b) {
    return b == 0 ? a
                  : builder.createOrFold<mlir::arith::AddIOp>(loc, a, index(b));
  }

  mlir::OpBuilder &builder;
  mlir::linalg::GenericOp op;
  mlir::Location loc;
  unsigned loop; ///< the one with lanes
  VectorWidth width;
  mlir::Value laneCount;
  llvm::SmallVector<mlir::Value> bounds, ivs; ///< per loop
  /// Elements that were loaded before the loop, which all its lanes read.
  llvm::SmallDenseMap<mlir::OpOperand *, mlir::Value> shared;
  llvm::ArrayRef<Padding> paddings;
  /// Whether windows meet no padding in the last axis, and none in others.
  bool columnsAreInside = false, rowsAreInside = false;

private:
  const Padding *paddingOf(mlir::OpOperand &operand) const;
  mlir::Value loadVector(mlir::OpOperand &operand,
                         llvm::ArrayRef<mlir::Value> elements, mlir::Value mask,
                         int64_t offset = 0);
  mlir::Value loadInside(const Padding &padding,
                         llvm::ArrayRef<mlir::Value> position, mlir::Value mask,
                         int64_t offset);
  bool liesInRow(const Padding &padding, int64_t offset) const;
  mlir::Value lanesInside(mlir::Value first, int64_t size);
  mlir::Value loadStrided(mlir::OpOperand &operand, const Lanes &at);
  mlir::Value loadAlternate(mlir::OpOperand &operand, const Lanes &at);
  void storeStrided(mlir::OpOperand &operand, mlir::Value value,
                    const Lanes &at);
};

} // namespace backplane

#endif // BACKPLANE_EMIT_CPU_LANEMEMORY_H
