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

/// Levels that an entry goes down in a turn of a loop: some devices end an
/// invocation after 65535 turns. Where it need not go on it stays.
constexpr int64_t kLevelsAtOnce = 4;

/// An element and its index in x.
struct Entry {
  Value stored, number;
};

/// The lists of one line: values and indices, of `count` entries.
class Heap {
public:
  Heap(TopKOp op, Value x, Value count, Value turns)
      : op(op), x(x), count(count), turns(turns),
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
    Values carried{start};
    llvm::append_range(carried, lists);
    Values sunk =
        forLoop(b, turns, carried,
                [&](ImplicitLocOpBuilder &inner, Value, ValueRange now) {
                  Values next(now);
                  for (int64_t i = 0; i < kLevelsAtOnce; ++i)
                    next = sinkOnce(inner, line, entry, end, next);
                  return next;
                });
    return put(b, line, sunk[0], entry, ValueRange(sunk).drop_front());
  }

  Values sinkOnce(ImplicitLocOpBuilder &b, ValueRange line, Entry entry,
                  Value end, ValueRange now) {
    ValueRange lists = now.drop_front();
    Value last = minus(b, end, index(b, 1));
    Value twice = arith::AddIOp::create(b, now[0], now[0]);
    Value left = arith::AddIOp::create(b, twice, index(b, 1));
    Value hasChild = less(b, left, end);
    Value first = smaller(b, left, last);
    Value second =
        smaller(b, arith::AddIOp::create(b, twice, index(b, 2)), last);
    Entry a = get(b, line, first, lists), c = get(b, line, second, lists);
    Value takesSecond = isBehind(b, c, a);
    auto choose = [&](Value x, Value y) -> Value {
      return arith::SelectOp::create(b, takesSecond, x, y);
    };
    Value child = choose(second, first);
    Entry below{choose(c.stored, a.stored), choose(c.number, a.number)};
    Value sinks = arith::AndIOp::create(b, hasChild, isBehind(b, below, entry));
    auto branch = scf::IfOp::create(
        b, sinks,
        [&](OpBuilder &nested, Location loc) {
          ImplicitLocOpBuilder inner(loc, nested);
          Values next{child};
          llvm::append_range(next, put(inner, line, now[0], below, lists));
          scf::YieldOp::create(inner, next);
        },
        [&](OpBuilder &nested, Location loc) {
          scf::YieldOp::create(nested, loc, now);
        });
    return Values(branch.getResults());
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
  Value turns; ///< that the deepest way down takes
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
  Value levels = depthOf(builder, count);
  Value turns = arith::CeilDivUIOp::create(builder, levels,
                                           index(builder, kLevelsAtOnce));
  Heap heap(op, x, count, turns);
  Values results = overLines(
      builder, without(bounds, axis), outputs,
      [&](ImplicitLocOpBuilder &b, ValueRange line, ValueRange carried) {
        return heap.select(b, line, size, carried);
      });
  lowering.setTensor(op->getResult(0), results[0]);
  lowering.setTensor(op->getResult(1), results[1]);
  return success();
}
