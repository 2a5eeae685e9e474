// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/gpu/Reduction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace backplane;

namespace {

class Emitter {
public:
  Emitter(OpBuilder &builder, GpuReduction &r, bool subgroups)
      : b(r.sums.op.getLoc(), builder), reader(b), r(r), subgroups(subgroups),
        loops{b, {}} {}

  LogicalResult run() {
    return r.team == r.target.clusterSize ? runClusters() : runGroup();
  }

private:
  LogicalResult runGroup();
  LogicalResult runClusters();
  void enterGroup();
  void enterClusters();
  Value addShare();
  Value addElement(Value number, Value sum);
  void fillBranch(Block *block, function_ref<Value()> make, bool &failed);
  Value choose(Value condition, function_ref<Value()> yes, Value otherwise);
  Value number() {
    return subgroups
               ? numberBySubgroup(b)
               : gpu::ThreadIdOp::create(b, gpu::Dimension::x).getResult();
  }
  Value addFrom(Value first, int64_t count);
  Value exchange(Value own) {
    return backplane::exchange(b, r.target.clusterSize, r.combiner,
                               r.sumOperand, own);
  }
  void meetInSubgroups(Value own);
  void meetInMemory(Value own);
  scf::IfOp onlyBelow(Value number, int64_t count);

  ImplicitLocOpBuilder b;
  ElementReader reader;
  GpuReduction &r;
  bool subgroups;
  GroupLoops loops;
  Value thread; ///< number in the work-group
  Value member; ///< number in the team
  Value memory;
  Value present; ///< there is a sum for this cluster
  SmallVector<Value> at;
};

} // namespace

Value backplane::addPairs(OpBuilder &builder, Operation *combiner,
                          unsigned sumOperand, SmallVector<Value> sums) {
  for (; sums.size() > 1; sums.truncate(sums.size() / 2))
    for (size_t i = 0; i < sums.size() / 2; ++i)
      sums[i] = combinePartial(builder, combiner, sumOperand, sums[2 * i],
                               sums[2 * i + 1]);
  return sums.front();
}

Value backplane::numberBySubgroup(ImplicitLocOpBuilder &b) {
  Value subgroup = gpu::SubgroupIdOp::create(b, b.getIndexType(), nullptr);
  Value size = gpu::SubgroupSizeOp::create(b, b.getIndexType(), nullptr);
  Value lane = gpu::LaneIdOp::create(b, b.getIndexType(), nullptr);
  Value first = arith::MulIOp::create(b, subgroup, size);
  return arith::AddIOp::create(b, first, lane);
}

Value backplane::exchange(ImplicitLocOpBuilder &b, int64_t clusterSize,
                          Operation *combiner, unsigned sumOperand, Value own) {
  for (int64_t step = 1; step < clusterSize; step *= 2) {
    auto other = gpu::ShuffleOp::create(
        b, own, int32_t(step), int32_t(clusterSize), gpu::ShuffleMode::XOR);
    own =
        combinePartial(b, combiner, sumOperand, own, other.getShuffleResult());
  }
  return own;
}

/// What follows is for invocations whose `number` is below `count`.
scf::IfOp Emitter::onlyBelow(Value number, int64_t count) {
  Value chosen = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, number,
                                       loops.index(count));
  auto branch = scf::IfOp::create(b, chosen);
  b.setInsertionPointToStart(branch.thenBlock());
  return branch;
}

void Emitter::enterGroup() {
  loops.sizes = reader.loopSizes(r.sums.op);
  Value row = loops.enter(loops.product(r.rows)).front();
  thread = member = number();
  at.assign(loops.sizes.size(), loops.index(0));
  loops.split(row, r.rows, at);
  int64_t parts = subgroups ? r.target.clusters()
                            : r.target.groupSize + r.target.clusters();
  memory = loops.share(parts, r.sums.init.getType());
}

/// The last work-group may have more clusters than there are sums: the others
/// compute the last one again, as all must be there to exchange values.
void Emitter::enterClusters() {
  loops.sizes = reader.loopSizes(r.sums.op);
  Value count = loops.product(r.rows);
  Value groups = b.createOrFold<arith::CeilDivUIOp>(
      count, loops.index(r.target.clusters()));
  Value group = loops.enter(groups).front();
  thread = number();
  member = arith::RemUIOp::create(b, thread, loops.index(r.target.clusterSize));
  Value cluster =
      arith::DivUIOp::create(b, thread, loops.index(r.target.clusterSize));
  Value first =
      arith::MulIOp::create(b, group, loops.index(r.target.clusters()));
  Value row = arith::AddIOp::create(b, first, cluster);
  Value last = b.createOrFold<arith::SubIOp>(count, loops.index(1));
  present = arith::CmpIOp::create(b, arith::CmpIPredicate::ule, row, last);
  at.assign(loops.sizes.size(), loops.index(0));
  loops.split(arith::MinUIOp::create(b, row, last), r.rows, at);
}

