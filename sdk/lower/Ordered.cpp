// SPDX-License-Identifier: Apache-2.0
//
// Ops that visit elements in order: cumulative, top_k and scatter. Each is a
// nest of sequential loops over single elements, which carry the result.
#include "sdk/lower/Lowering.h"

#include "sdk/dialect/Convert.h"

#include "backplane/kernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace bp;
using namespace bp::lower;

namespace {

using Values = SmallVector<Value>;
/// What one iteration makes of the carried values, at these indices.
using Step = function_ref<Values(ImplicitLocOpBuilder &, ValueRange at,
                                 ValueRange carried)>;
/// The same of a single loop.
using Body =
    function_ref<Values(ImplicitLocOpBuilder &, Value at, ValueRange carried)>;

Value index(ImplicitLocOpBuilder &b, int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}
Value less(ImplicitLocOpBuilder &b, Value x, Value y) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, x, y);
}
Value smaller(ImplicitLocOpBuilder &b, Value x, Value y) {
  return arith::MinSIOp::create(b, x, y);
}
Value minus(ImplicitLocOpBuilder &b, Value x, Value y) {
  return arith::SubIOp::create(b, x, y);
}
Value extract(ImplicitLocOpBuilder &b, Value tensor, ValueRange at) {
  return tensor::ExtractOp::create(b, tensor, at);
}
Value insert(ImplicitLocOpBuilder &b, Value value, Value tensor,
             ValueRange at) {
  return tensor::InsertOp::create(b, value, tensor, at);
}

Values forLoop(ImplicitLocOpBuilder &b, Value bound, ValueRange carried,
               Body body) {
  auto loop = scf::ForOp::create(
      b, index(b, 0), bound, index(b, 1), carried,
      [&](OpBuilder &nested, Location loc, Value at, ValueRange values) {
        ImplicitLocOpBuilder inner(loc, nested);
        scf::YieldOp::create(inner, body(inner, at, values));
      });
  return Values(loop.getResults());
}

/// One loop per bound, the last innermost.
Values nest(ImplicitLocOpBuilder &b, ArrayRef<Value> bounds, Values at,
            ValueRange carried, Step step) {
  if (at.size() == bounds.size())
    return step(b, at, carried);
  return forLoop(b, bounds[at.size()], carried,
                 [&](ImplicitLocOpBuilder &inner, Value i, ValueRange values) {
                   Values next(at);
                   next.push_back(i);
                   return nest(inner, bounds, next, values, step);
                 });
}

Values boundsOf(Lowering &lowering, Type bpType) {
  Values bounds;
  for (OpFoldResult size : lowering.sizes(bpType))
    bounds.push_back(lowering.sizeAsIndex(size));
  return bounds;
}

Values without(Values values, size_t axis) {
  values.erase(values.begin() + ptrdiff_t(axis));
  return values;
}
Values with(ValueRange values, size_t axis, Value value) {
  Values all(values);
  all.insert(all.begin() + ptrdiff_t(axis), value);
  return all;
}

Value compareFloats(ImplicitLocOpBuilder &b, arith::CmpFPredicate kind, Value x,
                    Value y) {
  return arith::CmpFOp::create(b, kind, x, y);
}

/// Whether x stands before y, which is not so for equals. NaN is the highest.
Value standsBefore(ImplicitLocOpBuilder &b, Value x, Value y, bool largest,
                   const Element &element) {
  if (!largest)
    std::swap(x, y);
  if (!element.isFloat())
    return arith::CmpIOp::create(b,
                                 element.isUnsigned ? arith::CmpIPredicate::ugt
                                                    : arith::CmpIPredicate::sgt,
                                 x, y);
  Value above = compareFloats(b, arith::CmpFPredicate::OGT, x, y);
  Value isNan = compareFloats(b, arith::CmpFPredicate::UNO, x, x);
  Value isNumber = compareFloats(b, arith::CmpFPredicate::ORD, y, y);
  return arith::OrIOp::create(b, above,
                              arith::AndIOp::create(b, isNan, isNumber));
}

/// Inserts the elements of one line into the sorted list of the best so far.
class Insertion {
public:
  Insertion(TopKOp op, Value x, Value count)
      : op(op), x(x), count(count), element(elementOf(op.getX().getType())) {}

  /// `carried`: values and indices.
  Values add(ImplicitLocOpBuilder &b, ValueRange line, Value at,
             ValueRange carried) {
    Value stored = extract(b, x, place(line, at));
    Value first = findPlace(b, line, stored, smaller(b, at, count), carried);
    Value belongs = less(b, first, count);
    Value last = smaller(b, at, minus(b, count, index(b, 1)));
    Value moved =
        arith::SelectOp::create(b, belongs, minus(b, last, first), index(b, 0));
    Values lists = shift(b, line, last, moved, carried);
    auto choice = scf::IfOp::create(
        b, belongs,
        [&](OpBuilder &nested, Location loc) {
          ImplicitLocOpBuilder inner(loc, nested);
          Value number =
              arith::IndexCastOp::create(inner, inner.getI64Type(), at);
          Values position = place(line, first);
          scf::YieldOp::create(
              inner, Values{insert(inner, stored, lists[0], position),
                            insert(inner, number, lists[1], position)});
        },
        [&](OpBuilder &nested, Location loc) {
          scf::YieldOp::create(nested, loc, lists);
        });
    return Values(choice.getResults());
  }

private:
  Values place(ValueRange line, Value at) {
    return with(line, op.getAxis(), at);
  }

