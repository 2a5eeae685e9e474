// SPDX-License-Identifier: Apache-2.0
//
// top_k: a heap of the best elements so far, in the results themselves, whose
// root is the last of them; sorted at the end. A time of n log k at worst.
//
// Elements of up to 32 bits and their indices are one number of 64 bits, kept
// where the indices go, whose order is that of the results. TopFew.cpp has what
// keeps few of lines side by side.
#include "sdk/lower/SortKey.h"

#include "sdk/dialect/Convert.h"

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

/// Whether an element and its index fit 64 bits. Symbols are words.
bool fitsKey(const Element &element, const backplane::Dim &size) {
  std::optional<int64_t> known = size.constant();
  bool isWord = known ? *known < (int64_t(1) << 32)
                      : backplane::Dim::isSymbolName(size.str());
  return isWord && element.compute.getIntOrFloatBitWidth() <= 32;
}

/// Levels that an entry goes down in an iteration of a loop, where not all are
/// known: some devices end an invocation after 65535 iterations.
constexpr int64_t kLevelsAtOnce = 4;

/// An element and its index in x; or null and the key of both.
struct Entry {
  Value stored, number;
};

/// The lists of one line: values and indices, of `count` entries.
class Heap {
public:
  Heap(TopKOp op, Value x, Value count, int64_t levels, Value iterations)
      : op(op), x(x), count(count), levels(levels), iterations(iterations),
        element(elementOf(op.getX().getType())),
        hasKeys(fitsKey(element, dimsOf(op.getX().getType())[op.getAxis()])) {}

  /// The best of a line of `size` elements, best first.
  Values select(ImplicitLocOpBuilder &b, ValueRange line, Value size,
                ValueRange lists) {
    Values now =
        forLoop(b, count, lists,
                [&](ImplicitLocOpBuilder &inner, Value at, ValueRange carried) {
                  return put(inner, line, at, read(inner, line, at), carried);
                });
    now = offerRest(b, line, size, arrange(b, line, now));
    now = sort(b, line, now);
    return hasKeys ? resolve(b, line, now) : now;
  }

private:
  Values place(ValueRange line, Value at) {
    return with(line, op.getAxis(), at);
  }
  Entry read(ImplicitLocOpBuilder &b, ValueRange line, Value at) {
    Value number = arith::IndexCastOp::create(b, b.getI64Type(), at);
    Value stored = extract(b, x, place(line, at));
    if (hasKeys)
      return {Value(), keyOf(b, stored, number)};
    return {stored, number};
  }
  /// The word of the element above its index: the entry with the higher key
  /// stands before the other.
  Value keyOf(ImplicitLocOpBuilder &b, Value stored, Value number) {
    Value computed = load(b, stored, element);
    Value word = wordOf(b, computed, element);
    if (!largest())
      word = inverted(b, word);
    Value high = arith::ShLIOp::create(
        b, arith::ExtUIOp::create(b, b.getI64Type(), word),
        arith::ConstantIntOp::create(b, 32, 64));
    // Of equals the first index comes first.
    Value low = arith::ConstantIntOp::create(b, UINT32_MAX, 64);
    return arith::OrIOp::create(b, high, arith::SubIOp::create(b, low, number));
  }
  /// The index in a key.
  static Value indexOf(ImplicitLocOpBuilder &b, Value key) {
    Value low = arith::ConstantIntOp::create(b, UINT32_MAX, 64);
    Value number = arith::AndIOp::create(b, inverted(b, key), low);
    return arith::IndexCastOp::create(b, b.getIndexType(), number);
  }
  /// Keys to the elements and indices that they stand for.
  Values resolve(ImplicitLocOpBuilder &b, ValueRange line, ValueRange lists) {
    return forLoop(b, count, lists,
                   [&](ImplicitLocOpBuilder &inner, Value at, ValueRange now) {
                     Value key = extract(inner, now[1], place(line, at));
                     Value from = indexOf(inner, key);
                     Value number = arith::IndexCastOp::create(
                         inner, inner.getI64Type(), from);
                     Value stored = extract(inner, x, place(line, from));
                     Values position = place(line, at);
                     return Values{insert(inner, stored, now[0], position),
                                   insert(inner, number, now[1], position)};
                   });
  }
  Entry get(ImplicitLocOpBuilder &b, ValueRange line, Value at,
            ValueRange lists) {
    Values position = place(line, at);
    return {hasKeys ? Value() : extract(b, lists[0], position),
            extract(b, lists[1], position)};
  }
  Values put(ImplicitLocOpBuilder &b, ValueRange line, Value at, Entry entry,
             ValueRange lists) {
    Values position = place(line, at);
    return {hasKeys ? lists[0] : insert(b, entry.stored, lists[0], position),
            insert(b, entry.number, lists[1], position)};
  }

