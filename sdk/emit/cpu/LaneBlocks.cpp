// SPDX-License-Identifier: Apache-2.0
//
// Reductions whose lanes are results. A block of results is computed at a time:
// enough accumulators to hide the latency of an addition, and neighbouring rows
// that share what they read.
#include "sdk/emit/cpu/LaneAccess.h"
#include "sdk/emit/cpu/LaneEmitter.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <algorithm>

using namespace mlir;

namespace backplane {

/// Accumulators of a block; they are in registers.
static constexpr int64_t kAccumulators = 8;
/// Vectors of a row in a block whose rows share what they read.
static constexpr int64_t kSharedVectors = 2;
/// Ops in a straight line, at most: loads that copies of a body share are one
/// then.
static constexpr int64_t kWrittenOps = 2400;
/// Iterations in a straight line, at most: processors foresee what the next
/// iteration of a loop reads, not what the next of many instructions does.
static constexpr int64_t kWrittenIterations = 32;
/// Iterations in a straight line, at most, where each has a factor of its own:
/// registers hold them for all vectors of a block.
static constexpr int64_t kWrittenFactors = 16;
/// Elements that are added in f32 before a sum in f64 takes them.
static constexpr int64_t kNarrowRun = 64;

struct LaneEmitter::Block {
  std::optional<unsigned> row; ///< the other loop
  ArrayRef<Value> rows;        ///< its iterations
  ArrayRef<Lanes> columns;
};

/// What a sum in f64 adds, before it is widened from f32.
static Value narrowAddend(linalg::GenericOp op) {
  auto sum = op.getNumDpsInits() == 1
                 ? dyn_cast_or_null<arith::AddFOp>(findCombiner(op, 0))
                 : arith::AddFOp();
  if (!sum || !sum.getType().isF64())
    return {};
  for (Value addend : sum->getOperands())
    if (auto widened = addend.getDefiningOp<arith::ExtFOp>())
      if (widened.getIn().getType().isF32())
        return widened.getIn();
  return {};
}

bool sumsInRuns(linalg::GenericOp op, unsigned loop) {
  return op.getIteratorTypesArray()[loop] == utils::IteratorType::parallel &&
         narrowAddend(op) != nullptr;
}

/// Calls `body` for each vector of a block.
void LaneEmitter::forBlock(const Block &block,
                           function_ref<void(const Lanes &)> body) {
  for (Value row : block.rows) {
    if (block.row)
      ivs[*block.row] = row;
    for (const Lanes &at : block.columns)
      body(at);
  }
}

bool LaneEmitter::meetsNoPadding(unsigned number, int64_t first, int64_t last) {
  return backplane::meetsNoPadding(op, paddings, loop, number, first, last);
}

/// Of whole blocks of `count` iterations those, in a row, that meet no padding:
/// the others are written out, where they are few. Without them all blocks.
std::pair<int64_t, int64_t> LaneEmitter::blocksInside(unsigned number,
                                                      int64_t count) {
  constexpr int64_t maxWritten = 4;
  int64_t whole = *getConstantIntValue(bounds[number]) / count * count;
  int64_t low = 0, high = whole, written = 0;
  for (; low < whole && !meetsNoPadding(number, low, low + count - 1);
       low += count)
    if (++written > maxWritten)
      return {0, whole};
  for (; high > low && !meetsNoPadding(number, high - count, high - 1);
       high -= count)
    if (++written > maxWritten)
      return {0, whole};
  return {low, high};
}

/// Calls `block` for blocks of `count` iterations of a loop of known size and
/// for what is left, with the first one and their number. `inside` is whether
/// those of a call meet no padding.
void LaneEmitter::forBlocks(unsigned number, int64_t count, bool &inside,
                            function_ref<void(Value, int64_t)> block) {
  int64_t size = *getConstantIntValue(bounds[number]);
  auto [low, high] = blocksInside(number, count);
  for (int64_t at = 0; at < low; at += count)
    block(index(at), count);
  inside = meetsNoPadding(number, low, high - 1);
  if (high - low == count)
    block(index(low), count);
  else if (low < high)
    forLoop(index(low), index(high), index(count),
            [&](Value first) { block(first, count); });
  inside = false;
  for (int64_t at = high; at < size; at += count)
    block(index(at), std::min(count, size - at));
}

/// Cuts the loop with lanes into blocks of whole vectors, and what is left.
void LaneEmitter::forColumns(int64_t room,
                             function_ref<void(ArrayRef<Lanes>)> body) {
  std::optional<int64_t> size = getConstantIntValue(bounds[loop]);
  int64_t vectors = std::min<int64_t>(room, 4);
  if (!size || width.scalable) {
    forLanes(vectors, body);
    return;
  }
  auto block = [&](Value start, int64_t elements) {
    SmallVector<Lanes> columns;
    for (int64_t done = 0; done < elements; done += width.count) {
      Value at = add(start, done);
      columns.push_back(elements - done < width.count ? maskedLanes(at)
                                                      : Lanes{at, {}, {}});
    }
    body(columns);
  };
  if (*size <= room * width.count)
    return block(index(0), *size);
  forBlocks(loop, vectors * width.count, columnsAreInside, block);
}

/// Of `bound` rows as many as a block has room for, without a rest if possible.
static int64_t rowsAtOnce(int64_t room, int64_t bound) {
  for (int64_t rows = std::min(room, bound); rows > room / 2; --rows)
    if (bound % rows == 0)
      return rows;
  return std::max<int64_t>(1, std::min(room, bound));
}

/// Cuts another parallel loop into blocks.
void LaneEmitter::forRows(std::optional<unsigned> row, int64_t room,
                          function_ref<void(ArrayRef<Value>)> body) {
  if (!row)
    return body(Value());
  std::optional<int64_t> size = getConstantIntValue(bounds[*row]);
  int64_t count = size ? rowsAtOnce(room, *size) : room;
  auto block = [&](Value first, int64_t rows) {
    SmallVector<Value> numbers;
    for (int64_t i = 0; i < rows; ++i)
      numbers.push_back(add(first, i));
    body(numbers);
  };
  if (size)
    return forBlocks(*row, count, rowsAreInside, block);
  Value rest = arith::RemUIOp::create(builder, loc, bounds[*row], index(count));
  Value whole = arith::SubIOp::create(builder, loc, bounds[*row], rest);
  forLoop(index(0), whole, index(count),
          [&](Value first) { block(first, count); });
  forLoop(whole, bounds[*row], index(1), [&](Value first) { block(first, 1); });
}

/// The loops written out. Of a sum of floats over several loops the last one is
/// added up by itself: rows of a window, whose errors so stay small.
SmallVector<Value> LaneEmitter::writeOut(ArrayRef<unsigned> loops,
                                         SmallVector<Value> carried,
                                         Step body) {
  if (loops.empty())
    return body(carried);
  bool sumsRow = loops.size() == 1 && op.getNumReductionLoops() > 1 &&
                 op.getNumDpsInits() == 1 &&
                 isa_and_nonnull<arith::AddFOp>(findCombiner(op, 0));
  SmallVector<Value> totals = carried;
  if (sumsRow)
    for (Value &value : carried)
      value = arith::ConstantOp::create(builder, loc,
                                        builder.getZeroAttr(value.getType()));
  int64_t size = *getConstantIntValue(bounds[loops.front()]);
  for (int64_t i = 0; i < size; ++i) {
    ivs[loops.front()] = index(i);
    carried = writeOut(loops.drop_front(), carried, body);
  }
  if (sumsRow)
    for (auto [value, total] : llvm::zip(carried, totals))
      value = arith::AddFOp::create(builder, loc, total, value);
  return carried;
}

/// Ops that one vector of iterations takes, about.
int64_t LaneEmitter::opsPerVector() {
  int64_t ops = bodySize();
  for (OpOperand *operand : op.getDpsInputOperands()) {
    if (!op.payloadUsesValueFromOperand(operand))
      continue;
    LaneAccess access = laneAccess(op, *operand, loop);
    ops += access == LaneAccess::Strided     ? 4 * width.count
           : access == LaneAccess::Alternate ? 8
                                             : 2;
  }
  return ops;
}

/// Whether the body takes several inputs, as windows with weights do.
bool LaneEmitter::hasFactors() {
  return llvm::count_if(op.getDpsInputOperands(), [&](OpOperand *input) {
           return op.payloadUsesValueFromOperand(input);
         }) > 1;
}

/// Loops that carry values, the inner ones written out where they are short;
/// `copies`: how often `body` has the body of the op.
SmallVector<Value> LaneEmitter::carryShort(ArrayRef<unsigned> loops,
                                           int64_t copies,
                                           SmallVector<Value> carried,
                                           Step body) {
  int64_t ops = copies * opsPerVector(), written = 1;
  int64_t most = hasFactors() ? kWrittenFactors : kWrittenOps;
  size_t kept = loops.size();
  for (; kept > 0; --kept) {
    std::optional<int64_t> size = getConstantIntValue(bounds[loops[kept - 1]]);
    if (!size || *size > kWrittenIterations || *size * ops > kWrittenOps ||
        (written > 1 && *size * written > most))
      break;
    ops *= *size;
    written *= *size;
  }
  return carryLoops(loops.take_front(kept), std::move(carried),
                    [&](ValueRange values) {
                      return writeOut(loops.drop_front(kept),
                                      SmallVector<Value>(values), body);
                    });
}

/// Adds the elements from `low` to `high` of the last loop to the totals.
SmallVector<Value> LaneEmitter::addRun(const Block &block, unsigned last,
                                       Value low, Value high,
                                       ValueRange totals) {
  auto type = width.of(builder.getF32Type());
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  SmallVector<Value> sums(totals.size(), zero);
  auto run = scf::ForOp::create(builder, loc, low, high, index(1), sums);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(run.getBody());
    ivs[last] = run.getInductionVar();
    SmallVector<Value> next;
    forBlock(block, [&](const Lanes &at) {
      SmallVector<Value> arguments = loadInputs(at);
      arguments.push_back(Value(arith::ConstantOp::create(
          builder, loc, builder.getZeroAttr(builder.getF64Type()))));
      Value addend = cloneBody(
          builder, loc, *op.getBody(), arguments, width,
          [&](unsigned number) { return indexOf(number, at); },
          narrowAddend(op))[0];
      addend = broadcastTo(builder, loc, addend, width);
      next.push_back(arith::AddFOp::create(
          builder, loc, run.getRegionIterArg(next.size()), addend));
    });
    scf::YieldOp::create(builder, loc, next);
  }
  SmallVector<Value> results;
  for (auto [total, sum] : llvm::zip(totals, run.getResults())) {
    Value wide = arith::ExtFOp::create(builder, loc, total.getType(), sum);
    results.push_back(arith::AddFOp::create(builder, loc, total, wide));
  }
  return results;
}

