// SPDX-License-Identifier: Apache-2.0
//
// top_k: a heap of the best elements so far, in the results themselves, whose
// root is the last of them; sorted at the end. A time of n log k at worst.
#include "sdk/lower/SequentialLoops.h"

using namespace bp;
using namespace bp::lower;

namespace {

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

/// Levels that an entry goes down in an iteration of a loop, where not all are
/// known: some devices end an invocation after 65535 iterations.
constexpr int64_t kLevelsAtOnce = 4;

/// An element and its index in x.
struct Entry {
  Value stored, number;
};

/// The lists of one line: values and indices, of `count` entries.
class Heap {
public:
  Heap(TopKOp op, Value x, Value count, int64_t levels, Value iterations)
      : op(op), x(x), count(count), levels(levels), iterations(iterations),
        element(elementOf(op.getX().getType())) {}

  /// The best of a line of `size` elements, best first.
  Values select(ImplicitLocOpBuilder &b, ValueRange line, Value size,
                ValueRange lists) {
    Values now =
        forLoop(b, count, lists,
                [&](ImplicitLocOpBuilder &inner, Value at, ValueRange carried) {
                  return put(inner, line, at, read(inner, line, at), carried);
                });
    now = arrange(b, line, now);
    now =
        forLoop(b, minus(b, size, count), now,
                [&](ImplicitLocOpBuilder &inner, Value i, ValueRange carried) {
                  Value at = arith::AddIOp::create(inner, i, count);
                  return offer(inner, line, read(inner, line, at), carried);
                });
    return sort(b, line, now);
  }

private:
  Values place(ValueRange line, Value at) {
    return with(line, op.getAxis(), at);
  }
  Entry read(ImplicitLocOpBuilder &b, ValueRange line, Value at) {
    Value number = arith::IndexCastOp::create(b, b.getI64Type(), at);
    return {extract(b, x, place(line, at)), number};
  }
  Entry get(ImplicitLocOpBuilder &b, ValueRange line, Value at,
            ValueRange lists) {
    Values position = place(line, at);
    return {extract(b, lists[0], position), extract(b, lists[1], position)};
  }
  Values put(ImplicitLocOpBuilder &b, ValueRange line, Value at, Entry entry,
             ValueRange lists) {
    Values position = place(line, at);
    return {insert(b, entry.stored, lists[0], position),
            insert(b, entry.number, lists[1], position)};
  }

  bool largest() { return op.getLargest(); }

  /// Whether x stands behind y: of equals the one with the higher index.
  Value isBehind(ImplicitLocOpBuilder &b, Entry x, Entry y) {
    Value a = load(b, x.stored, element), c = load(b, y.stored, element);
    Value before = standsBefore(b, a, c, largest(), element);
    Value behind = standsBefore(b, c, a, largest(), element);
    Value later = less(b, y.number, x.number);
    Value equal = arith::SelectOp::create(
        b, before, arith::ConstantIntOp::create(b, 0, 1), later);
    return arith::OrIOp::create(b, behind, equal);
  }

  /// Puts the entry where `start` is, or as far below as children of the
  /// `end` entries stand behind it.
  Values sink(ImplicitLocOpBuilder &b, ValueRange line, Entry entry,
              Value start, Value end, ValueRange lists) {
    auto go = [&](ImplicitLocOpBuilder &inner, Value, ValueRange now) {
      return sinkFrom(inner, line, entry, now[0], end, now.drop_front(),
                      levels);
    };
    Values begin{start};
    llvm::append_range(begin, lists);
    Values sunk =
        iterations ? forLoop(b, iterations, begin, go) : go(b, start, begin);
    return put(b, line, sunk[0], entry, ValueRange(sunk).drop_front());
  }

  /// Where the entry ends, at most so many levels below, and the lists without
  /// it. Each level is inside of the one above.
  Values sinkFrom(ImplicitLocOpBuilder &b, ValueRange line, Entry entry,
                  Value at, Value end, ValueRange lists, int64_t left) {
    Values here{at};
    llvm::append_range(here, lists);
    if (left == 0)
      return here;
    auto [child, below, exists] = lastChild(b, line, at, end, lists);
    Value sinks = arith::AndIOp::create(b, exists, isBehind(b, below, entry));
    auto branch = scf::IfOp::create(
        b, sinks,
        [&](OpBuilder &nested, Location loc) {
          ImplicitLocOpBuilder inner(loc, nested);
          Values next = put(inner, line, at, below, lists);
          scf::YieldOp::create(
              inner, sinkFrom(inner, line, entry, child, end, next, left - 1));
        },
        [&](OpBuilder &nested, Location loc) {
          scf::YieldOp::create(nested, loc, here);
        });
    return Values(branch.getResults());
  }

  struct Child {
    Value at;
    Entry entry;
    Value exists;
  };