  bool largest() { return op.getLargest(); }

  /// Whether x stands behind y: of equals the one with the higher index.
  Value isBehind(ImplicitLocOpBuilder &b, Entry x, Entry y) {
    if (hasKeys)
      return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, x.number,
                                   y.number);
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
      return x ? arith::SelectOp::create(b, takesSecond, x, y) : Value();
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

  /// The element that the root stands for, as it is computed with.
  Value rootElement(ImplicitLocOpBuilder &b, ValueRange line,
                    ValueRange lists) {
    Entry root = get(b, line, index(b, 0), lists);
    if (hasKeys)
      root.stored = extract(b, x, place(line, indexOf(b, root.number)));
    return load(b, root.stored, element);
  }

  /// Offers all but the first elements. The root's goes along, so that most are
  /// turned away by one comparison.
  Values offerRest(ImplicitLocOpBuilder &b, ValueRange line, Value size,
                   Values lists) {
    // A loop of one turn, so that nothing but loops uses the lists; of none
    // where they are empty.
    lists.push_back(arith::ConstantOp::create(
        b, cast<TypedAttr>(b.getZeroAttr(element.compute))));
    lists = forLoop(b, smaller(b, count, index(b, 1)), lists,
                    [&](ImplicitLocOpBuilder &inner, Value, ValueRange now) {
                      Values next(now.drop_back());
                      next.push_back(rootElement(inner, line, next));
                      return next;
                    });
    Values now =
        forLoop(b, minus(b, size, count), lists,
                [&](ImplicitLocOpBuilder &inner, Value i, ValueRange carried) {
                  Value at = arith::AddIOp::create(inner, i, count);
                  return offer(inner, line, at, carried);
                });
    now.pop_back();
    return now;
  }

  /// Takes an element in when it stands before the root; it comes later, so an
  /// equal one does not.
  Values offer(ImplicitLocOpBuilder &b, ValueRange line, Value at,
               ValueRange carried) {
    Value computed = load(b, extract(b, x, place(line, at)), element);
    auto ifBetter =
        [&](ImplicitLocOpBuilder &b, Value better,
            llvm::function_ref<Values(ImplicitLocOpBuilder &)> then) {
          auto branch = scf::IfOp::create(
              b, better,
              [&](OpBuilder &nested, Location loc) {
                ImplicitLocOpBuilder inner(loc, nested);
                scf::YieldOp::create(inner, then(inner));
              },
              [&](OpBuilder &nested, Location loc) {
                scf::YieldOp::create(nested, loc, carried);
              });
          return Values(branch.getResults());
        };
    auto take = [&](ImplicitLocOpBuilder &b) {
      Values now = sink(b, line, read(b, line, at), index(b, 0), count,
                        carried.drop_back());
      now.push_back(rootElement(b, line, now));
      return now;
    };
    auto isBefore = [&](ImplicitLocOpBuilder &b) {
      return standsBefore(b, computed, carried.back(), largest(), element);
    };
    if (!element.isFloat())
      return ifBetter(b, isBefore(b), take);
    // NaN is rare: whether there is one at all is part of one comparison.
    auto kind =
        largest() ? arith::CmpFPredicate::UGT : arith::CmpFPredicate::ULT;
    return ifBetter(b, compareFloats(b, kind, computed, carried.back()),
                    [&](ImplicitLocOpBuilder &inner) {
                      return ifBetter(inner, isBefore(inner), take);
                    });
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
  bool hasKeys;
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
  if (std::optional<Values> few = selectFew(lowering, op)) {
    lowering.setTensor(op->getResult(0), (*few)[0]);
    lowering.setTensor(op->getResult(1), (*few)[1]);
    return success();
  }
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
