// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/gpu/Sequence.h"

#include "sdk/emit/gpu/IterationCount.h"
#include "sdk/lower/Marks.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace backplane;

namespace {

/// Turns of a loop whose size is not known.
constexpr double kUnknownIterations = 32768;
/// Invocations for a line at first; a long one leaves the others idle.
constexpr int64_t kShareOfLine = 4;

bool isIndependent(scf::ForOp loop) {
  return loop->hasAttr(bp::lower::independentMark);
}

bool writes(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        auto effects = dyn_cast<MemoryEffectOpInterface>(inner);
        bool known =
            effects ? !effects.hasEffect<MemoryEffects::Write>()
                    : inner->hasTrait<OpTrait::HasRecursiveMemoryEffects>();
        return known ? WalkResult::advance() : WalkResult::interrupt();
      })
      .wasInterrupted();
}

/// Whether members can hand on what a loop carries.
bool canHandOn(scf::ForOp loop) {
  return llvm::all_of(loop.getResultTypes(), [](Type type) {
    return type.isIntOrIndex() || type.isF32() || type.isF64();
  });
}

bool startsAtZero(scf::ForOp loop) {
  return isZeroInteger(loop.getLowerBound()) && isOneInteger(loop.getStep());
}

/// Turns that are known before the code is; a size that is not is long.
double iterationsOf(Operation *op) {
  double iterations = 0;
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    auto known = loop.getStaticTripCount();
    for (Operation &inner : *loop.getBody())
      iterations += iterationsOf(&inner);
    return (1 + iterations) *
           (known ? double(known->getZExtValue()) : kUnknownIterations);
  }
  for (Region &region : op->getRegions())
    for (Operation &inner : region.getOps())
      iterations += iterationsOf(&inner);
  return iterations;
}

double iterationsOf(const GpuStage &stage) {
  double iterations = 1;
  for (Operation *op : stage.ops)
    iterations += iterationsOf(op);
  for (scf::ForOp loop : stage.ordered) {
    auto known = loop.getStaticTripCount();
    iterations *= known ? double(known->getZExtValue()) : kUnknownIterations;
  }
  return iterations;
}

/// The loop that is all there is in the body of another.
scf::ForOp onlyLoop(scf::ForOp loop) {
  auto ops = loop.getBody()->without_terminator();
  return llvm::hasSingleElement(ops) ? dyn_cast<scf::ForOp>(*ops.begin())
                                     : scf::ForOp();
}

GpuStage findNest(Operation *op) {
  GpuStage stage{op, {}, {}, {op}};
  auto isOutside = [&](Value bound) {
    return !op->isAncestor(bound.getParentBlock()->getParentOp());
  };
  for (auto loop = dyn_cast<scf::ForOp>(op);
       loop && loop->getNumResults() == 0 && startsAtZero(loop) &&
       isOutside(loop.getUpperBound());
       loop = onlyLoop(loop)) {
    (isIndependent(loop) ? stage.lines : stage.ordered).push_back(loop);
    stage.ops.clear();
    for (Operation &inner : loop.getBody()->without_terminator())
      stage.ops.push_back(&inner);
  }
  stage.isLong = iterationsOf(stage) >= stage.iterations;
  return stage;
}

/// Whether the ops of a line can be done by members: what they make is known
/// to all, or written by one.
bool canShare(const GpuStage &stage) {
  if (!stage.isLong)
    return true;
  return llvm::all_of(stage.ops, [](Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return startsAtZero(loop) && canHandOn(loop);
    return op->getNumResults() == 0 || !writes(op);
  });
}

} // namespace

static void makeIndependent(scf::ParallelOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  SmallVector<Value> at;
  for (auto [from, to, step] :
       llvm::zip(op.getLowerBound(), op.getUpperBound(), op.getStep())) {
    auto loop = scf::ForOp::create(b, from, to, step);
    loop->setAttr(bp::lower::independentMark, b.getUnitAttr());
    at.push_back(loop.getInductionVar());
    b.setInsertionPoint(loop.getBody()->getTerminator());
  }
  IRRewriter rewriter(b);
  rewriter.eraseOp(op.getBody()->getTerminator());
  rewriter.inlineBlockBefore(op.getBody(), b.getInsertionBlock(),
                             b.getInsertionPoint(), at);
  rewriter.eraseOp(op);
}

