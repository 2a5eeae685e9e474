// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/LaneWindow.h"

#include "sdk/emit/cpu/LaneAccess.h"
#include "sdk/emit/cpu/LaneGather.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace backplane {

/// Rows that use the positions of a vector before the next ones are computed.
static constexpr int64_t kRows = 64;

/// Whether a value is computed from operands that vary along `loop` alone.
static bool isSameInRows(linalg::GenericOp op, unsigned loop, Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getOwner() != op.getBody())
      return true;
    AffineMap map =
        op.getMatchingIndexingMap(&op->getOpOperand(argument.getArgNumber()));
    for (unsigned other = 0; other < op.getNumLoops(); ++other)
      if (other != loop && map.isFunctionOfDim(other))
        return false;
    return argument.getArgNumber() < op.getNumDpsInputs();
  }
  Operation *from = value.getDefiningOp();
  if (from->getBlock() != op.getBody())
    return true;
  return isLaneByLane(*from) &&
         llvm::all_of(from->getOperands(), [&](Value operand) {
           return isSameInRows(op, loop, operand);
         });
}

/// The last index of the loads, when there is one for all.
static Value positionOf(linalg::GenericOp op) {
  Value position;
  for (auto load : op.getBody()->getOps<memref::LoadOp>()) {
    if (load.getMemRefType().getRank() == 0)
      return {};
    Value last = load.getIndices().back();
    if (load.getType().getIntOrFloatBitWidth() != 32 ||
        (position && position != last))
      return {};
    position = last;
  }
  return position;
}

std::optional<unsigned> findWindow(linalg::GenericOp op) {
  Value position = positionOf(op);
  if (!position || op.getNumReductionLoops() > 0 || op.getNumLoops() < 2 ||
      op.getNumDpsInits() != 1)
    return std::nullopt;
  OpOperand &init = op.getDpsInitsMutable()[0];
  AffineMap map = op.getMatchingIndexingMap(&init);
  if (!map.isPermutation())
    return std::nullopt;
  unsigned loop = map.getDimPosition(map.getNumResults() - 1);
  bool gathers =
      llvm::all_of(op.getBody()->getOps<memref::LoadOp>(),
                   [&](auto load) { return isGathered(op, loop, load); });
  if (laneAccess(op, init, loop) != LaneAccess::Contiguous || !gathers ||
      op.payloadUsesValueFromOperand(&init) ||
      !isSameInRows(op, loop, position) || !elementLoadCost(op, loop, 1))
    return std::nullopt;
  return loop;
}

namespace {

/// Writes the loops.
class WindowEmitter : LaneMemory {
public:
  WindowEmitter(OpBuilder &builder, linalg::GenericOp op, unsigned loop,
                VectorWidth width, StringRef permute)
      : LaneMemory(builder, op, loop, width), permute(permute) {}
  void run();

private:
  void forRows(const Lanes &at, Value first, Value end);
  Value clonePosition(ValueRange arguments);
  Value reduce(vector::CombiningKind kind, Value position, const Lanes &at);
  SmallVector<Value> loadShared(const Lanes &at);
  void emitRow(const Lanes &at, ValueRange sharedInputs, Value first,
               Value lanesFromFirst);
  Value loadWindow(memref::LoadOp load, ValueRange row, Value first,
                   Value lanesFromFirst);

  StringRef permute;
  unsigned rows = 0; ///< the innermost of the other loops
};

} // namespace

/// Inputs that are the same in all rows; null: the others.
SmallVector<Value> WindowEmitter::loadShared(const Lanes &at) {
  SmallVector<Value> loaded;
  for (OpOperand *operand : op.getDpsInputOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(operand);
    loaded.push_back(isSameInRows(op, loop, argument) ? load(*operand, at)
                                                      : Value());
  }
  return loaded;
}

/// The positions of the lanes.
Value WindowEmitter::clonePosition(ValueRange arguments) {
  IRMapping map;
  for (auto [argument, value] :
       llvm::zip(op.getBody()->getArguments(), arguments))
    if (value)
      map.map(argument, value);
  Value position = positionOf(op);
  for (Operation &inner : op.getBody()->without_terminator())
    if (inner.getNumResults() == 1 && isLaneByLane(inner) &&
        isSameInRows(op, loop, inner.getResult(0)))
      cloneOp(builder, loc, inner, map, width);
  return broadcastTo(builder, loc, map.lookupOrDefault(position), width);
}

