// SPDX-License-Identifier: Apache-2.0
//
// What is known of the steps of a softmax, exp(x - max(x)) / sum(of the same),
// beyond what each of its ops says by itself.
#include "sdk/lower/Lowering.h"

using namespace bp;
using namespace bp::lower;

namespace {

/// The reduction of which `value` repeats each result along the axes reduced.
ReduceOp repeated(Value value, StringRef kind) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  auto reduce =
      broadcast ? broadcast.getX().getDefiningOp<ReduceOp>() : ReduceOp();
  if (!reduce || reduce.getKind() != kind || !reduce.getKeep())
    return {};
  for (auto [i, axis] : llvm::enumerate(broadcast.getAxes()))
    if (axis != int64_t(i))
      return {};
  return reduce;
}

/// The maximum of `powers` = exp(x - max(x)).
ReduceOp topOf(Value powers) {
  auto exp = powers.getDefiningOp<ExpOp>();
  auto below = exp ? exp.getX().getDefiningOp<SubOp>() : SubOp();
  ReduceOp top = below ? repeated(below.getB(), "max") : ReduceOp();
  return top && top.getX() == below.getA() ? top : ReduceOp();
}

/// The maximum and the sum behind a share.
std::pair<ReduceOp, ReduceOp> partsOf(Operation *op) {
  auto division = dyn_cast<DivOp>(op);
  if (!division || !isa<FloatType>(getElementTypeOrSelf(division.getA())))
    return {};
  ReduceOp sum = repeated(division.getB(), "sum");
  ReduceOp top = topOf(division.getA());
  if (!sum || !top || sum.getX() != division.getA() ||
      sum.getAxes() != top.getAxes())
    return {};
  return {top, sum};
}

/// The only op that uses a value.
Operation *onlyUser(Value value) {
  return value.hasOneUse() ? *value.user_begin() : nullptr;
}

} // namespace

bool lower::isShare(Operation *op) { return bool(partsOf(op).first); }

bool lower::isBelowMaximum(Operation *op) {
  return isa<ExpOp>(op) && topOf(op->getResult(0));
}

bool lower::isHiddenByNan(ReduceOp top) {
  Value value = top.getResult();
  for (int step = 0; step < 2; ++step) { // what repeats it, what subtracts it
    Operation *user = onlyUser(value);
    if (!isa_and_nonnull<BroadcastOp, SubOp>(user))
      return false;
    value = user->getResult(0);
  }
  auto exp = dyn_cast_or_null<ExpOp>(onlyUser(value));
  if (!exp || topOf(exp.getResult()) != top)
    return false;
  return llvm::all_of(exp->getUsers(), [&](Operation *user) {
    if (isShare(user))
      return partsOf(user).first == top;
    auto sum = dyn_cast<ReduceOp>(user);
    auto repeats =
        sum ? dyn_cast_or_null<BroadcastOp>(onlyUser(sum.getResult()))
            : BroadcastOp();
    Operation *share = repeats ? onlyUser(repeats.getResult()) : nullptr;
    return share && isShare(share) && partsOf(share).second == sum;
  });
}
