// SPDX-License-Identifier: Apache-2.0
//
// What happens to single elements in region bodies: loads and stores, casts,
// the steps of reductions.
#include "sdk/lower/Lowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace bp;
using namespace bp::lower;

namespace {

Value constant(ImplicitLocOpBuilder &body, TypedAttr value) {
  return arith::ConstantOp::create(body, value);
}

Value integer(ImplicitLocOpBuilder &body, Type type, const APInt &value) {
  return constant(body, body.getIntegerAttr(type, value));
}

Value select(ImplicitLocOpBuilder &body, Value condition, Value a, Value b) {
  return arith::SelectOp::create(body, condition, a, b);
}

unsigned widthOf(Type type) { return type.getIntOrFloatBitWidth(); }

Value nonZero(ImplicitLocOpBuilder &body, Value value) {
  Type type = value.getType();
  Value zero = constant(body, cast<TypedAttr>(body.getZeroAttr(type)));
  if (isa<FloatType>(type))
    return arith::CmpFOp::create(body, arith::CmpFPredicate::UNE, value, zero);
  return arith::CmpIOp::create(body, arith::CmpIPredicate::ne, value, zero);
}

/// f64 to f32, rounded to odd: a second rounding, to f16 or bf16, is then that
/// of the f64.
Value toOddF32(ImplicitLocOpBuilder &body, Value value) {
  Type f32 = body.getF32Type(), f64 = body.getF64Type(),
       i32 = body.getI32Type();
  Value near = arith::TruncFOp::create(body, f32, value);
  Value back = arith::ExtFOp::create(body, f64, near);
  Value bits = arith::BitcastOp::create(body, i32, near);
  Value zero = constant(body, body.getF64FloatAttr(0));
  auto less = [&](Value a, Value b) -> Value {
    return arith::CmpFOp::create(body, arith::CmpFPredicate::OLT, a, b);
  };
  Value positive = less(zero, value);
  Value tooHigh = select(body, positive, less(value, back), less(back, value));
  Value one = integer(body, i32, APInt(32, 1));
  Value lower = arith::SubIOp::create(body, bits, one);
  Value towardsZero = select(body, tooHigh, lower, bits);
  Value odd = arith::OrIOp::create(body, towardsZero, one);
  Value inexact =
      arith::CmpFOp::create(body, arith::CmpFPredicate::ONE, value, back);
  Value result = select(body, inexact, odd, bits);
  return arith::BitcastOp::create(body, f32, result);
}

/// A 64-bit integer with its low 12 bits, when its magnitude needs more than
/// the 53 bits of f64, merged into one sticky bit: exact in f64, and it rounds
/// to f16 and bf16 as the integer does.
Value sticky(ImplicitLocOpBuilder &body, Value value, bool isUnsigned) {
  Type type = value.getType();
  Value low = integer(body, type, APInt(64, 0xfff));
  Value high = integer(body, type, ~APInt(64, 0xfff));
  Value bit = integer(body, type, APInt(64, 0x800));
  Value zero = integer(body, type, APInt(64, 0));
  Value masked = arith::AndIOp::create(body, value, high);
  Value rest = nonZero(body, arith::AndIOp::create(body, value, low));
  Value set = arith::OrIOp::create(body, masked, select(body, rest, bit, zero));
  Value shift = integer(body, type, APInt(64, 53));
  Value top = isUnsigned ? Value(arith::ShRUIOp::create(body, value, shift))
                         : Value(arith::ShRSIOp::create(body, value, shift));
  Value ones = integer(body, type, APInt::getAllOnes(64));
  Value wide = nonZero(body, top);
  if (!isUnsigned)
    wide = arith::AndIOp::create(
        body, wide,
        arith::CmpIOp::create(body, arith::CmpIPredicate::ne, top, ones));
  return select(body, wide, set, value);
}

Value resizeFloat(ImplicitLocOpBuilder &body, Value value, Type type) {
  unsigned from = widthOf(value.getType()), to = widthOf(type);
  if (from == to)
    return value;
  if (from < to)
    return arith::ExtFOp::create(body, type, value);
  return arith::TruncFOp::create(body, type, value);
}

Value integerToFloat(ImplicitLocOpBuilder &body, Value value,
                     const Element &from, const Element &to) {
  auto convert = [&](Value operand, Type type) -> Value {
    if (from.isUnsigned)
      return arith::UIToFPOp::create(body, type, operand);
    return arith::SIToFPOp::create(body, type, operand);
  };
  unsigned width = widthOf(value.getType());
  // f32 holds 16 bits exactly; beyond that f16 and bf16 would round twice.
  if (!to.converts() || width <= 16)
    return convert(value, to.compute);
  if (width == 64)
    value = sticky(body, value, from.isUnsigned);
  return toOddF32(body, convert(value, body.getF64Type()));
}

/// What a conversion to an integer saturates at.
struct IntegerBounds {
  explicit IntegerBounds(const Element &to)
      : isSigned(!to.isUnsigned), width(to.bits()),
        lowest(isSigned ? APInt::getSignedMinValue(width) : APInt(width, 0)),
        highest(isSigned ? APInt::getSignedMaxValue(width)
                         : APInt::getMaxValue(width)) {}

