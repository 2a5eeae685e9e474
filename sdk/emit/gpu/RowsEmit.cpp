// SPDX-License-Identifier: Apache-2.0
//
// The code of a team of invocations for a row:
//
//   for each sum: add up own elements, meet; the sum is known from here on
//   store own elements of the results
//
// What an invocation has read or computed of its elements it keeps in
// registers, where they are few enough.
#include "sdk/emit/gpu/Launch.h"
#include "sdk/emit/gpu/Reduction.h"
#include "sdk/emit/gpu/Rows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace backplane {
namespace {

using Values = SmallVector<Value>;

class Emitter {
public:
  Emitter(ImplicitLocOpBuilder &b, GpuRows &r)
      : b(b), reader(b), r(r), loops{b, {}} {}
  LogicalResult run();

private:
  /// A part of a row: the elements of this invocation, and whether they are in
  /// it; null: surely.
  struct Part {
    SmallVector<Values> at;
    Value inside;
  };
  /// What a part makes of what the parts before it have made.
  using Step = function_ref<FailureOr<Values>(const Part &, ValueRange)>;

  void enter();
  Part partAt(Value number, bool mayEnd);
  FailureOr<Values> forParts(ValueRange carried, Step step);
  LogicalResult addSum(const GpuRowSum &sum);
  FailureOr<Values> addPart(const GpuRowSum &sum, const Part &part,
                            Value before);
  Value meet(const GpuRowSum &sum, Value own);
  Value meetInMemory(const GpuRowSum &sum, Value own);
  FailureOr<Values> store(const Part &part);
  LogicalResult storeRow();
  Values placeIn(Value tensor, ArrayRef<Value> at);
  void storeWhere(Value condition, ArrayRef<Value> values, Value buffer,
                  ArrayRef<Values> places);
  Value both(Value x, Value y) {
    return !x ? y : !y ? x : arith::AndIOp::create(b, x, y).getResult();
  }
  Value index(int64_t value) { return loops.index(value); }
  Value add(Value x, Value y) { return b.createOrFold<arith::AddIOp>(x, y); }
  Value mul(Value x, int64_t y) {
    return b.createOrFold<arith::MulIOp>(x, index(y));
  }

  ImplicitLocOpBuilder &b;
  ElementReader reader;
  GpuRows &r;
  GroupLoops loops;
  SmallVector<unsigned> rowLoops, columnLoops;
  Value thread, member;    ///< number in the work-group and in the team
  Value present;           ///< there is a row for this team; null: surely
  Values row;              ///< the values of its loops
  SmallVector<Part> parts; ///< all, where elements are kept
};

} // namespace

/// Teams beyond the last row compute it again: all must be there to exchange
/// values.
void Emitter::enter() {
  for (unsigned loop = 0; loop < r.sizes.size(); ++loop)
    (loop < r.rowLoops ? rowLoops : columnLoops).push_back(loop);
  loops.sizes = reader.loopSizes(r.sums.front().op);
  Value count = loops.product(rowLoops);
  int64_t teams = r.group / r.team;
  Value groups = b.createOrFold<arith::CeilDivUIOp>(count, index(teams));
  Value number = loops.enter(groups).front();
  thread = numberBySubgroup(b);
  member = b.createOrFold<arith::RemUIOp>(thread, index(r.team));
  if (teams > 1) {
    Value team = arith::DivUIOp::create(b, thread, index(r.team));
    number = add(mul(number, teams), team);
    present =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ult, number, count);
    Value last = arith::SubIOp::create(b, count, index(1));
    number = arith::MinUIOp::create(b, number, last);
  }
  row.assign(r.sizes.size(), index(0));
  loops.split(number, rowLoops, row);
}

/// Elements beyond the edge are the last ones again.
Emitter::Part Emitter::partAt(Value number, bool mayEnd) {
  Part part;
  Value first = mul(add(mul(number, r.team), member), r.lanes);
  if (mayEnd) {
    part.inside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, first,
                                        index(r.columns));
    first = arith::MinUIOp::create(b, first, index(r.columns - r.lanes));
  }
  for (int64_t lane = 0; lane < r.lanes; ++lane) {
    part.at.push_back(row);
    loops.split(add(first, index(lane)), columnLoops, part.at.back());
  }
  return part;
}

FailureOr<Values> Emitter::forParts(ValueRange carried, Step step) {
  if (r.keeps) {
    Values now(carried);
    for (const Part &part : parts) {
      auto next = step(part, now);
      if (failed(next))
        return failure();
      now = *next;
    }
    return now;
  }
  auto loop =
      scf::ForOp::create(b, index(0), index(r.parts()), index(1), carried);
  OpBuilder::InsertionGuard guard(b);
  if (carried.empty())
    b.setInsertionPoint(loop.getBody()->getTerminator());
  else
    b.setInsertionPointToStart(loop.getBody());
  ElementReader::Scope scope(reader);
  auto next = step(partAt(loop.getInductionVar(), r.hasEdge()),
                   loop.getRegionIterArgs());
  if (failed(next))
    return failure();
  if (!carried.empty())
    scf::YieldOp::create(b, *next);
  return Values(loop.getResults());
}

