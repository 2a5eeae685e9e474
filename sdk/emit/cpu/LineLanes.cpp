// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/LineLanes.h"

#include "sdk/emit/common/CodePaths.h"
#include "sdk/emit/cpu/VectorBuilder.h"
#include "sdk/lower/Marks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace backplane {
namespace {

/// Vectors side by side: as many chains of ops that wait for each other, and
/// as many as registers hold where an iteration is short, as lines are far
/// apart in memory.
constexpr int64_t kVectors = 4, kVectorsOfShort = 12;
/// Ops of an iteration that is short: a load, an op and a store.
constexpr int64_t kShortOps = 4;

/// Whether the lines are one loop each, which carries one value through short
/// iterations.
bool isShort(scf::ForOp lines) {
  auto loops = llvm::to_vector(lines.getBody()->getOps<scf::ForOp>());
  if (loops.size() != 1 || loops[0].getNumResults() != 1)
    return false;
  auto body = loops[0].getBody()->without_terminator();
  return llvm::range_size(body) <= kShortOps &&
         llvm::all_of(body,
                      [](Operation &op) { return op.getNumRegions() == 0; });
}

/// Whether an access lies in a row along the loop.
bool isInRow(ValueRange indices, scf::ForOp lines) {
  return !indices.empty() && indices.back() == lines.getInductionVar();
}

/// Finds whether the iterations of a loop can be lanes.
class LineCheck {
public:
  explicit LineCheck(scf::ForOp lines) : lines(lines) {}

  /// Bits of the widest element; none: they cannot.
  std::optional<unsigned> widest() {
    bool fits = lines.getNumResults() == 0 && isOneInteger(lines.getStep()) &&
                check(*lines.getBody());
    return fits && stores ? std::optional(bits) : std::nullopt;
  }

private:
  bool check(Block &body) {
    return llvm::all_of(body.without_terminator(),
                        [&](Operation &op) { return check(op); });
  }

  bool check(Operation &op) {
    if (auto load = dyn_cast<memref::LoadOp>(op))
      return checkLoad(load);
    if (auto store = dyn_cast<memref::StoreOp>(op))
      return checkStore(store);
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return checkLoop(loop);
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return checkBranch(branch);
    if (!isLaneByLane(op) || !isSpeculatable(&op) ||
        llvm::is_contained(op.getOperands(), lines.getInductionVar()))
      return false;
    if (llvm::any_of(op.getOperands(), isVarying()))
      llvm::for_each(op.getResults(), [&](Value value) { vary(value); });
    return true;
  }

  bool checkLoad(memref::LoadOp load) {
    if (!isAccess(load.getMemRefType(), load.getIndices()))
      return false;
    if (isInRow(load.getIndices(), lines))
      vary(load.getResult());
    return true;
  }

  bool checkStore(memref::StoreOp store) {
    if (!isAccess(store.getMemRefType(), store.getIndices()))
      return false;
    // All lanes store one value at one place, as a report is.
    if (!isInRow(store.getIndices(), lines))
      return !isVarying()(store.getValueToStore());
    stores = true;
    note(store.getValueToStore().getType());
    return true;
  }

  /// All lanes take the same branch.
  bool checkBranch(scf::IfOp branch) {
    return branch.getNumResults() == 0 && !isVarying()(branch.getCondition()) &&
           llvm::all_of(branch->getRegions(), [&](Region &region) {
             return region.empty() || check(region.front());
           });
  }

  bool checkLoop(scf::ForOp loop) {
    Value range[] = {loop.getLowerBound(), loop.getUpperBound(),
                     loop.getStep()};
    if (llvm::any_of(range, isVarying()) ||
        !llvm::all_of(loop.getResultTypes(),
                      [](Type type) { return type.isIntOrFloat(); }))
      return false;
    for (Value value : loop.getRegionIterArgs())
      vary(value);
    for (Value value : loop.getResults())
      vary(value);
    return check(*loop.getBody());
  }

  /// Whether an access is of one element for all lanes, or of a row of them.
  bool isAccess(MemRefType type, ValueRange indices) {
    if (!type.getElementType().isIntOrFloat())
      return false;
    if (!isInRow(indices, lines))
      return llvm::none_of(indices, isVarying());
    return type.isLastDimUnitStride() &&
           llvm::none_of(indices.drop_back(), isVarying());
  }

  std::function<bool(Value)> isVarying() {
    return [this](Value value) {
      return value == lines.getInductionVar() || varying.contains(value);
    };
  }
  void vary(Value value) {
    varying.insert(value);
    note(value.getType());
  }
  void note(Type type) {
    bits =
        std::max(bits, type.isIntOrFloat() ? type.getIntOrFloatBitWidth() : 64);
  }

  scf::ForOp lines;
  llvm::DenseSet<Value> varying; ///< not the same in all lanes
  unsigned bits = 8;
  bool stores = false;
};

/// Copies the body of a loop for vectors of its iterations.
class LineEmitter : VectorBuilder {
public:
  LineEmitter(OpBuilder &builder, scf::ForOp lines, VectorWidth width)
      : VectorBuilder(builder, lines.getLoc(), width), lines(lines) {}

  void run() {
    Value low = lines.getLowerBound(), bound = lines.getUpperBound();
    if (isShort(lines))
      low = copyWhole(low, kVectorsOfShort);
    low = copyWhole(low, kVectors);
    forRange(low, bound, laneCount, [&](Value at) {
      mask = laneMask(minimum(sub(bound, at), laneCount));
      copyLines(at, 1);
    });
  }

private:
  /// Copies the body for so many vectors at a time. Returns where what is left
  /// begins.
  Value copyWhole(Value low, int64_t vectors) {
    Value bound = lines.getUpperBound(), step = lanesOf(vectors);
    Value whole = isZeroInteger(low)
                      ? wholeSteps(bound, step)
                      : add(low, wholeSteps(sub(bound, low), step));
    forRange(low, whole, step, [&](Value at) { copyLines(at, vectors); });
    return whole;
  }