/// Sums in f64, which runs of the last loop are added to in f32: a rounding
/// error grows with the length of a run only.
SmallVector<Value> LaneEmitter::sumNarrow(const Block &block,
                                          ArrayRef<unsigned> reductions,
                                          SmallVector<Value> totals) {
  unsigned last = reductions.back();
  return carryLoops(
      reductions.drop_back(), std::move(totals), [&](ValueRange values) {
        auto runs =
            scf::ForOp::create(builder, loc, index(0), bounds[last],
                               index(kNarrowRun), SmallVector<Value>(values));
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPointToStart(runs.getBody());
        Value low = runs.getInductionVar();
        Value high = arith::MinSIOp::create(builder, loc, add(low, kNarrowRun),
                                            bounds[last]);
        scf::YieldOp::create(
            builder, loc,
            addRun(block, last, low, high, runs.getRegionIterArgs()));
        return SmallVector<Value>(runs.getResults());
      });
}

void LaneEmitter::emitBlock(const Block &block, ArrayRef<unsigned> reductions) {
  SmallVector<Value> carried;
  int64_t copies = 0;
  forBlock(block, [&](const Lanes &at) {
    SmallVector<Value> values;
    for (OpOperand &init : op.getDpsInitsMutable())
      values.push_back(
          op.payloadUsesValueFromOperand(&init)
              ? broadcastTo(builder, loc, load(init, at), width)
              : passThrough(width.of(getElementTypeOrSelf(init.get()))));
    llvm::append_range(carried, startOf(values));
    ++copies;
  });
  size_t each = carried.size() / size_t(copies);
  auto step = [&](ValueRange values) {
    SmallVector<Value> next;
    forBlock(block, [&](const Lanes &at) {
      ValueRange own = values.slice(next.size(), each);
      for (Value value : extend(at, own))
        next.push_back(broadcastTo(builder, loc, value, width));
    });
    return next;
  };
  bool narrow = !width.scalable && narrowAddend(op);
  SmallVector<Value> results =
      narrow ? sumNarrow(block, reductions, carried)
             : carryShort(reductions, copies, carried, step);
  ValueRange rest(results);
  forBlock(block, [&](const Lanes &at) {
    SmallVector<Value> values = finished(rest.take_front(each));
    rest = rest.drop_front(each);
    for (auto [init, value] : llvm::zip(op.getDpsInitsMutable(), values))
      store(init, value, at);
  });
}