  bool isSigned;
  unsigned width;
  APInt lowest, highest;
};

Value truncated(ImplicitLocOpBuilder &body, Value value, const Element &to) {
  if (to.isUnsigned)
    return arith::FPToUIOp::create(body, to.compute, value);
  return arith::FPToSIOp::create(body, to.compute, value);
}

/// Where the float has all values of the integer: it saturates as a float,
/// whose comparisons are those of the machine's maximum and minimum.
Value clampToInteger(ImplicitLocOpBuilder &body, Value value,
                     const Element &to) {
  IntegerBounds bounds(to);
  auto type = cast<FloatType>(value.getType());
  auto number = [&](const APInt &integer) {
    APFloat exact(type.getFloatSemantics());
    exact.convertFromAPInt(integer, bounds.isSigned, APFloat::rmTowardZero);
    return constant(body, body.getFloatAttr(type, exact));
  };
  auto choose = [&](arith::CmpFPredicate kind, Value than, Value otherwise) {
    Value keeps = arith::CmpFOp::create(body, kind, value, than);
    value = select(body, keeps, value, otherwise);
  };
  Value zero = constant(body, body.getFloatAttr(type, 0));
  if (bounds.isSigned)
    choose(arith::CmpFPredicate::ORD, value, zero);
  Value low = number(bounds.lowest), high = number(bounds.highest);
  choose(arith::CmpFPredicate::OGT, low, low);
  choose(arith::CmpFPredicate::OLT, high, high);
  return truncated(body, value, to);
}

Value floatToInteger(ImplicitLocOpBuilder &body, Value value,
                     const Element &to) {
  auto type = cast<FloatType>(value.getType());
  auto [isSigned, width, lowest, highest] = IntegerBounds(to);
  if (width < APFloat::semanticsPrecision(type.getFloatSemantics()))
    return clampToInteger(body, value, to);
  APFloat lowBound(type.getFloatSemantics());
  lowBound.convertFromAPInt(lowest, isSigned, APFloat::rmTowardZero);
  APFloat highBound = scalbn(APFloat(type.getFloatSemantics(), 1),
                             int(width - isSigned), APFloat::rmTowardZero);
  Value low = constant(body, body.getFloatAttr(type, lowBound));
  Value high = constant(body, body.getFloatAttr(type, highBound));
  auto compare = [&](arith::CmpFPredicate kind, Value bound) -> Value {
    return arith::CmpFOp::create(body, kind, value, bound);
  };
  Value above = compare(arith::CmpFPredicate::OGE, high);
  Value below = compare(arith::CmpFPredicate::OLT, low);
  Value nan = compare(arith::CmpFPredicate::UNO, value);
  Value outside =
      arith::OrIOp::create(body, nan, arith::OrIOp::create(body, above, below));
  Value zero = constant(body, body.getFloatAttr(type, 0));
  Value result = truncated(body, select(body, outside, zero, value), to);
  auto bound = [&](const APInt &number) {
    unsigned bits = widthOf(to.compute);
    return integer(body, to.compute,
                   isSigned ? number.sext(bits) : number.zext(bits));
  };
  result = select(body, above, bound(highest), result);
  return select(body, below, bound(lowest), result);
}

Value resizeInteger(ImplicitLocOpBuilder &body, Value value, bool isUnsigned,
                    Type type) {
  unsigned from = widthOf(value.getType()), to = widthOf(type);
  if (from == to)
    return value;
  if (from > to)
    return arith::TruncIOp::create(body, type, value);
  if (isUnsigned)
    return arith::ExtUIOp::create(body, type, value);
  return arith::ExtSIOp::create(body, type, value);
}

/// The low bits of an integer, extended.
Value wrap(ImplicitLocOpBuilder &body, Value value, const Element &to) {
  Type type = value.getType();
  unsigned unused = widthOf(type) - to.bits();
  if (unused == 0)
    return value;
  Value shift = integer(body, type, APInt(widthOf(type), unused));
  Value high = arith::ShLIOp::create(body, value, shift);
  if (to.isUnsigned)
    return arith::ShRUIOp::create(body, high, shift);
  return arith::ShRSIOp::create(body, high, shift);
}

Value minimum(ImplicitLocOpBuilder &body, Value a, Value b, bool isUnsigned) {
  if (isa<FloatType>(a.getType()))
    return arith::MinimumFOp::create(body, a, b);
  if (isUnsigned)
    return arith::MinUIOp::create(body, a, b);
  return arith::MinSIOp::create(body, a, b);
}

Value maximum(ImplicitLocOpBuilder &body, Value a, Value b, bool isUnsigned) {
  if (isa<FloatType>(a.getType()))
    return arith::MaximumFOp::create(body, a, b);
  if (isUnsigned)
    return arith::MaxUIOp::create(body, a, b);
  return arith::MaxSIOp::create(body, a, b);
}

/// The highest value, or the lowest.
TypedAttr extreme(Type type, bool isUnsigned, bool highest) {
  Builder builder(type.getContext());
  if (auto floats = dyn_cast<FloatType>(type))
    return builder.getFloatAttr(
        type, APFloat::getInf(floats.getFloatSemantics(), !highest));
  unsigned width = widthOf(type);
  if (isUnsigned)
    return builder.getIntegerAttr(type, highest ? APInt::getMaxValue(width)
                                                : APInt(width, 0));
  return builder.getIntegerAttr(type, highest
                                          ? APInt::getSignedMaxValue(width)
                                          : APInt::getSignedMinValue(width));
}

} // namespace

