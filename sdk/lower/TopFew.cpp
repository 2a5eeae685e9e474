// SPDX-License-Identifier: Apache-2.0
//
// top_k of few elements, over lines that lie side by side in memory: the keys
// of the best so far are carried in order, and each element goes through all of
// them. A key is the word of an element above its index, counted down, and
// whether it is negative, which the word of a zero does not tell.
#include "sdk/lower/SortKey.h"

#include "sdk/dialect/Convert.h"

namespace bp::lower {

namespace {

/// Keys of a line, at most: as many are in registers.
constexpr int64_t kFew = 8;
/// Lines side by side, at least.
constexpr int64_t kLines = 8;

/// The numbers of an op that keeps few.
struct Few {
  int64_t size, kept;
};

std::optional<Few> fewOf(TopKOp op, const Element &element) {
  auto axis = size_t(op.getAxis());
  const auto dims = dimsOf(op.getX().getType());
  std::optional<int64_t> size = dims[axis].constant();
  std::optional<int64_t> kept =
      dimsOf(op->getResult(0).getType())[axis].constant();
  int64_t lines = dims.back().constant().value_or(kLines);
  bool fits = element.compute.getIntOrFloatBitWidth() <= 32 &&
              !element.isBool && !element.format && !element.packed;
  if (!fits || axis + 1 == dims.size() || lines < kLines || !size || !kept ||
      *size >= INT32_MAX || *kept < 1 || *kept > std::min(kFew, *size))
    return std::nullopt;
  return Few{*size, *kept};
}

/// What is done to the lines.
class FewKeys {
public:
  FewKeys(TopKOp op, Value x, Few few)
      : op(op), x(x), few(few), element(elementOf(op.getX().getType())) {}

  Values select(ImplicitLocOpBuilder &b, ValueRange line, ValueRange lists) {
    // Below the keys of all elements.
    Values none(size_t(few.kept), arith::ConstantIntOp::create(b, 0, 64));
    Values keys =
        forLoop(b, index(b, few.size), none,
                [&](ImplicitLocOpBuilder &inner, Value at, ValueRange carried) {
                  return offer(inner, keyAt(inner, line, at), carried);
                });
    Values results(lists);
    for (auto [i, key] : llvm::enumerate(keys)) {
      Values at = with(line, size_t(op.getAxis()), index(b, int64_t(i)));
      results[0] = insert(b, valueOf(b, key), results[0], at);
      results[1] = insert(b, numberOf(b, key), results[1], at);
    }
    return results;
  }

private:
  static Value wide(ImplicitLocOpBuilder &b, Value narrow) {
    return arith::ExtUIOp::create(b, b.getI64Type(), narrow);
  }
  static Value low(ImplicitLocOpBuilder &b, Value key) {
    return arith::TruncIOp::create(b, b.getI32Type(), key);
  }
  static Value constant(ImplicitLocOpBuilder &b, int64_t value) {
    return arith::ConstantIntOp::create(b, value, 64);
  }

  Value keyAt(ImplicitLocOpBuilder &b, ValueRange line, Value at) {
    Value stored = extract(b, x, with(line, size_t(op.getAxis()), at));
    Value computed = load(b, stored, element);
    Value ordered = wordOf(b, computed, element);
    if (!op.getLargest())
      ordered = inverted(b, ordered);
    Value number = arith::IndexCastOp::create(b, b.getI64Type(), at);
    Value left = arith::SubIOp::create(b, constant(b, INT32_MAX), number);
    Value key = arith::OrIOp::create(
        b, arith::ShLIOp::create(b, wide(b, ordered), constant(b, 32)),
        arith::ShLIOp::create(b, left, constant(b, 1)));
    if (!element.isFloat())
      return key;
    Value bits = arith::BitcastOp::create(b, b.getI32Type(), computed);
    Value sign = arith::ShRUIOp::create(b, bits, word(b, 31));
    return arith::OrIOp::create(b, key, wide(b, sign));
  }

  /// The higher key stays, the lower one is offered to the next.
  static Values offer(ImplicitLocOpBuilder &b, Value key, ValueRange keys) {
    Values next;
    for (Value kept : keys) {
      Value above =
          arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, kept, key);
      next.push_back(arith::SelectOp::create(b, above, kept, key));
      key = arith::SelectOp::create(b, above, key, kept);
    }
    return next;
  }

  Value valueOf(ImplicitLocOpBuilder &b, Value key) {
    Value high = low(b, arith::ShRUIOp::create(b, key, constant(b, 32)));
    if (!op.getLargest())
      high = inverted(b, high);
    Value value = elementOfWord(b, high, element);
    if (element.isFloat()) {
      Value sign = arith::ShLIOp::create(b, low(b, key), word(b, 31));
      Value bits = arith::BitcastOp::create(b, b.getI32Type(), value);
      value = arith::BitcastOp::create(b, value.getType(),
                                       arith::OrIOp::create(b, bits, sign));
    }
    return store(b, value, element);
  }

  static Value numberOf(ImplicitLocOpBuilder &b, Value key) {
    Value left = arith::ShRUIOp::create(b, low(b, key), word(b, 1));
    return wide(b, arith::SubIOp::create(b, word(b, INT32_MAX), left));
  }

  TopKOp op;
  Value x;
  Few few;
  Element element;
};

} // namespace

std::optional<Values> selectFew(Lowering &lowering, TopKOp op) {
  Type type = op.getX().getType(), kept = op->getResult(0).getType();
  std::optional<Few> few = fewOf(op, elementOf(type));
  if (!few)
    return std::nullopt;
  FewKeys keys(op, lowering.tensor(op.getX()), *few);
  Values outputs{lowering.emptyLike(kept, elementOf(type).storage),
                 lowering.emptyLike(kept, lowering.builder.getI64Type())};
  return overLines(
      lowering.builder, without(boundsOf(lowering, type), size_t(op.getAxis())),
      outputs,
      [&](ImplicitLocOpBuilder &b, ValueRange line, ValueRange carried) {
        return keys.select(b, line, carried);
      });
}

} // namespace bp::lower