  /// Of two children the one that stands behind the other.
  Child lastChild(ImplicitLocOpBuilder &b, ValueRange line, Value at, Value end,
                  ValueRange lists) {
    Value last = minus(b, end, index(b, 1));
    Value twice = arith::AddIOp::create(b, at, at);
    Value left = arith::AddIOp::create(b, twice, index(b, 1));
    Value first = smaller(b, left, last);
    Value second =
        smaller(b, arith::AddIOp::create(b, twice, index(b, 2)), last);
    Entry a = get(b, line, first, lists), c = get(b, line, second, lists);
    Value takesSecond = isBehind(b, c, a);
    auto choose = [&](Value x, Value y) -> Value {
      return arith::SelectOp::create(b, takesSecond, x, y);
    };
    return {choose(second, first),
            {choose(c.stored, a.stored), choose(c.number, a.number)},
            less(b, left, end)};
  }

  /// Makes a heap of entries in any order.
  Values arrange(ImplicitLocOpBuilder &b, ValueRange line, ValueRange lists) {
    Value half = arith::ShRUIOp::create(b, count, index(b, 1));
    return forLoop(
        b, half, lists,
        [&](ImplicitLocOpBuilder &inner, Value i, ValueRange now) {
          Value at = minus(inner, minus(inner, half, index(inner, 1)), i);
          return sink(inner, line, get(inner, line, at, now), at, count, now);
        });
  }

  /// Takes the entry in when it stands before the root; it comes later, so an
  /// equal one does not.
  Values offer(ImplicitLocOpBuilder &b, ValueRange line, Entry entry,
               ValueRange lists) {
    Value root = get(b, line, index(b, 0), lists).stored;
    Value better = standsBefore(b, load(b, entry.stored, element),
                                load(b, root, element), largest(), element);
    auto branch = scf::IfOp::create(
        b, better,
        [&](OpBuilder &nested, Location loc) {
          ImplicitLocOpBuilder inner(loc, nested);
          scf::YieldOp::create(
              inner, sink(inner, line, entry, index(inner, 0), count, lists));
        },
        [&](OpBuilder &nested, Location loc) {
          scf::YieldOp::create(nested, loc, lists);
        });
    return Values(branch.getResults());
  }

  /// The root goes to the end, again and again.
  Values sort(ImplicitLocOpBuilder &b, ValueRange line, ValueRange lists) {
    Value last = minus(b, count, index(b, 1));
    return forLoop(b, last, lists,
                   [&](ImplicitLocOpBuilder &inner, Value i, ValueRange now) {
                     Value end = minus(inner, last, i);
                     Entry root = get(inner, line, index(inner, 0), now);
                     Entry entry = get(inner, line, end, now);
                     Values next = put(inner, line, end, root, now);
                     return sink(inner, line, entry, index(inner, 0), end,
                                 next);
                   });
  }

  TopKOp op;
  Value x, count;
  int64_t levels;   ///< that an entry goes down, in each of these iterations
  Value iterations; ///< null: in one
  Element element;
};

/// How far down an entry of a heap of this size may go: the number of bits.
Value depthOf(ImplicitLocOpBuilder &b, Value count) {
  auto loop = scf::WhileOp::create(
      b, TypeRange{b.getIndexType(), b.getIndexType()},
      ValueRange{count, index(b, 0)},
      [&](OpBuilder &nested, Location loc, ValueRange now) {
        ImplicitLocOpBuilder inner(loc, nested);
        Value more = less(inner, index(inner, 0), now[0]);
        scf::ConditionOp::create(inner, more, now);
      },
      [&](OpBuilder &nested, Location loc, ValueRange now) {
        ImplicitLocOpBuilder inner(loc, nested);
        Value half = arith::ShRUIOp::create(inner, now[0], index(inner, 1));
        Value next = arith::AddIOp::create(inner, now[1], index(inner, 1));
        scf::YieldOp::create(inner, ValueRange{half, next});
      });
  return loop.getResult(1);
}

} // namespace

LogicalResult lower::lowerTopK(Lowering &lowering, TopKOp op) {
  ImplicitLocOpBuilder &builder = lowering.builder;
  Type type = op.getX().getType();
  auto axis = size_t(op.getAxis());
  Value x = lowering.tensor(op.getX());
  Values bounds = boundsOf(lowering, type);
  Type kept = op->getResult(0).getType();
  Value count = smaller(builder, boundsOf(lowering, kept)[axis], bounds[axis]);
  // Nothing is looked at when nothing is kept.
  Value keeps = less(builder, index(builder, 0), count);
  Value size =
      arith::SelectOp::create(builder, keeps, bounds[axis], index(builder, 0));
  Values outputs{lowering.emptyLike(kept, elementOf(type).storage),
                 lowering.emptyLike(kept, builder.getI64Type())};
  int64_t most =
      cast<RankedTensorType>(outputs[0].getType()).getDimSize(op.getAxis());
  int64_t levels = kLevelsAtOnce;
  Value iterations;
  if (ShapedType::isDynamic(most))
    iterations = arith::CeilDivUIOp::create(builder, depthOf(builder, count),
                                            index(builder, levels));
  else
    levels = llvm::Log2_64(std::max<int64_t>(most, 1));
  Heap heap(op, x, count, levels, iterations);
  Values results = overLines(
      builder, without(bounds, axis), outputs,
      [&](ImplicitLocOpBuilder &b, ValueRange line, ValueRange carried) {
        return heap.select(b, line, size, carried);
      });
  lowering.setTensor(op->getResult(0), results[0]);
  lowering.setTensor(op->getResult(1), results[1]);
  return success();
}
