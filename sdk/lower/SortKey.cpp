// SPDX-License-Identifier: Apache-2.0
#include "sdk/lower/SortKey.h"

namespace bp::lower {

Value word(ImplicitLocOpBuilder &b, int64_t value) {
  return arith::ConstantOp::create(b, b.getIntegerAttr(b.getI32Type(), value));
}

namespace {

Value is(ImplicitLocOpBuilder &b, arith::CmpIPredicate kind, Value a,
         int64_t c) {
  return arith::CmpIOp::create(b, kind, a, word(b, c));
}

Value choose(ImplicitLocOpBuilder &b, Value condition, Value yes, Value no) {
  return arith::SelectOp::create(b, condition, yes, no);
}

Value wordOfFloat(ImplicitLocOpBuilder &b, Value x) {
  Value bits = arith::BitcastOp::create(b, b.getI32Type(), x);
  Value size = arith::AndIOp::create(b, bits, word(b, INT32_MAX));
  Value isZero = is(b, arith::CmpIPredicate::eq, size, 0);
  bits = choose(b, isZero, word(b, 0), bits);
  // Negative ones are turned around.
  Value sign = is(b, arith::CmpIPredicate::slt, bits, 0);
  Value mask = choose(b, sign, word(b, -1), word(b, INT32_MIN));
  Value isNan = is(b, arith::CmpIPredicate::ugt, size, 0x7f800000);
  return choose(b, isNan, word(b, -1), arith::XOrIOp::create(b, bits, mask));
}

Value wordOfInteger(ImplicitLocOpBuilder &b, Value x, bool isUnsigned) {
  Type i32 = b.getI32Type();
  if (isUnsigned)
    return x.getType() == i32 ? x : arith::ExtUIOp::create(b, i32, x);
  if (x.getType() != i32)
    x = arith::ExtSIOp::create(b, i32, x);
  return arith::XOrIOp::create(b, x, word(b, INT32_MIN));
}

} // namespace

Value wordOf(ImplicitLocOpBuilder &b, Value computed, const Element &element) {
  return element.isFloat() ? wordOfFloat(b, computed)
                           : wordOfInteger(b, computed, element.isUnsigned);
}

Value elementOfWord(ImplicitLocOpBuilder &b, Value value,
                    const Element &element) {
  if (element.isFloat()) {
    Value positive = is(b, arith::CmpIPredicate::slt, value, 0);
    Value mask = choose(b, positive, word(b, INT32_MIN), word(b, -1));
    return arith::BitcastOp::create(b, b.getF32Type(),
                                    arith::XOrIOp::create(b, value, mask));
  }
  if (!element.isUnsigned)
    value = arith::XOrIOp::create(b, value, word(b, INT32_MIN));
  return element.compute == b.getI32Type()
             ? value
             : arith::TruncIOp::create(b, element.compute, value);
}

Value inverted(ImplicitLocOpBuilder &b, Value word) {
  Value all =
      arith::ConstantOp::create(b, b.getIntegerAttr(word.getType(), -1));
  return arith::XOrIOp::create(b, word, all);
}

} // namespace bp::lower
