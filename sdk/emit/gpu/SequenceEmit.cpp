// SPDX-License-Identifier: Apache-2.0
//
// The code of work-groups for the stages of a dispatch.
#include "sdk/emit/gpu/Sequence.h"

#include "sdk/emit/gpu/IterationCount.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace backplane;

namespace {

/// Writes the code of a stage.
class StageEmitter {
public:
  StageEmitter(const GpuStage &stage, const GpuTarget &target, Value group,
               Value groups)
      : b(stage.op->getLoc(), stage.op), counter(b), stage(stage),
        target(target), group(group), groups(groups) {}

  void run();
  /// Leaves the lines alone if they are short; the block is for that case.
  Block *runIfLong();

private:
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  Value add(Value x, Value y) { return b.createOrFold<arith::AddIOp>(x, y); }
  Value times(Value x, Value y) { return b.createOrFold<arith::MulIOp>(x, y); }
  Value half(Value x, Value bits) { return arith::ShRUIOp::create(b, x, bits); }
  Value less(Value x, Value y) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, x, y);
  }
  Value equal(Value x, Value y) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, x, y);
  }
  Value product(ArrayRef<scf::ForOp> loops);
  Value iterationsOfLine();
  void findMembers();
  void runMembers();
  Value loopOverLines();
  void setIndices(Value number, ArrayRef<scf::ForOp> loops);
  void moveOps(Value line);
  void shareOps(Block &block);
  void writeOnce(Operation *op);
  void share(scf::ForOp loop);
  void doPart(scf::ForOp loop, Value part, ArrayRef<Value> slots);
  void moveTurn(scf::ForOp loop, Value at, ValueRange carried);
  SmallVector<Value> makeSlots(scf::ForOp loop);
  void hold(ValueRange values, ArrayRef<Value> slots);
  SmallVector<Value> held(scf::ForOp loop, ArrayRef<Value> slots);

  ImplicitLocOpBuilder b;
  IterationCounter counter;
  GpuStage stage;
  const GpuTarget &target;
  Value group, groups;
  Value count;         ///< of lines
  Value iterations;    ///< of a line, f32
  Value bits, members; ///< of a line; 2^bits
  Value teams;         ///< lines that a work-group does at a time
  Value member, team;  ///< numbers of this invocation
  Value active;        ///< it has a line
};

} // namespace

Value StageEmitter::product(ArrayRef<scf::ForOp> loops) {
  Value all = index(1);
  for (scf::ForOp loop : loops)
    all = times(all,
                b.createOrFold<arith::MaxSIOp>(loop.getUpperBound(), index(0)));
  return all;
}

/// As f32.
Value StageEmitter::iterationsOfLine() {
  IterationCount all{1, {}};
  for (Operation *op : stage.ops) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      all = counter.sum(all, counter.iterations(loop, stage.op));
    else
      for (Region &region : op->getRegions())
        for (Block &block : region)
          all = counter.sum(all, counter.inside(block, stage.op));
  }
  Value trips =
      arith::IndexCastOp::create(b, b.getI32Type(), product(stage.ordered));
  trips = arith::SIToFPOp::create(b, b.getF32Type(), trips);
  return arith::MulFOp::create(b, counter.total(all), trips);
}

/// A line has as many members as its iterations need. Neighbours are of
/// different lines, as far as a work-group does several.
void StageEmitter::findMembers() {
  bits = index(0);
  iterations = stage.isLong ? iterationsOfLine() : Value();
  for (int64_t i = 0; iterations && (int64_t(1) << i) < maxMembers(target);
       ++i) {
    Value limit = counter.number(stage.iterations * double(int64_t(1) << i));
    Value more =
        arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, iterations, limit);
    bits = arith::SelectOp::create(b, more, index(i + 1), bits);
  }
  members = arith::ShLIOp::create(b, index(1), bits);
  teams = half(index(target.groupSize), bits);
  Value all = index(llvm::Log2_64(target.groupSize));
  Value rest = arith::SubIOp::create(b, all, bits);
  Value thread = gpu::ThreadIdOp::create(b, gpu::Dimension::x);
  member = half(thread, rest);
  Value mask = arith::SubIOp::create(b, teams, index(1));
  team = arith::AndIOp::create(b, thread, mask);
}