Value lower::load(ImplicitLocOpBuilder &body, Value stored,
                  const Element &element) {
  if (stored.getType() == element.compute)
    return stored;
  if (element.isBool)
    return nonZero(body, stored);
  if (element.format)
    return decodeFloat(body, stored, element.format);
  return arith::ExtFOp::create(body, element.compute, stored);
}

Value lower::store(ImplicitLocOpBuilder &body, Value computed,
                   const Element &element) {
  if (!element.converts())
    return computed;
  if (element.isBool)
    return arith::ExtUIOp::create(body, element.storage, computed);
  if (element.format)
    return encodeFloat(body, computed, element.format);
  return arith::TruncFOp::create(body, element.storage, computed);
}

Value lower::castScalar(ImplicitLocOpBuilder &body, Value value,
                        const Element &from, const Element &to) {
  if (to.isBool)
    return from.isBool ? value : nonZero(body, value);
  if (from.isFloat() && !to.isFloat())
    return floatToInteger(body, value, to);
  if (!from.isFloat() && to.isFloat())
    return integerToFloat(body, value, from, to);
  if (!from.isFloat())
    return wrap(body, resizeInteger(body, value, from.isUnsigned, to.compute),
                to);
  if (from.compute.isF64() && to.converts())
    return toOddF32(body, value);
  return resizeFloat(body, value, to.compute);
}

TypedAttr lower::neutral(StringRef kind, Type type, bool isUnsigned) {
  Builder builder(type.getContext());
  if (kind == "min" || kind == "max")
    return extreme(type, isUnsigned, kind == "min");
  if (kind == "prod" || kind == "and")
    return builder.getOneAttr(type);
  return builder.getZeroAttr(type);
}

Value lower::combine(ImplicitLocOpBuilder &body, StringRef kind, Value a,
                     Value b, bool isUnsigned) {
  bool isFloat = isa<FloatType>(a.getType());
  if (kind == "min")
    return minimum(body, a, b, isUnsigned);
  if (kind == "max")
    return maximum(body, a, b, isUnsigned);
  if (kind == "and")
    return arith::AndIOp::create(body, a, b);
  if (kind == "or")
    return arith::OrIOp::create(body, a, b);
  if (kind == "prod" && isFloat)
    return arith::MulFOp::create(body, a, b);
  if (kind == "prod")
    return arith::MulIOp::create(body, a, b);
  if (isFloat)
    return arith::AddFOp::create(body, a, b);
  return arith::AddIOp::create(body, a, b);
}

Value lower::multiplyAdd(ImplicitLocOpBuilder &body, Value a, Value b,
                         Value sum) {
  Value product = isa<FloatType>(a.getType())
                      ? Value(arith::MulFOp::create(body, a, b))
                      : Value(arith::MulIOp::create(body, a, b));
  return combine(body, "sum", sum, product, false);
}
