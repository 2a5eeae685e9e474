// SPDX-License-Identifier: Apache-2.0
//
// SequentialLoops.h: nests of scf.for over single elements that carry tensors.
// Internal to Ordered.cpp, TopFew.cpp and TopK.cpp.
#ifndef BACKPLANE_LOWER_SEQUENTIALLOOPS_H
#define BACKPLANE_LOWER_SEQUENTIALLOOPS_H

#include "sdk/lower/Lowering.h"
#include "sdk/lower/Marks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace bp::lower {

using Values = SmallVector<Value>;
/// What one iteration makes of the carried values, at these indices.
using Step = function_ref<Values(ImplicitLocOpBuilder &, ValueRange at,
                                 ValueRange carried)>;
/// The same of a single loop.
using Body =
    function_ref<Values(ImplicitLocOpBuilder &, Value at, ValueRange carried)>;

inline Value index(ImplicitLocOpBuilder &b, int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}
inline Value less(ImplicitLocOpBuilder &b, Value x, Value y) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, x, y);
}
inline Value smaller(ImplicitLocOpBuilder &b, Value x, Value y) {
  return arith::MinSIOp::create(b, x, y);
}
inline Value minus(ImplicitLocOpBuilder &b, Value x, Value y) {
  return arith::SubIOp::create(b, x, y);
}
inline Value extract(ImplicitLocOpBuilder &b, Value tensor, ValueRange at) {
  return tensor::ExtractOp::create(b, tensor, at);
}
inline Value insert(ImplicitLocOpBuilder &b, Value value, Value tensor,
                    ValueRange at) {
  return tensor::InsertOp::create(b, value, tensor, at);
}

inline Values forLoop(ImplicitLocOpBuilder &b, Value bound, ValueRange carried,
                      Body body, bool independent = false) {
  auto loop = scf::ForOp::create(
      b, index(b, 0), bound, index(b, 1), carried,
      [&](OpBuilder &nested, Location loc, Value at, ValueRange values) {
        ImplicitLocOpBuilder inner(loc, nested);
        scf::YieldOp::create(inner, body(inner, at, values));
      });
  if (independent)
    loop->setAttr(independentMark, b.getUnitAttr());
  return Values(loop.getResults());
}

/// One loop per bound, the last innermost. Those whose number `ordered` does
/// not have are independent.
inline Values nest(ImplicitLocOpBuilder &b, ArrayRef<Value> bounds, Values at,
                   ValueRange carried, Step step,
                   llvm::function_ref<bool(size_t)> ordered) {
  if (at.size() == bounds.size())
    return step(b, at, carried);
  return forLoop(
      b, bounds[at.size()], carried,
      [&](ImplicitLocOpBuilder &inner, Value i, ValueRange values) {
        Values next(at);
        next.push_back(i);
        return nest(inner, bounds, next, values, step, ordered);
      },
      !ordered(at.size()));
}

/// One independent loop per bound: one iteration for each line of elements.
inline Values overLines(ImplicitLocOpBuilder &b, ArrayRef<Value> bounds,
                        ValueRange carried, Step step) {
  return nest(b, bounds, {}, carried, step, [](size_t) { return false; });
}

inline Values boundsOf(Lowering &lowering, Type bpType) {
  Values bounds;
  for (OpFoldResult size : lowering.sizes(bpType))
    bounds.push_back(lowering.sizeAsIndex(size));
  return bounds;
}

inline Values without(Values values, size_t axis) {
  values.erase(values.begin() + ptrdiff_t(axis));
  return values;
}
inline Values with(ValueRange values, size_t axis, Value value) {
  Values all(values);
  all.insert(all.begin() + ptrdiff_t(axis), value);
  return all;
}

} // namespace bp::lower

#endif // BACKPLANE_LOWER_SEQUENTIALLOOPS_H