/// All invocations of a work-group take the same iterations, as they meet in
/// them. The line of this one, which may be beyond the last.
Value StageEmitter::loopOverLines() {
  auto loop =
      scf::ForOp::create(b, times(group, teams), count, times(groups, teams));
  b.setInsertionPointToStart(loop.getBody());
  Value line = add(loop.getInductionVar(), team);
  active = less(line, count);
  return line;
}

void StageEmitter::setIndices(Value number, ArrayRef<scf::ForOp> loops) {
  if (loops.empty())
    return;
  SmallVector<OpFoldResult> sizes;
  for (scf::ForOp loop : loops)
    sizes.push_back(getAsOpFoldResult(loop.getUpperBound()));
  auto parts = affine::AffineDelinearizeIndexOp::create(b, number, sizes,
                                                        /*hasOuterBound=*/true);
  for (auto [loop, at] : llvm::zip(loops, parts.getResults()))
    scf::ForOp(loop).getInductionVar().replaceAllUsesWith(at);
}

/// The ops of a line come here. Loops with an order become one.
void StageEmitter::moveOps(Value line) {
  setIndices(line, stage.lines);
  if (!stage.ordered.empty()) {
    auto joined =
        scf::ForOp::create(b, index(0), product(stage.ordered), index(1));
    b.setInsertionPointToStart(joined.getBody());
    setIndices(joined.getInductionVar(), stage.ordered);
  }
  for (Operation *op : stage.ops)
    op->moveBefore(b.getInsertionBlock(), b.getInsertionPoint());
  if (!stage.lines.empty() || !stage.ordered.empty())
    stage.op->erase();
}

void StageEmitter::run() {
  count = product(stage.lines);
  findMembers();
  if (stage.isLong)
    return runMembers();
  Value line = loopOverLines();
  auto branch = scf::IfOp::create(b, active);
  b.setInsertionPointToStart(branch.thenBlock());
  moveOps(line);
}

void StageEmitter::runMembers() {
  Value line = loopOverLines();
  Block &block = *b.getInsertionBlock();
  // Who has no line reads where the last one does.
  Value last = arith::SubIOp::create(b, count, index(1));
  moveOps(arith::MinSIOp::create(b, line, last));
  shareOps(block);
}

Block *StageEmitter::runIfLong() {
  count = product(stage.lines);
  uint64_t atOnce = std::numeric_limits<uint64_t>::max();
  for (Operation *op : stage.ops)
    if (auto loop = dyn_cast<scf::ForOp>(op))
      atOnce = std::min(atOnce, iterationsAtOnce(loop));
  findMembers();
  Value most = counter.number(stage.iterations * double(atOnce));
  Value isShort =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OLE, iterations, most);
  auto branch = scf::IfOp::create(b, isShort, /*withElseRegion=*/true);
  b.setInsertionPointToStart(branch.elseBlock());
  runMembers();
  return branch.thenBlock();
}

/// Loops are shared out, other writes are for one member, and the rest is for
/// all of them.
void StageEmitter::shareOps(Block &block) {
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator())
    if (isa<scf::ForOp>(op) || writes(&op))
      ops.push_back(&op);
  for (Operation *op : ops) {
    b.setInsertionPoint(op);
    gpu::BarrierOp::create(b);
    if (auto loop = dyn_cast<scf::ForOp>(op))
      share(loop);
    else
      writeOnce(op);
  }
}

void StageEmitter::writeOnce(Operation *op) {
  Value first = equal(member, index(0));
  first = arith::AndIOp::create(b, active, first);
  auto branch = scf::IfOp::create(b, first);
  gpu::BarrierOp::create(b);
  op->moveBefore(branch.thenBlock()->getTerminator());
}

/// Members do their parts in turn, those of a nest of reductions as of one.
void StageEmitter::share(scf::ForOp loop) {
  (void)coalescePerfectlyNestedSCFForLoops(loop);
  SmallVector<Value> slots = makeSlots(loop);
  if (!slots.empty()) {
    auto branch = scf::IfOp::create(b, equal(member, index(0)));
    gpu::BarrierOp::create(b);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    hold(loop.getInitArgs(), slots);
  }
  auto parts = scf::ForOp::create(b, index(0), members, index(1));
  parts->setAttr(inTurnMark, b.getUnitAttr());
  b.setInsertionPointToStart(parts.getBody());
  doPart(loop, parts.getInductionVar(), slots);
  gpu::BarrierOp::create(b);
  b.setInsertionPoint(loop);
  loop->replaceAllUsesWith(held(loop, slots));
  loop->erase();
}