/// One element more. Null after a diagnostic.
Value Emitter::addElement(Value number, Value sum) {
  ElementReader::Scope scope(reader);
  SmallVector<Value> indices = at;
  loops.split(number, r.k, indices);
  auto values = reader.runBody(r.sums.op, indices, sum);
  return failed(values) ? Value() : values->front();
}

/// The code of one of two branches, which gives a value or null.
void Emitter::fillBranch(Block *block, function_ref<Value()> make,
                         bool &failed) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(block);
  Value value = make();
  failed |= !value;
  if (value)
    scf::YieldOp::create(b, value);
}

Value Emitter::choose(Value condition, function_ref<Value()> yes,
                      Value otherwise) {
  auto branch = scf::IfOp::create(b, otherwise.getType(), condition, true);
  bool failed = false;
  fillBranch(branch.thenBlock(), yes, failed);
  fillBranch(branch.elseBlock(), [&] { return otherwise; }, failed);
  return failed ? Value() : branch.getResult(0);
}

/// What this invocation adds up: each element of its number in the
/// team. All take the same iterations; a rest is left for some.
Value Emitter::addShare() {
  Value start = arith::ConstantOp::create(b, r.sums.init);
  Value count = loops.product(r.k), team = loops.index(r.team);
  Value iterations = b.createOrFold<arith::DivUIOp>(count, team);
  auto loop =
      scf::ForOp::create(b, loops.index(0), iterations, loops.index(1), start);
  auto number = [&](Value turn) -> Value {
    Value first = arith::MulIOp::create(b, turn, team);
    return arith::AddIOp::create(b, first, member);
  };
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value sum = addElement(number(loop.getInductionVar()),
                           loop.getRegionIterArgs().front());
    if (!sum)
      return {};
    scf::YieldOp::create(b, sum);
  }
  Value sum = loop.getResult(0), rest = number(iterations);
  if (ShapedType::isStatic(r.count) && r.count % r.team == 0)
    return sum;
  Value more = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, rest, count);
  return choose(more, [&] { return addElement(rest, sum); }, sum);
}

/// The sum of neighbours in the memory of the work-group.
Value Emitter::addFrom(Value first, int64_t count) {
  SmallVector<Value> sums;
  for (int64_t i = 0; i < count; ++i) {
    Value place = arith::AddIOp::create(b, first, loops.index(i));
    sums.push_back(memref::LoadOp::create(b, memory, place));
  }
  return addPairs(b, r.combiner, r.sumOperand, std::move(sums));
}

/// The sums of the clusters end up in the first places.
void Emitter::meetInSubgroups(Value own) {
  Value sum = exchange(own);
  Value lane =
      arith::RemUIOp::create(b, thread, loops.index(r.target.clusterSize));
  scf::IfOp some = onlyBelow(lane, 1);
  Value cluster =
      arith::DivUIOp::create(b, thread, loops.index(r.target.clusterSize));
  memref::StoreOp::create(b, sum, memory, cluster);
  b.setInsertionPointAfter(some);
}

/// The same behind the sums of the invocations.
void Emitter::meetInMemory(Value own) {
  memref::StoreOp::create(b, own, memory, thread);
  gpu::BarrierOp::create(b);
  scf::IfOp some = onlyBelow(thread, r.target.clusters());
  Value first =
      arith::MulIOp::create(b, thread, loops.index(r.target.clusterSize));
  Value sum = addFrom(first, r.target.clusterSize);
  Value place =
      arith::AddIOp::create(b, thread, loops.index(r.target.groupSize));
  memref::StoreOp::create(b, sum, memory, place);
  b.setInsertionPointAfter(some);
}

/// Each first invocation of a cluster has a whole sum.
LogicalResult Emitter::runClusters() {
  enterClusters();
  Value own = addShare();
  if (!own)
    return failure();
  Value sum = exchange(own);
  onlyBelow(member, 1);
  auto some = scf::IfOp::create(b, present);
  b.setInsertionPointToStart(some.thenBlock());
  return storeResults(b, reader, r.sums, at, sum);
}

/// The first invocation has the whole sum; what follows is for it alone.
LogicalResult Emitter::runGroup() {
  enterGroup();
  Value own = addShare();
  if (!own)
    return failure();
  subgroups ? meetInSubgroups(own) : meetInMemory(own);
  gpu::BarrierOp::create(b);
  onlyBelow(thread, 1);
  Value sum = addFrom(loops.index(subgroups ? 0 : r.target.groupSize),
                      r.target.clusters());
  return storeResults(b, reader, r.sums, at, sum);
}

LogicalResult backplane::emitReduction(OpBuilder &builder,
                                       GpuReduction &reduction,
                                       bool subgroups) {
  return Emitter(builder, reduction, subgroups).run();
}