FailureOr<Values> Emitter::addPart(const GpuRowSum &sum, const Part &part,
                                   Value before) {
  Value own = before;
  for (const Values &at : part.at) {
    auto values = reader.runBody(sum.op, at, own);
    if (failed(values))
      return failure();
    own = values->front();
  }
  if (part.inside)
    own = arith::SelectOp::create(b, part.inside, own, before);
  return Values{own};
}

Value Emitter::meet(const GpuRowSum &sum, Value own) {
  own = exchange(b, r.target.clusterSize, sum.combiner, sum.sumOperand, own);
  return r.team == r.target.clusterSize ? own : meetInMemory(sum, own);
}

/// The sums of the clusters. Each sum has memory of its own, so that nobody
/// waits before it is written.
Value Emitter::meetInMemory(const GpuRowSum &sum, Value own) {
  int64_t clusters = r.team / r.target.clusterSize;
  Value memory = loops.share(clusters, own.getType());
  Value lane = arith::RemUIOp::create(b, thread, index(r.target.clusterSize));
  Value first =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane, index(0));
  auto branch = scf::IfOp::create(b, first);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Value cluster =
        arith::DivUIOp::create(b, thread, index(r.target.clusterSize));
    memref::StoreOp::create(b, own, memory, cluster);
  }
  gpu::BarrierOp::create(b);
  Values all;
  for (int64_t i = 0; i < clusters; ++i)
    all.push_back(memref::LoadOp::create(b, memory, index(i)));
  return addPairs(b, sum.combiner, sum.sumOperand, std::move(all));
}

LogicalResult Emitter::addSum(const GpuRowSum &sum) {
  Value init = arith::ConstantOp::create(b, sum.init);
  auto own = forParts(init, [&](const Part &part, ValueRange carried) {
    return addPart(sum, part, carried.front());
  });
  if (failed(own))
    return failure();
  linalg::GenericOp op = sum.op;
  reader.know(op.getResult(0), meet(sum, own->front()));
  return success();
}

/// Where the element of some loops is in a result, which may have another
/// shape.
Values Emitter::placeIn(Value tensor, ArrayRef<Value> at) {
  auto shape = cast<RankedTensorType>(tensor.getType()).getShape();
  if (shape == ArrayRef(r.sizes).take_front(at.size()))
    return Values(at);
  return inOrder(b, at,
                 getAsOpFoldResult(ArrayRef(loops.sizes).take_front(at.size())),
                 sizesOf(b, tensor));
}

void Emitter::storeWhere(Value condition, ArrayRef<Value> values, Value buffer,
                         ArrayRef<Values> places) {
  OpBuilder::InsertionGuard guard(b);
  if (condition) {
    auto branch = scf::IfOp::create(b, condition);
    b.setInsertionPointToStart(branch.thenBlock());
  }
  for (auto [value, place] : llvm::zip(values, places))
    memref::StoreOp::create(b, value, buffer, place);
}

FailureOr<Values> Emitter::store(const Part &part) {
  for (Written result : r.ofColumns) {
    Values values;
    SmallVector<Values> places;
    for (const Values &at : part.at) {
      places.push_back(placeIn(result.getSource(), at));
      values.push_back(reader.read(result.getSource(), places.back()));
      if (!values.back())
        return failure();
    }
    storeWhere(both(part.inside, present), values, result.getDest(), places);
  }
  return Values();
}

LogicalResult Emitter::storeRow() {
  Value first =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, member, index(0));
  for (Written result : r.ofRows) {
    Values place =
        placeIn(result.getSource(), ArrayRef(row).take_front(r.rowLoops));
    Value value = reader.read(result.getSource(), place);
    if (!value)
      return failure();
    storeWhere(both(first, present), value, result.getDest(), place);
  }
  return success();
}

LogicalResult Emitter::run() {
  enter();
  if (r.keeps)
    for (int64_t i = 0; i < r.parts(); ++i)
      parts.push_back(partAt(index(i), r.hasEdge() && i + 1 == r.parts()));
  for (const GpuRowSum &sum : r.sums)
    if (failed(addSum(sum)))
      return failure();
  auto stored =
      forParts({}, [&](const Part &part, ValueRange) { return store(part); });
  if (failed(stored))
    return failure();
  return storeRow();
}

LogicalResult emitGpuRows(func::FuncOp func, GpuRows &rows) {
  if (rows.group != rows.target.groupSize)
    askForThreads(func, rows.group);
  ImplicitLocOpBuilder builder(rows.sums.front().op.getLoc(),
                               func.getBody().front().getTerminator());
  if (failed(Emitter(builder, rows).run()))
    return failure();
  GroupSums done;
  done.results = rows.ofColumns;
  llvm::append_range(done.results, rows.ofRows);
  done.others = rows.others;
  return finishResults(func, done);
}

} // namespace backplane
