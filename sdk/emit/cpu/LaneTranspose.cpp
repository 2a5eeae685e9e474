// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/LaneTranspose.h"

#include "sdk/emit/cpu/LaneAccess.h"
#include "sdk/emit/cpu/LaneMemory.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace backplane {

bool Transposition::applies(linalg::GenericOp op, OpOperand &operand) const {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  return laneAccess(op, operand, along) == LaneAccess::Strided &&
         laneAccess(op, operand, across) == LaneAccess::Contiguous &&
         !map.getResults().back().isFunctionOfDim(along);
}

/// Whether results are contiguous along, and operands are too, are the same
/// there, or are to be transposed; one at least is.
static bool fits(linalg::GenericOp op, Transposition loops) {
  bool any = false;
  for (OpOperand *input : op.getDpsInputOperands()) {
    LaneAccess access = laneAccess(op, *input, loops.along);
    bool transposed = loops.applies(op, *input);
    any |= transposed;
    if (!transposed && access != LaneAccess::Uniform &&
        access != LaneAccess::Contiguous)
      return false;
  }
  return any && llvm::all_of(op.getDpsInitsMutable(), [&](OpOperand &init) {
           return laneAccess(op, init, loops.along) == LaneAccess::Contiguous &&
                  !op.payloadUsesValueFromOperand(&init);
         });
}

/// Iterations below which most of a tile would be empty.
static constexpr int64_t kLeastSide = 8;

std::optional<Transposition> findTransposition(linalg::GenericOp op) {
  if (op.getNumReductionLoops() > 0)
    return std::nullopt;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  auto isLong = [&](unsigned loop) {
    return ShapedType::isDynamic(sizes[loop]) || sizes[loop] >= kLeastSide;
  };
  for (unsigned along = 0; along < op.getNumLoops(); ++along)
    for (unsigned across = 0; across < op.getNumLoops(); ++across)
      if (along != across && isLong(along) && isLong(across) &&
          fits(op, {along, across}))
        return Transposition{along, across};
  return std::nullopt;
}

/// Each step exchanges what lies `distance` apart between pairs of vectors.
void transposeVectors(OpBuilder &builder, Location loc,
                      SmallVector<Value> &vectors) {
  auto count = int64_t(vectors.size());
  for (int64_t distance = count / 2; distance > 0; distance /= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t lane = 0; lane < count; ++lane) {
      bool second = lane & distance;
      low.push_back(second ? count + lane - distance : lane);
      high.push_back(second ? count + lane : lane + distance);
    }
    for (int64_t i = 0; i < count; ++i) {
      if (i & distance)
        continue;
      Value &a = vectors[i], &b = vectors[i + distance];
      Value first = vector::ShuffleOp::create(builder, loc, a, b, low);
      b = vector::ShuffleOp::create(builder, loc, a, b, high);
      a = first;
    }
  }
}

namespace {

/// Writes the loops. The loop with lanes is the one along the results.
class TransposeEmitter : LaneMemory {
public:
  TransposeEmitter(OpBuilder &builder, linalg::GenericOp op,
                   Transposition loops, VectorWidth width)
      : LaneMemory(builder, op, loops.along, width), loops(loops) {}
  void run();

private:
  Value inside(unsigned number, const Lanes &at, int64_t i);
  SmallVector<Value> loadTile(OpOperand &operand, const Lanes &along,
                              const Lanes &across);
  void emitTile(const Lanes &along, const Lanes &across);
  void emitRow(int64_t row, const Lanes &along, const Lanes &across,
               ArrayRef<SmallVector<Value>> tiles);

  Transposition loops;
};

} // namespace

/// Iteration i of a part, or the last one inside.
Value TransposeEmitter::inside(unsigned number, const Lanes &at, int64_t i) {
  Value position = add(at.start, i);
  if (!at.mask)
    return position;
  return arith::MinSIOp::create(builder, loc, position,
                                add(bounds[number], -1));
}

SmallVector<Value> TransposeEmitter::loadTile(OpOperand &operand,
                                              const Lanes &along,
                                              const Lanes &across) {
  auto type = width.of(getElementTypeOrSelf(operand.get().getType()));
  SmallVector<Value> vectors;
  ivs[loops.across] = across.start;
  for (int64_t i = 0; i < width.count; ++i) {
    ivs[loops.along] = inside(loops.along, along, i);
    if (across.mask)
      vectors.push_back(vector::MaskedLoadOp::create(
          builder, loc, type, operand.get(), indices(operand), across.mask,
          passThrough(type)));
    else
      vectors.push_back(vector::LoadOp::create(
          builder, loc, type, operand.get(), indices(operand)));
  }
  transposeVectors(builder, loc, vectors);
  return vectors;
}

/// The results of iteration `row` across.
void TransposeEmitter::emitRow(int64_t row, const Lanes &along,
                               const Lanes &across,
                               ArrayRef<SmallVector<Value>> tiles) {
  Lanes at = along;
  ivs[loops.across] = inside(loops.across, across, row);
  if (across.mask && row > 0) {
    Value exists = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::sgt, across.count, index(row));
    Value count = along.mask ? along.count : laneCount;
    at.count = arith::SelectOp::create(builder, loc, exists, count, index(0));
    at.mask = maskOf(at.count);
  }
  SmallVector<Value> arguments;
  for (auto [i, operand] : llvm::enumerate(op.getDpsInputOperands()))
    arguments.push_back(tiles[i].empty() ? load(*operand, at)
                                         : tiles[i][size_t(row)]);
  for (OpOperand &init : op.getDpsInitsMutable())
    arguments.push_back(
        passThrough(width.of(getElementTypeOrSelf(init.get().getType()))));
  ivs[loops.along] = at.start;
  auto indexOf = [&](unsigned number) -> Value {
    if (number != loops.along)
      return ivs[number];
    auto type = width.of(builder.getIndexType());
    Value step = vector::StepOp::create(builder, loc, type);
    return arith::AddIOp::create(
        builder, loc, broadcastTo(builder, loc, at.start, width), step);
  };
  SmallVector<Value> results =
      cloneBody(builder, loc, *op.getBody(), arguments, width, indexOf);
  for (auto [init, result] : llvm::zip(op.getDpsInitsMutable(), results))
    store(init, result, at);
}

void TransposeEmitter::emitTile(const Lanes &along, const Lanes &across) {
  SmallVector<SmallVector<Value>> tiles;
  for (OpOperand *operand : op.getDpsInputOperands())
    tiles.push_back(loops.applies(op, *operand)
                        ? loadTile(*operand, along, across)
                        : SmallVector<Value>());
  for (int64_t row = 0; row < width.count; ++row)
    emitRow(row, along, across, tiles);
}

void TransposeEmitter::run() {
  readBounds();
  SmallVector<unsigned> outer;
  for (unsigned i = 0; i < op.getNumLoops(); ++i)
    if (i != loops.along && i != loops.across)
      outer.push_back(i);
  forLoops(outer, [&] {
    forParts(loops.across, [&](const Lanes &across) {
      forParts(loops.along,
               [&](const Lanes &along) { emitTile(along, across); });
    });
  });
}

void emitTransposition(OpBuilder &builder, linalg::GenericOp op,
                       Transposition loops, int64_t lanes) {
  TransposeEmitter(builder, op, loops, VectorWidth(lanes)).run();
}

} // namespace backplane
