// SPDX-License-Identifier: Apache-2.0
//
// Ops that change between plain and blocked layouts: where each element of the
// packed tensor lies in the plain one.
#include "Value.h"

namespace backplane::conformance {

namespace {

/// For each packed element the plain one; beyond the plain tensor, their
/// number.
std::vector<size_t> plainElements(const Step &step, const Sizes &packed,
                                  const Sizes &plain) {
  Sizes axes = step.op.i64s("axes"), tiles = step.op.i64s("tiles"),
        order = step.op.i64s("order");
  size_t rank = plain.size();
  Sizes packedStrides = stridesOf(packed), strides = stridesOf(plain);
  std::vector<size_t> from(countOf(packed));
  for (size_t i = 0; i < from.size(); ++i) {
    auto index = [&](size_t axis) {
      return static_cast<int64_t>(i) / packedStrides[axis] % packed[axis];
    };
    Sizes at(rank);
    for (size_t k = 0; k < rank; ++k)
      at[order.empty() ? k : static_cast<size_t>(order[k])] = index(k);
    for (size_t k = 0; k < axes.size(); ++k) {
      int64_t &position = at[static_cast<size_t>(axes[k])];
      position = position * tiles[k] + index(rank + k);
    }
    bool isInside = true;
    int64_t offset = 0;
    for (size_t axis = 0; axis < rank; ++axis) {
      isInside &= at[axis] < plain[axis];
      offset += at[axis] * strides[axis];
    }
    from[i] = isInside ? static_cast<size_t>(offset) : countOf(plain);
  }
  return from;
}

Result<std::vector<Value>> pack(const Step &step) {
  const Value &x = step.operand(0);
  Value zero;
  zero.dtype = x.dtype;
  zero.computed = false;
  zero.bits = {0};
  std::vector<const Value *> parts = {
      &x, step.operands.size() > 1 ? &step.operand(1) : &zero};
  return one(take(step, joined(parts), plainElements(step, step.dims, x.dims)));
}

Result<std::vector<Value>> unpack(const Step &step) {
  const Value &x = step.operand(0);
  std::vector<size_t> from = plainElements(step, x.dims, step.dims);
  std::vector<size_t> map(countOf(step.dims));
  for (size_t i = 0; i < from.size(); ++i)
    if (from[i] < map.size())
      map[from[i]] = i;
  return one(take(step, x, map));
}

} // namespace

void addLayoutRules(Rules &rules) {
  rules.insert({{"pack", pack}, {"unpack", unpack}});
}

} // namespace backplane::conformance