/// Whether lanes move along with a loop over a window.
static bool movesLanes(linalg::GenericOp op, unsigned lanes, unsigned window) {
  return llvm::any_of(op.getIndexingMapsArray(), [&](AffineMap map) {
    return llvm::any_of(map.getResults(), [&](AffineExpr expr) {
      return expr.isFunctionOfDim(lanes) && expr.isFunctionOfDim(window);
    });
  });
}

/// Puts those of the loops over a window first along which lanes move, where
/// the window is too large to be written out: the others, which are, then read
/// each vector once for several rows. Returns whether it did.
static bool putLanesFirst(linalg::GenericOp op, unsigned lanes,
                          SmallVectorImpl<unsigned> &windows) {
  constexpr int64_t many = kWrittenFactors + 1;
  int64_t elements = 1;
  for (unsigned window : windows) {
    int64_t size = op.getStaticLoopRanges()[window];
    bool isLong = ShapedType::isDynamic(size) || size > many;
    elements = std::min(many, elements * (isLong ? many : size));
  }
  if (elements < many)
    return false;
  auto *others =
      std::stable_partition(windows.begin(), windows.end(), [&](unsigned w) {
        return movesLanes(op, lanes, w);
      });
  return others != windows.begin() && others != windows.end();
}

/// The vectorised loop is parallel: each lane has its own accumulators.
void LaneEmitter::emitBlocks(ArrayRef<unsigned> outer,
                             ArrayRef<unsigned> reductions) {
  std::optional<unsigned> row;
  if (!outer.empty())
    row = outer.back();
  SmallVector<unsigned> window(reductions);
  bool sharesRows = putLanesFirst(op, loop, window);
  int64_t room = std::max<int64_t>(1, kAccumulators / op.getNumDpsInits());
  if (bodySize() > 8 || splitsExtremes())
    room = std::max<int64_t>(1, room / 2);
  forLoops(row ? outer.drop_back() : outer, [&] {
    forColumns(sharesRows ? std::min(room, kSharedVectors) : room,
               [&](ArrayRef<Lanes> columns) {
                 forRows(row,
                         std::max<int64_t>(1, room / int64_t(columns.size())),
                         [&](ArrayRef<Value> rows) {
                           emitBlock({row, rows, columns}, window);
                         });
               });
  });
}

} // namespace backplane