  /// Goes up from `end` past all that the element stands before.
  Value findPlace(ImplicitLocOpBuilder &b, ValueRange line, Value stored,
                  Value end, ValueRange lists) {
    Value value = load(b, stored, element);
    auto loop = scf::WhileOp::create(
        b, TypeRange(b.getIndexType()), ValueRange(end),
        [&](OpBuilder &nested, Location loc, ValueRange at) {
          ImplicitLocOpBuilder inner(loc, nested);
          Value above = minus(inner, at[0], index(inner, 1));
          Value inside = arith::MaxSIOp::create(inner, above, index(inner, 0));
          Value other = load(
              inner, extract(inner, lists[0], place(line, inside)), element);
          Value goes = arith::AndIOp::create(
              inner, less(inner, index(inner, 0), at[0]),
              standsBefore(inner, value, other, op.getLargest(), element));
          scf::ConditionOp::create(inner, goes, at);
        },
        [&](OpBuilder &nested, Location loc, ValueRange at) {
          ImplicitLocOpBuilder inner(loc, nested);
          scf::YieldOp::create(inner, minus(inner, at[0], index(inner, 1)));
        });
    return loop.getResult(0);
  }

  /// Moves the `moved` elements before `last` one further.
  Values shift(ImplicitLocOpBuilder &b, ValueRange line, Value last,
               Value moved, ValueRange lists) {
    return forLoop(
        b, moved, lists,
        [&](ImplicitLocOpBuilder &inner, Value i, ValueRange values) {
          Value to = minus(inner, last, i);
          Values from = place(line, minus(inner, to, index(inner, 1)));
          Values next;
          for (Value list : values)
            next.push_back(insert(inner, extract(inner, list, from), list,
                                  place(line, to)));
          return next;
        });
  }

  TopKOp op;
  Value x, count;
  Element element;
};

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
  Values result =
      nest(builder, without(bounds, axis), {}, output,
           [&](ImplicitLocOpBuilder &b, ValueRange line, ValueRange carried) {
             Values all = forLoop(
                 b, size, {carried[0], start},
                 [&](ImplicitLocOpBuilder &inner, Value i, ValueRange now) {
                   return step(inner, line, i, now);
                 });
             return Values{all[0]};
           });
  lowering.setTensor(op.getResult(), result[0]);
  return success();
}

LogicalResult lower::lowerTopK(Lowering &lowering, TopKOp op) {
  ImplicitLocOpBuilder &builder = lowering.builder;
  Type type = op.getX().getType();
  auto axis = size_t(op.getAxis());
  Value x = lowering.tensor(op.getX());
  Values bounds = boundsOf(lowering, type);
  Type kept = op->getResult(0).getType();
  Value count = boundsOf(lowering, kept)[axis];
  // Nothing is looked at when nothing is kept.
  Value keeps = less(builder, index(builder, 0), count);
  Value size =
      arith::SelectOp::create(builder, keeps, bounds[axis], index(builder, 0));
  Values outputs{lowering.emptyLike(kept, elementOf(type).storage),
                 lowering.emptyLike(kept, builder.getI64Type())};
  Insertion insertion(op, x, count);
  Values results =
      nest(builder, without(bounds, axis), {}, outputs,
           [&](ImplicitLocOpBuilder &b, ValueRange line, ValueRange carried) {
             return forLoop(
                 b, size, carried,
                 [&](ImplicitLocOpBuilder &inner, Value i, ValueRange lists) {
                   return insertion.add(inner, line, i, lists);
                 });
           });
  lowering.setTensor(op->getResult(0), results[0]);
  lowering.setTensor(op->getResult(1), results[1]);
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
  auto update = [&](ImplicitLocOpBuilder &b, ValueRange at, ValueRange target) {
    Value picked = extract(b, indices, at.slice(axis, indexRank));
    picked = castScalar(b, picked, indexFrom, indexTo);
    // A negative index is above every size when read as unsigned.
    Value bad =
        arith::CmpIOp::create(b, arith::CmpIPredicate::uge, picked, limit);
    lowering.report(b, bad, BP_KERNEL_ERROR_INDEX);
    Values position(at.take_front(axis));
    position.push_back(arith::IndexCastOp::create(b, b.getIndexType(), picked));
    llvm::append_range(position, at.drop_front(axis + indexRank));
    auto choice = scf::IfOp::create(
        b, bad,
        [&](OpBuilder &nested, Location loc) {
          scf::YieldOp::create(nested, loc, target);
        },
        [&](OpBuilder &nested, Location loc) {
          ImplicitLocOpBuilder inner(loc, nested);
          Value value = extract(inner, updates, at);
          if (how != "none") {
            Value old = extract(inner, target[0], position);
            value = combineUpdate(
                inner, how, wide ? old : load(inner, old, element),
                load(inner, value, element), element.isUnsigned);
            value = wide ? value : store(inner, value, element);
          }
          scf::YieldOp::create(inner,
                               insert(inner, value, target[0], position));
        });
    return Values{choice.getResult(0)};
  };
  Values result = nest(builder, boundsOf(lowering, op.getUpdates().getType()),
                       {}, scatterTarget(lowering, op, element, wide), update);
  Value sum = wide ? lowering.rounded(result[0], element, lowering.sizes(type))
                   : result[0];
  lowering.setTensor(op.getResult(), sum);
  return success();
}