/// All parts have as many iterations, so that these can be counted beforehand.
void StageEmitter::doPart(scf::ForOp loop, Value part, ArrayRef<Value> slots) {
  Value more = arith::SubIOp::create(b, members, index(1));
  Value chunk = half(add(loop.getUpperBound(), more), bits);
  chunk = arith::MaxSIOp::create(b, chunk, index(0));
  Value first = times(part, chunk);
  Value mine = arith::AndIOp::create(b, active, equal(member, part));
  auto branch = scf::IfOp::create(b, mine);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  auto own = scf::ForOp::create(
      b, index(0), chunk, index(1), held(loop, slots),
      [&](OpBuilder &nested, Location, Value at, ValueRange carried) {
        OpBuilder::InsertionGuard inner(b);
        b.setInsertionPoint(nested.getInsertionBlock(),
                            nested.getInsertionPoint());
        moveTurn(loop, add(first, at), carried);
      });
  b.setInsertionPointAfter(own);
  hold(own.getResults(), slots);
}

/// The turn of a loop, if it has as many.
void StageEmitter::moveTurn(scf::ForOp loop, Value at, ValueRange carried) {
  Value exists = less(at, loop.getUpperBound());
  auto branch = scf::IfOp::create(b, loop.getResultTypes(), exists,
                                  /*withElseRegion=*/!carried.empty());
  scf::YieldOp::create(b, branch.getResults());
  Block *body = loop.getBody(), *block = branch.thenBlock();
  loop.getInductionVar().replaceAllUsesWith(at);
  for (auto [from, to] : llvm::zip(loop.getRegionIterArgs(), carried))
    from.replaceAllUsesWith(to);
  block->clear();
  block->getOperations().splice(block->end(), body->getOperations());
  if (carried.empty())
    return;
  b.setInsertionPointToEnd(branch.elseBlock());
  scf::YieldOp::create(b, carried);
}

/// Memory for what a loop carries, of each line.
SmallVector<Value> StageEmitter::makeSlots(scf::ForOp loop) {
  OpBuilder::InsertionGuard guard(b);
  auto func = loop->getParentOfType<func::FuncOp>();
  b.setInsertionPointToStart(&func.getBody().front());
  auto space =
      gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Workgroup);
  SmallVector<Value> slots;
  for (Type type : loop.getResultTypes()) {
    bool isWord = !type.isIndex() && type.getIntOrFloatBitWidth() >= 32;
    slots.push_back(memref::AllocOp::create(
        b, MemRefType::get({target.groupSize}, isWord ? type : b.getI32Type(),
                           MemRefLayoutAttrInterface(), space)));
  }
  return slots;
}

void StageEmitter::hold(ValueRange values, ArrayRef<Value> slots) {
  for (auto [value, slot] : llvm::zip(values, slots)) {
    Type to = cast<MemRefType>(slot.getType()).getElementType();
    Value word = value;
    if (value.getType().isIndex())
      word = arith::IndexCastOp::create(b, to, value);
    else if (value.getType() != to)
      word = arith::ExtUIOp::create(b, to, value);
    memref::StoreOp::create(b, word, slot, team);
  }
}

SmallVector<Value> StageEmitter::held(scf::ForOp loop, ArrayRef<Value> slots) {
  SmallVector<Value> values;
  for (auto [type, slot] : llvm::zip(loop.getResultTypes(), slots)) {
    Value word = memref::LoadOp::create(b, slot, team);
    if (type.isIndex())
      word = arith::IndexCastOp::create(b, type, word);
    else if (type != word.getType())
      word = arith::TruncIOp::create(b, type, word);
    values.push_back(word);
  }
  return values;
}

Block *backplane::emitLongLines(Operation *nest, const GpuTarget &target,
                                Value group, Value groups) {
  return StageEmitter(findNest(nest), target, group, groups).runIfLong();
}

void backplane::emitSequence(const GpuSequence &sequence, Value group,
                             Value groups) {
  bool several = sequence.stages.size() > 1;
  for (const GpuStage &stage : sequence.stages) {
    OpBuilder b(stage.op);
    auto before = gpu::BarrierOp::create(b, stage.op->getLoc());
    b.setInsertionPointAfter(stage.op);
    auto after = gpu::BarrierOp::create(b, stage.op->getLoc());
    StageEmitter(stage, sequence.target, group, groups).run();
    if (!several) {
      before->erase();
      after->erase();
    }
  }
}
