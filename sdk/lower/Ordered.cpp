// SPDX-License-Identifier: Apache-2.0
//
// Ops that visit elements in order: cumulative and scatter. Each is a nest of
// sequential loops over single elements, which carry the result.
#include "sdk/dialect/Convert.h"
#include "sdk/lower/SequentialLoops.h"

#include "backplane/kernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace bp;
using namespace bp::lower;

namespace {

Value combineUpdate(ImplicitLocOpBuilder &b, StringRef how, Value old,
                    Value update, bool isUnsigned) {
  if (how == "none")
    return update;
  StringRef kind = how == "add" ? "sum" : how == "mul" ? "prod" : how;
  return combine(b, kind, old, update, isUnsigned);
}

} // namespace

LogicalResult lower::lowerCumulative(Lowering &lowering, CumulativeOp op) {
  ImplicitLocOpBuilder &builder = lowering.builder;
  Type type = op.getX().getType();
  Element element = elementOf(type);
  auto axis = size_t(op.getAxis());
  Value x = lowering.tensor(op.getX());
  Values bounds = boundsOf(lowering, type);
  Value size = bounds[axis];
  Value start = arith::ConstantOp::create(
      builder, neutral(op.getKind(), element.compute, element.isUnsigned));
  auto step = [&](ImplicitLocOpBuilder &b, ValueRange line, Value i,
                  ValueRange carried) {
    Value at = op.getReverse() ? minus(b, minus(b, size, index(b, 1)), i) : i;
    Values position = with(line, axis, at);
    Value next =
        combine(b, op.getKind(), carried[1],
                load(b, extract(b, x, position), element), element.isUnsigned);
    Value shown = store(b, op.getExclusive() ? carried[1] : next, element);
    return Values{insert(b, shown, carried[0], position), next};
  };
  Value output = lowering.emptyLike(op.getResult().getType(), element.storage);
  Values result = overLines(
      builder, without(bounds, axis), output,
      [&](ImplicitLocOpBuilder &b, ValueRange line, ValueRange carried) {
        Values all =
            forLoop(b, size, {carried[0], start},
                    [&](ImplicitLocOpBuilder &inner, Value i, ValueRange now) {
                      return step(inner, line, i, now);
                    });
        return Values{all[0]};
      });
  lowering.setTensor(op.getResult(), result[0]);
  return success();
}

/// x as what updates go to: in the type that narrow sums and products are
/// computed in, else as it is stored.
static Value scatterTarget(Lowering &lowering, ScatterOp op,
                           const Element &element, bool wide) {
  Type type = op.getResult().getType();
  Value output =
      lowering.emptyLike(type, wide ? element.compute : element.storage);
  return lowering.parallel(lowering.view(op.getX()), output,
                           [&](ImplicitLocOpBuilder &b, ValueRange args) {
                             return Values{wide ? load(b, args[0], element)
                                                : args[0]};
                           });
}

/// Whether the tensor is known to have one element.
static bool isSingle(Type type) {
  return llvm::all_of(dimsOf(type), [](const backplane::Dim &dim) {
    return dim == backplane::Dim(1);
  });
}

using ScatterValue = function_ref<Value(ImplicitLocOpBuilder &)>;

/// `target` with the value at the position, or as it is when `bad`.
static Value putUnless(ImplicitLocOpBuilder &b, Value bad, Value target,
                       ValueRange position, ScatterValue make) {
  Value old = extract(b, target, position);
  Value value = arith::SelectOp::create(b, bad, old, make(b));
  return insert(b, value, target, position);
}

/// The same, where the position may be outside when `bad`.
static Value branchUnless(ImplicitLocOpBuilder &b, Value bad, Value target,
                          ValueRange position, ScatterValue make) {
  auto choice = scf::IfOp::create(
      b, bad,
      [&](OpBuilder &nested, Location loc) {
        scf::YieldOp::create(nested, loc, target);
      },
      [&](OpBuilder &nested, Location loc) {
        ImplicitLocOpBuilder inner(loc, nested);
        Value value = make(inner);
        scf::YieldOp::create(inner, insert(inner, value, target, position));
      });
  return choice.getResult(0);
}

LogicalResult lower::lowerScatter(Lowering &lowering, ScatterOp op) {
  ImplicitLocOpBuilder &builder = lowering.builder;
  Type type = op.getResult().getType();
  Element element = elementOf(type);
  Element indexFrom = elementOf(op.getIndices().getType());
  Element indexTo{builder.getI64Type(), builder.getI64Type()};
  StringRef how = op.getCombine();
  bool wide =
      element.isFloat() && element.converts() && (how == "add" || how == "mul");
  auto axis = size_t(op.getAxis());
  auto indexRank =
      size_t(cast<RankedTensorType>(op.getIndices().getType()).getRank());
  Value indices = lowering.tensor(op.getIndices());
  Value updates = lowering.tensor(op.getUpdates());
  Value size = boundsOf(lowering, type)[axis];
  Value limit = arith::IndexCastOp::create(builder, indexTo.compute, size);
  // No loop is left around a single update, and nothing carries a tensor.
  bool single = isSingle(op.getUpdates().getType()) &&
                dimsOf(type)[axis].constant().value_or(0) > 0;
  auto update = [&](ImplicitLocOpBuilder &b, ValueRange at, ValueRange target) {
    Value picked = extract(b, indices, at.slice(axis, indexRank));
    picked = castScalar(b, picked, indexFrom, indexTo);
    // A negative index is above every size when read as unsigned.
    Value bad =
        arith::CmpIOp::create(b, arith::CmpIPredicate::uge, picked, limit);
    lowering.report(b, bad, BP_KERNEL_ERROR_INDEX);
    if (single)
      picked = arith::SelectOp::create(
          b, bad, arith::ConstantIntOp::create(b, 0, 64), picked);
    Values position(at.take_front(axis));
    position.push_back(arith::IndexCastOp::create(b, b.getIndexType(), picked));
    llvm::append_range(position, at.drop_front(axis + indexRank));
    auto combined = [&](ImplicitLocOpBuilder &inner) {
      Value value = extract(inner, updates, at);
      if (how == "none")
        return value;
      Value old = extract(inner, target[0], position);
      value = combineUpdate(inner, how, wide ? old : load(inner, old, element),
                            load(inner, value, element), element.isUnsigned);
      return wide ? value : store(inner, value, element);
    };
    return Values{single ? putUnless(b, bad, target[0], position, combined)
                         : branchUnless(b, bad, target[0], position, combined)};
  };
  // Updates of other lines never meet.
  auto ordered = [&](size_t i) { return i >= axis && i < axis + indexRank; };
  Values result =
      nest(builder, boundsOf(lowering, op.getUpdates().getType()), {},
           scatterTarget(lowering, op, element, wide), update, ordered);
  Value sum = wide ? lowering.rounded(result[0], element, lowering.sizes(type))
                   : result[0];
  lowering.setTensor(op.getResult(), sum);
  return success();
}
