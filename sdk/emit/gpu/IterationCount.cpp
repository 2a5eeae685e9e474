// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/gpu/IterationCount.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace backplane;

namespace {

/// Ops and iterations of a loop that are done at once.
constexpr int64_t kUnrolledOps = 128;
constexpr int64_t kMostAtOnce = 16;

} // namespace

uint64_t backplane::iterationsAtOnce(scf::ForOp loop) {
  int64_t ops = 0;
  bool innermost = true;
  loop.getBody()->walk([&](Operation *op) {
    ++ops;
    innermost &= !isa<scf::ForOp, scf::WhileOp>(op);
  });
  if (!innermost || ops * 2 > kUnrolledOps)
    return 1;
  auto factor =
      uint64_t(std::clamp<int64_t>(kUnrolledOps / ops, 2, kMostAtOnce));
  if (auto trips = loop.getStaticTripCount())
    factor = std::min(factor, std::max<uint64_t>(trips->getZExtValue(), 1));
  return factor;
}

Value IterationCounter::number(double value) {
  return arith::ConstantOp::create(b_, b_.getF32FloatAttr(float(value)));
}

Value IterationCounter::total(IterationCount count) {
  Value known = number(count.known);
  return count.more ? arith::AddFOp::create(b_, known, count.more).getResult()
                    : known;
}

IterationCount IterationCounter::sum(IterationCount a, IterationCount b) {
  Value more = a.more ? a.more : b.more;
  if (a.more && b.more)
    more = arith::AddFOp::create(b_, a.more, b.more);
  return {a.known + b.known, more};
}

IterationCount IterationCounter::product(IterationCount a, IterationCount b) {
  if (!a.more && !b.more)
    return {a.known * b.known, {}};
  return {0, arith::MulFOp::create(b_, total(a), total(b))};
}

Value IterationCounter::toFloat(Value index) {
  Value word = arith::IndexCastOp::create(b_, b_.getI32Type(), index);
  return arith::SIToFPOp::create(b_, b_.getF32Type(), word);
}

IterationCount IterationCounter::trips(scf::ForOp loop, Operation *outermost) {
  if (auto known = loop.getStaticTripCount())
    return {double(known->getZExtValue()), {}};
  Value bounds[] = {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()};
  for (Value bound : bounds)
    if (outermost->isAncestor(bound.getParentBlock()->getParentOp()) ||
        !bound.getType().isIndex())
      return {1, {}};
  Value from = toFloat(bounds[0]), to = toFloat(bounds[1]);
  Value length = arith::SubFOp::create(b_, to, from);
  Value count = arith::DivFOp::create(b_, length, toFloat(bounds[2]));
  // Rounded up, and none below zero.
  Value up = arith::AddFOp::create(b_, count, number(0.9999));
  Value whole = arith::FPToSIOp::create(
      b_, b_.getI32Type(), arith::MaximumFOp::create(b_, up, number(0)));
  return {0, arith::SIToFPOp::create(b_, b_.getF32Type(), whole)};
}

/// An invocation looks at each loop inside of an iteration that is not its own
/// once.
static double visitsOf(scf::ForOp loop) {
  double visits = 0;
  loop.walk([&](scf::ForOp) { ++visits; });
  return visits;
}

IterationCount IterationCounter::iterations(scf::ForOp loop,
                                            Operation *outermost) {
  IterationCount body = inside(*loop.getBody(), outermost);
  IterationCount own = trips(loop, outermost);
  if (loop->hasAttr(inTurnMark))
    return sum(product(own, {visitsOf(loop), {}}), body);
  // In a last turn a loop finds that it is done.
  return sum(product(own, sum({1, {}}, body)), {1, {}});
}

IterationCount IterationCounter::inside(Block &block, Operation *outermost) {
  IterationCount count;
  for (Operation &op : block) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      count = sum(count, iterations(loop, outermost));
      continue;
    }
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        count = sum(count, inside(inner, outermost));
  }
  return count;
}
