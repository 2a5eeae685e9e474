// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/LaneRepeat.h"

#include "sdk/emit/cpu/LaneAccess.h"
#include "sdk/emit/cpu/LaneMemory.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace backplane {

/// Each time is a store of its own, so they are not too many.
static constexpr int64_t kMostTimes = 16;

/// The axes of a memref, the last two as one.
static SmallVector<ReassociationIndices> lastTwo(int64_t rank) {
  SmallVector<ReassociationIndices> groups;
  for (int64_t axis = 0; axis < rank - 1; ++axis)
    groups.push_back({axis});
  groups.back().push_back(rank - 1);
  return groups;
}

bool Repetition::covers(linalg::GenericOp op, OpOperand &operand) const {
  auto type = dyn_cast<MemRefType>(operand.get().getType());
  AffineMap map = op.getMatchingIndexingMap(&operand);
  unsigned rank = map.getNumResults();
  auto loopAt = [&](unsigned axis) {
    auto dim = dyn_cast<AffineDimExpr>(map.getResult(axis));
    return dim ? std::optional(dim.getPosition()) : std::nullopt;
  };
  if (!type || rank < 2 || loopAt(rank - 2) != loop ||
      loopAt(rank - 1) != inner || !type.isLastDimUnitStride() ||
      type.getDimSize(rank - 1) != times ||
      !memref::CollapseShapeOp::isGuaranteedCollapsible(type, lastTwo(rank)))
    return false;
  return llvm::none_of(map.getResults().drop_back(2), [&](AffineExpr expr) {
    return expr.isFunctionOfDim(loop) || expr.isFunctionOfDim(inner);
  });
}

bool Repetition::repeats(linalg::GenericOp op, OpOperand &operand) const {
  return laneAccess(op, operand, loop) == LaneAccess::Contiguous &&
         laneAccess(op, operand, inner) == LaneAccess::Uniform;
}

static bool fits(linalg::GenericOp op, Repetition loops) {
  bool any = false;
  for (OpOperand *input : op.getDpsInputOperands()) {
    bool repeated = loops.repeats(op, *input);
    any |= repeated;
    bool same = laneAccess(op, *input, loops.loop) == LaneAccess::Uniform &&
                laneAccess(op, *input, loops.inner) == LaneAccess::Uniform;
    if (!repeated && !same && !loops.covers(op, *input))
      return false;
  }
  return any && llvm::all_of(op.getDpsInitsMutable(), [&](OpOperand &init) {
           return loops.covers(op, init) &&
                  !op.payloadUsesValueFromOperand(&init);
         });
}

std::optional<Repetition> findRepetition(linalg::GenericOp op) {
  if (op.getNumReductionLoops() > 0 || op.hasIndexSemantics() ||
      op.getNumDpsInits() == 0)
    return std::nullopt;
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  if (map.getNumResults() < 2 || !map.isProjectedPermutation())
    return std::nullopt;
  unsigned rank = map.getNumResults();
  unsigned loop = map.getDimPosition(rank - 2);
  unsigned inner = map.getDimPosition(rank - 1);
  int64_t times = op.getStaticLoopRanges()[inner];
  if (ShapedType::isDynamic(times) || times < 2 || times > kMostTimes ||
      !fits(op, {loop, inner, times}))
    return std::nullopt;
  return Repetition{loop, inner, times};
}

namespace {

/// Writes the loops.
class RepeatEmitter : LaneMemory {
public:
  RepeatEmitter(OpBuilder &builder, linalg::GenericOp op, Repetition loops,
                VectorWidth width)
      : LaneMemory(builder, op, loops.loop, width), loops(loops) {}
  void run();

private:
  void collapseOperands();
  void emitVector(const Lanes &at);
  void emitTime(int64_t time, const Lanes &at, ArrayRef<Value> loaded);
  Lanes lanesOf(int64_t time, const Lanes &at);
  Value repeat(Value vector, int64_t time);
  SmallVector<Value> position(OpOperand &operand, Value row);
  Value loadRow(OpOperand &operand, const Lanes &row);
  void storeRow(OpOperand &operand, Value value, const Lanes &row);

  Repetition loops;
  /// Operands that both loops cover, with one axis for both.
  llvm::SmallDenseMap<OpOperand *, Value> rows;
};

} // namespace

