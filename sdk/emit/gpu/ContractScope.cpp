// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/gpu/ContractScope.h"

#include "sdk/emit/gpu/Contiguous.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace backplane {

Value ContractScope::below(Value x, Value size, int64_t step, Value condition) {
  llvm::APInt known;
  if (matchPattern(size, m_ConstantInt(&known)) &&
      known.getSExtValue() % step == 0)
    return condition;
  Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, x, size);
  return condition ? arith::AndIOp::create(b, condition, inside) : inside;
}

FailureOr<Value> ContractScope::readOperand(linalg::GenericOp op,
                                            const GpuOperand &factor,
                                            ValueRange loops) {
  IRMapping map;
  Block *body = op.getBody();
  for (OpOperand *input : factor.inputs) {
    Value element = reader.operand(op, *input, loops);
    if (!element)
      return failure();
    map.map(op.getMatchingBlockArgument(input), element);
  }
  llvm::SetVector<Operation *> needed;
  SmallVector<Value> work{factor.value};
  while (!work.empty()) {
    Operation *step = work.pop_back_val().getDefiningOp();
    if (step && step->getBlock() == body && needed.insert(step))
      llvm::append_range(work, step->getOperands());
  }
  for (Operation &step : *body)
    if (needed.contains(&step))
      b.clone(step, map);
  return map.lookupOrDefault(factor.value);
}

ContractScope::Values ContractScope::indicesAt(ArrayRef<unsigned> rowLoops,
                                               Value rowAt, Value kAt) {
  Values indices = at;
  loops.split(rowAt, rowLoops, indices);
  loops.split(kAt, c.k, indices);
  return indices;
}

FailureOr<ContractScope::Values>
ContractScope::readLanes(const GpuOperand &factor, ArrayRef<unsigned> rowLoops,
                         bool alongK, Value rowAt, Value kAt, int64_t lanes) {
  Values values;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    ElementReader::Scope scope(reader);
    Values indices =
        indicesAt(rowLoops, alongK ? rowAt : add(rowAt, index(lane)),
                  alongK ? add(kAt, index(lane)) : kAt);
    FailureOr<Value> value = readOperand(c.op, factor, indices);
    if (failed(value))
      return failure();
    values.push_back(*value);
  }
  return values;
}

FailureOr<ContractScope::Values>
ContractScope::guarded(Value inside, int64_t lanes, Type type,
                       function_ref<FailureOr<Values>()> read) {
  if (!inside)
    return read();
  SmallVector<Type> types(size_t(lanes), type);
  auto branch = scf::IfOp::create(b, types, inside, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(branch.thenBlock());
  FailureOr<Values> values = read();
  if (failed(values))
    return failure();
  scf::YieldOp::create(b, *values);
  b.setInsertionPointToEnd(branch.elseBlock());
  Value zero =
      arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(type)));
  scf::YieldOp::create(b, Values(size_t(lanes), zero));
  return Values(branch.getResults());
}

int64_t ContractScope::lanesOfResult(int64_t sums) {
  SmallVector<int64_t> sizes = c.op.getStaticLoopRanges();
  unsigned last = c.n.back();
  for (AffineExpr expr : c.op.getIndexingMapsArray().back().getResults())
    if (unsigned loop = cast<AffineDimExpr>(expr).getPosition();
        sizes[loop] != 1)
      last = loop;
  bool possible = llvm::is_contained(c.n, last) &&
                  isOfVec4(sizeOf(sizes, c.n)) &&
                  sums % (kVec4 * c.target.groupSize) == 0;
  return possible && llvm::all_of(c.sums.results,
                                  [&](Written result) {
                                    return isShort(result.getSource(), c.op);
                                  })
             ? kVec4
             : 1;
}

LogicalResult ContractScope::storeSums(Value m, Value n, int64_t lanes,
                                       int64_t edgeM, int64_t edgeN,
                                       function_ref<Value(int64_t)> sum) {
  OpBuilder::InsertionGuard guard(b);
  Value inside = below(m, sizeM, edgeM, Value());
  inside = below(n, sizeN, edgeN, inside);
  if (inside) {
    auto branch = scf::IfOp::create(b, inside);
    b.setInsertionPointToStart(branch.thenBlock());
  }
  SmallVector<GroupSum> points;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    Values indices = at;
    loops.split(m, c.m, indices);
    loops.split(add(n, index(lane)), c.n, indices);
    points.push_back({indices, sum(lane)});
  }
  return storeResults(b, reader, c.sums, points);
}

FailureOr<ContractScope::Values> ContractScope::forPlaces(Value end,
                                                          int64_t distance,
                                                          ValueRange carried,
                                                          Step step) {
  auto loop = scf::ForOp::create(b, index(0), end, index(distance), carried);
  OpBuilder::InsertionGuard guard(b);
  if (carried.empty())
    b.setInsertionPoint(loop.getBody()->getTerminator());
  else
    b.setInsertionPointToStart(loop.getBody());
  auto next = step(loop.getInductionVar(), loop.getRegionIterArgs());
  if (failed(next))
    return failure();
  if (!carried.empty())
    scf::YieldOp::create(b, *next);
  return Values(loop.getResults());
}

void ContractScope::readSizes() {
  loops.sizes = reader.loopSizes(c.op);
  sizeM = loops.product(c.m);
  sizeN = loops.product(c.n);
  sizeK = loops.product(c.k);
}

void ContractScope::enterGroup(int64_t tileM, int64_t tileN) {
  readSizes();
  Values counts;
  for (unsigned loop : c.outer)
    counts.push_back(loops.sizes[loop]);
  counts.push_back(b.createOrFold<arith::CeilDivUIOp>(sizeM, index(tileM)));
  counts.push_back(b.createOrFold<arith::CeilDivUIOp>(sizeN, index(tileN)));
  SmallVector<Value> parts = loops.enter(counts);
  at.assign(c.op.getNumLoops(), index(0));
  for (auto [loop, part] : llvm::zip(c.outer, parts))
    at[loop] = part;
  thread = gpu::ThreadIdOp::create(b, gpu::Dimension::x);
  startM = mul(parts[c.outer.size()], tileM);
  startN = mul(parts.back(), tileN);
}

} // namespace backplane