  void copyLines(Value at, int64_t vectors) {
    maps.assign(size_t(vectors), IRMapping());
    for (auto [i, map] : llvm::enumerate(maps))
      map.map(lines.getInductionVar(), add(at, lanesOf(int64_t(i))));
    copy(*lines.getBody());
  }

  void copy(Block &body) {
    for (Operation &op : body.without_terminator()) {
      if (auto loop = dyn_cast<scf::ForOp>(op)) {
        copyLoop(loop);
        continue;
      }
      if (auto branch = dyn_cast<scf::IfOp>(op)) {
        copyBranch(branch);
        continue;
      }
      for (IRMapping &map : maps)
        copy(op, map);
    }
  }

  void copy(Operation &op, IRMapping &map) {
    if (auto load = dyn_cast<memref::LoadOp>(op))
      copyLoad(load, map);
    else if (auto store = dyn_cast<memref::StoreOp>(op))
      copyStore(store, map);
    else
      cloneOp(builder, loc, op, map, width);
  }

  void copyLoad(memref::LoadOp load, IRMapping &map) {
    if (!isInRow(load.getIndices(), lines)) {
      builder.clone(*load, map);
      return;
    }
    SmallVector<Value> at = mapped(load.getIndices(), map);
    VectorType type = vectorType(load.getType());
    Value base = load.getMemRef();
    Value row =
        mask ? vector::MaskedLoadOp::create(builder, loc, type, base, at, mask,
                                            zeroVector(load.getType()))
                   .getResult()
             : vector::LoadOp::create(builder, loc, type, base, at).getResult();
    map.map(load.getResult(), row);
  }

  void copyStore(memref::StoreOp store, IRMapping &map) {
    if (!isInRow(store.getIndices(), lines)) {
      if (&map == &maps.front())
        builder.clone(*store, map);
      return;
    }
    SmallVector<Value> at = mapped(store.getIndices(), map);
    Value row = broadcast(map.lookupOrDefault(store.getValueToStore()));
    Value base = store.getMemRef();
    if (mask)
      vector::MaskedStoreOp::create(builder, loc, base, at, mask, row);
    else
      vector::StoreOp::create(builder, loc, row, base, at);
  }

  /// One branch, for all vectors.
  void copyBranch(scf::IfOp branch) {
    auto copyRegion = [&](Region &region) {
      if (!region.empty())
        copy(region.front());
    };
    ifElse(
        maps.front().lookupOrDefault(branch.getCondition()),
        [&] { copyRegion(branch.getThenRegion()); },
        [&] { copyRegion(branch.getElseRegion()); });
  }

  /// One loop, which carries what all vectors do.
  void copyLoop(scf::ForOp loop) {
    IRMapping &first = maps.front();
    auto made = scf::ForOp::create(
        builder, loc, first.lookupOrDefault(loop.getLowerBound()),
        first.lookupOrDefault(loop.getUpperBound()),
        first.lookupOrDefault(loop.getStep()), vectors(loop.getInitArgs()));
    size_t each = loop.getNumResults();
    for (auto [i, map] : llvm::enumerate(maps)) {
      map.map(loop.getInductionVar(), made.getInductionVar());
      map.map(loop.getRegionIterArgs(),
              made.getRegionIterArgs().slice(i * each, each));
      map.map(loop.getResults(), made.getResults().slice(i * each, each));
    }
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(made.getBody());
    copy(*loop.getBody());
    if (each > 0)
      scf::YieldOp::create(
          builder, loc,
          vectors(loop.getBody()->getTerminator()->getOperands()));
  }

  /// What becomes of the values, for one vector after the other.
  SmallVector<Value> vectors(ValueRange values) {
    SmallVector<Value> all;
    for (IRMapping &map : maps)
      for (Value value : mapped(values, map))
        all.push_back(broadcast(value));
    return all;
  }

  static SmallVector<Value> mapped(ValueRange values, IRMapping &map) {
    return llvm::map_to_vector(
        values, [&](Value value) { return map.lookupOrDefault(value); });
  }

  scf::ForOp lines;
  Value mask;                  ///< null: all lanes are inside
  SmallVector<IRMapping> maps; ///< per vector
};

} // namespace

static void vectorizeLoop(scf::ForOp lines, unsigned vectorBits,
                          bool scalable) {
  std::optional<unsigned> bits = LineCheck(lines).widest();
  int64_t lanes = bits ? int64_t(vectorBits / *bits) : 0;
  std::optional<APInt> count = lines.getStaticTripCount();
  if (lanes < 2 || (count && count->ult(uint64_t(lanes) / 2)))
    return;
  OpBuilder builder(lines);
  LineEmitter(builder, lines, VectorWidth(lanes, scalable)).run();
  lines.erase();
}

bool areLanes(scf::ForOp lines) {
  return lines->hasAttr(bp::lower::independentMark) &&
         LineCheck(lines).widest();
}

void vectorizeLines(ModuleOp module, unsigned vectorBits, bool scalable) {
  SmallVector<scf::ForOp> loops;
  module.walk<WalkOrder::PreOrder>([&](scf::ForOp loop) {
    if (!areLanes(loop))
      return WalkResult::advance();
    loops.push_back(loop);
    return WalkResult::skip();
  });
  for (scf::ForOp loop : loops) {
    tellPath(loop.getLoc(), path::laneLines);
    vectorizeLoop(loop, vectorBits, scalable);
  }
}

} // namespace backplane