void RepeatEmitter::collapseOperands() {
  for (OpOperand &operand : op->getOpOperands())
    if (loops.covers(op, operand)) {
      auto rank = cast<MemRefType>(operand.get().getType()).getRank();
      rows[&operand] = memref::CollapseShapeOp::create(
          builder, loc, operand.get(), lastTwo(rank));
    }
}

/// The lanes of the results number `time` of a vector of elements.
Lanes RepeatEmitter::lanesOf(int64_t time, const Lanes &at) {
  int64_t before = time * width.count;
  Value times = index(loops.times);
  Lanes row{add(arith::MulIOp::create(builder, loc, at.start, times), before),
            {},
            {}};
  if (!at.mask)
    return row;
  row.count =
      add(arith::MulIOp::create(builder, loc, at.count, times), -before);
  row.mask = maskOf(row.count);
  return row;
}

/// Those of the lanes that results number `time` read, each as often as it is.
Value RepeatEmitter::repeat(Value vector, int64_t time) {
  SmallVector<int64_t> from;
  for (int64_t lane = 0; lane < width.count; ++lane)
    from.push_back((time * width.count + lane) / loops.times);
  return vector::ShuffleOp::create(builder, loc, vector, vector, from);
}

/// Where a row of results begins in an operand that both loops cover.
SmallVector<Value> RepeatEmitter::position(OpOperand &operand, Value row) {
  SmallVector<Value> at = indices(operand);
  at.pop_back();
  at.back() = row;
  return at;
}

Value RepeatEmitter::loadRow(OpOperand &operand, const Lanes &row) {
  auto type = width.of(getElementTypeOrSelf(operand.get().getType()));
  SmallVector<Value> at = position(operand, row.start);
  if (!row.mask)
    return vector::LoadOp::create(builder, loc, type, rows[&operand], at);
  return vector::MaskedLoadOp::create(builder, loc, type, rows[&operand], at,
                                      row.mask, passThrough(type));
}

void RepeatEmitter::storeRow(OpOperand &operand, Value value,
                             const Lanes &row) {
  SmallVector<Value> at = position(operand, row.start);
  value = broadcastTo(builder, loc, value, width);
  if (row.mask)
    vector::MaskedStoreOp::create(builder, loc, rows[&operand], at, row.mask,
                                  value);
  else
    vector::StoreOp::create(builder, loc, value, rows[&operand], at);
}

void RepeatEmitter::emitTime(int64_t time, const Lanes &at,
                             ArrayRef<Value> loaded) {
  Lanes row = lanesOf(time, at);
  SmallVector<Value> arguments;
  for (auto [operand, value] : llvm::zip(op.getDpsInputOperands(), loaded)) {
    if (rows.contains(operand))
      arguments.push_back(loadRow(*operand, row));
    else
      arguments.push_back(isa<VectorType>(value.getType()) ? repeat(value, time)
                                                           : value);
  }
  for (OpOperand &init : op.getDpsInitsMutable())
    arguments.push_back(
        passThrough(width.of(getElementTypeOrSelf(init.get().getType()))));
  SmallVector<Value> results =
      cloneBody(builder, loc, *op.getBody(), arguments, width,
                [](unsigned) { return Value(); });
  for (auto [init, result] : llvm::zip(op.getDpsInitsMutable(), results))
    storeRow(init, result, row);
}

void RepeatEmitter::emitVector(const Lanes &at) {
  SmallVector<Value> loaded;
  ivs[loops.inner] = index(0);
  for (OpOperand *operand : op.getDpsInputOperands())
    loaded.push_back(rows.contains(operand) ? Value() : load(*operand, at));
  ivs[loops.loop] = at.start;
  for (int64_t time = 0; time < loops.times; ++time)
    emitTime(time, at, loaded);
}

void RepeatEmitter::run() {
  readBounds();
  collapseOperands();
  SmallVector<unsigned> outer;
  for (unsigned i = 0; i < op.getNumLoops(); ++i)
    if (i != loops.loop && i != loops.inner)
      outer.push_back(i);
  forLoops(outer, [&] {
    forParts(loops.loop, [&](const Lanes &at) { emitVector(at); });
  });
}

void emitRepetition(OpBuilder &builder, linalg::GenericOp op, Repetition loops,
                    int64_t lanes) {
  RepeatEmitter(builder, op, loops, VectorWidth(lanes)).run();
}

} // namespace backplane