/// The lowest or highest position of the lanes inside.
Value WindowEmitter::reduce(vector::CombiningKind kind, Value position,
                            const Lanes &at) {
  if (at.mask) {
    // All others take that of the first lane, which is inside.
    Value first = vector::ExtractOp::create(builder, loc, position, 0);
    position = arith::SelectOp::create(builder, loc, at.mask, position,
                                       broadcastTo(builder, loc, first, width));
  }
  auto words = width.of(builder.getI64Type());
  Value reduced = vector::ReductionOp::create(
      builder, loc, kind,
      arith::IndexCastOp::create(builder, loc, words, position));
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                    reduced);
}

/// What a load reads: a vector from the first position on, in another order.
Value WindowEmitter::loadWindow(memref::LoadOp load, ValueRange row,
                                Value first, Value lanesFromFirst) {
  SmallVector<Value> at(row);
  at.push_back(first);
  auto axis = load.getMemRefType().getRank() - 1;
  Value size = memref::DimOp::create(builder, loc, load.getMemRef(), axis);
  Value inside = maskOf(arith::SubIOp::create(builder, loc, size, first));
  auto type = width.of(load.getType()), words = width.of(builder.getI32Type());
  Value window = vector::MaskedLoadOp::create(
      builder, loc, type, load.getMemRef(), at, inside, passThrough(type));
  window = builder.createOrFold<arith::BitcastOp>(loc, words, window);
  window = LLVM::CallIntrinsicOp::create(builder, loc, words,
                                         builder.getStringAttr(permute),
                                         ValueRange{window, lanesFromFirst})
               .getResult(0);
  return builder.createOrFold<arith::BitcastOp>(loc, type, window);
}

/// The results of one row; `lanesFromFirst` is null where lanes gather.
void WindowEmitter::emitRow(const Lanes &at, ValueRange sharedInputs,
                            Value first, Value lanesFromFirst) {
  SmallVector<Value> arguments;
  for (auto [operand, value] :
       llvm::zip(op.getDpsInputOperands(), sharedInputs))
    arguments.push_back(value ? value : load(*operand, at));
  OpOperand &init = op.getDpsInitsMutable()[0];
  arguments.push_back(
      passThrough(width.of(getElementTypeOrSelf(init.get().getType()))));
  ivs[loop] = at.start;
  auto window = [&](memref::LoadOp load, ValueRange row) {
    return loadWindow(load, row, first, lanesFromFirst);
  };
  SmallVector<Value> results = cloneLoadingBody(
      builder, op, loop, at, arguments, ivs, width,
      lanesFromFirst ? GatherBuilder(window) : GatherBuilder());
  store(init, results[0], at);
}

/// A vector of columns in rows `first` to `end`.
void WindowEmitter::forRows(const Lanes &at, Value first, Value end) {
  ivs[rows] = first;
  SmallVector<Value> inputs = loadShared(at);
  Value position = clonePosition(inputs);
  Value low = reduce(vector::CombiningKind::MINSI, position, at);
  Value high = reduce(vector::CombiningKind::MAXSI, position, at);
  Value distance = arith::SubIOp::create(builder, loc, high, low);
  Value fits = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                     distance, laneCount);
  Value fromFirst = arith::SubIOp::create(
      builder, loc, position, broadcastTo(builder, loc, low, width));
  fromFirst = arith::IndexCastOp::create(
      builder, loc, width.of(builder.getI32Type()), fromFirst);
  auto branch = scf::IfOp::create(builder, loc, fits, /*withElse=*/true);
  OpBuilder::InsertionGuard guard(builder);
  for (bool window : {true, false}) {
    builder.setInsertionPointToStart(window ? branch.thenBlock()
                                            : branch.elseBlock());
    forLoop(first, end, index(1), [&](Value row) {
      ivs[rows] = row;
      emitRow(at, inputs, low, window ? fromFirst : Value());
    });
  }
}

void WindowEmitter::run() {
  readBounds();
  SmallVector<unsigned> outer;
  for (unsigned i = 0; i < op.getNumLoops(); ++i)
    if (i != loop)
      outer.push_back(i);
  rows = outer.pop_back_val();
  forLoops(outer, [&] {
    forLoop(index(0), bounds[rows], index(kRows), [&](Value first) {
      Value end =
          arith::MinSIOp::create(builder, loc, add(first, kRows), bounds[rows]);
      forParts(loop, [&](const Lanes &at) { forRows(at, first, end); });
    });
  });
}

void emitWindow(OpBuilder &builder, linalg::GenericOp op, unsigned loop,
                int64_t lanes, StringRef permute) {
  WindowEmitter(builder, op, loop, VectorWidth(lanes), permute).run();
}

} // namespace backplane