void backplane::useIndependentLoops(ModuleOp module) {
  SmallVector<scf::ParallelOp> loops;
  module.walk([&](scf::ParallelOp op) {
    if (op.getInitVals().empty())
      loops.push_back(op);
  });
  for (scf::ParallelOp op : loops)
    makeIndependent(op);
}

/// One invocation may have a part of every stage: each stage has its share of
/// the iterations.
static void shareIterations(MutableArrayRef<GpuStage> stages) {
  for (GpuStage &stage : stages) {
    GpuStage shared = stage;
    shared.iterations /= double(stages.size());
    shared.isLong = iterationsOf(shared) >= shared.iterations;
    if (canShare(shared))
      stage = shared;
  }
}

/// The stages, none when there is an op that is neither one nor free.
static std::optional<SmallVector<GpuStage>> findStages(func::FuncOp func) {
  SmallVector<GpuStage> stages;
  for (Operation &op : func.getBody().front().without_terminator()) {
    if (isa<scf::ForallOp>(op))
      return std::nullopt;
    if (isa<memref::AllocOp, memref::DeallocOp>(op) ||
        (!isa<scf::ForOp>(op) && !writes(&op)))
      continue;
    if (!op.use_empty())
      return std::nullopt;
    stages.push_back(findNest(&op));
    if (!canShare(stages.back()))
      return std::nullopt;
  }
  shareIterations(stages);
  return stages;
}

/// All of a dispatch as one line, whose loops may make values for others.
static std::optional<GpuStage> findLine(func::FuncOp func) {
  GpuStage stage{nullptr, {}, {}, {}};
  auto isInLine = [&](Value value) {
    return llvm::is_contained(stage.ops, value.getDefiningOp());
  };
  auto all =
      llvm::make_pointer_range(func.getBody().front().without_terminator());
  for (Operation *op : llvm::to_vector(all)) {
    if (isa<memref::AllocOp, memref::DeallocOp, scf::ForallOp>(op))
      return std::nullopt;
    bool begins = isa<scf::ForOp>(op) || writes(op);
    if (stage.ops.empty() && !begins)
      continue;
    if (isPure(op) && llvm::none_of(op->getOperands(), isInLine))
      op->moveBefore(stage.ops.front());
    else
      stage.ops.push_back(op);
  }
  if (stage.ops.empty())
    return std::nullopt;
  stage.op = stage.ops.front();
  stage.isLong = iterationsOf(stage) >= stage.iterations;
  if (!stage.isLong || !canShare(stage))
    return std::nullopt;
  return stage;
}

/// Temporaries of a line would be those of all lines.
static bool hasInnerTemporaries(func::FuncOp func) {
  return func
      .walk([&](memref::AllocOp op) {
        return op->getParentOp() == func ? WalkResult::advance()
                                         : WalkResult::interrupt();
      })
      .wasInterrupted();
}

/// One stage alone is for as many work-groups as its lines need.
static Dim countItems(const Dispatch &dispatch, const GpuTarget &target,
                      ArrayRef<GpuStage> stages) {
  if (stages.size() > 1)
    return Dim(target.groupSize);
  Dim count(stages.front().isLong ? kShareOfLine : 1);
  for (scf::ForOp loop : stages.front().lines) {
    auto size = indexDim(dispatch, loop.getUpperBound());
    if (!size)
      return Dim(target.groupSize);
    count = count * *size;
  }
  return count;
}

std::optional<GpuSequence> backplane::findSequence(const Dispatch &dispatch,
                                                   const GpuTarget &target) {
  auto stages = findStages(dispatch.func);
  if (!stages)
    if (auto line = findLine(dispatch.func))
      return GpuSequence{target, {*line}, Dim(target.groupSize)};
  if (!stages || hasInnerTemporaries(dispatch.func))
    return std::nullopt;
  bool gains = llvm::any_of(*stages, [](const GpuStage &stage) {
    return stage.isLong || !stage.lines.empty();
  });
  if (!gains)
    return std::nullopt;
  return GpuSequence{target, *stages, countItems(dispatch, target, *stages)};
}

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

bool backplane::mayHaveLongLines(scf::ForallOp loop) {
  GpuStage stage{loop, {}, {}, {}};
  for (Operation &op : loop.getBody()->without_terminator())
    stage.ops.push_back(&op);
  stage.isLong = iterationsOf(stage) >= stage.iterations;
  bool shares = llvm::any_of(stage.ops, llvm::IsaPred<scf::ForOp>);
  loop.walk([&](memref::AllocOp) { shares = false; });
  return shares && stage.isLong && canShare(stage);
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
