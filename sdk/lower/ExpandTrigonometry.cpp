// SPDX-License-Identifier: Apache-2.0
//
// sin, cos, tan and atan. The first three compute in f64 for f32 as well.
#include "sdk/lower/MathBuilder.h"

#include "sdk/lower/MathCoefficients.h"

using namespace mlir;
using namespace bp::lower;

namespace {

/// x = quadrant * pi / 2 + rest, |rest| <= pi / 4.
struct Angle {
  Value quadrant; ///< an integer; only its low two bits mean something
  Value rest, low;
};

/// Any f32, given as f64: x times the digits of 2 / pi, 29 bits at a time, so
/// that each product is exact; whole turns are dropped as they come.
Angle reduceNarrow(MathBuilder &m, Value x) {
  static constexpr double digits[] = {
      0x1.45f306dp-1,   0x1.9391054p-30, 0x1.4fe13abp-59,  0x1.d1f534dp-88,
      0x1.b81b6c5p-117, 0x1.5993c4p-148, 0x1.c820ff2p-175, 0x1.163abdep-204};
  Value turns = m.f(0), part = m.f(0);
  for (double digit : digits) {
    Value product = m.mul(x, m.f(digit));
    Value whole = m.roundEven(m.mul(product, m.f(0.25)));
    part = m.add(part, m.fma(whole, m.f(-4), product));
    Value quarter = m.roundEven(part);
    part = m.sub(part, quarter);
    turns = m.add(turns, quarter);
  }
  Value quadrant = m.bits(m.add(turns, m.f(m.magic())));
  return {quadrant, m.mul(part, m.f(0x1.921fb54442d18p0)), m.f(0)};
}

/// f64 up to 2^45: pi / 2 in three parts, the first of which cancels exactly.
Angle reduceWide(MathBuilder &m, Value x) {
  Value magic = m.f(m.magic());
  Value shifted = m.fma(x, m.f(0x1.45f306dc9c883p-1), magic);
  Value n = m.sub(shifted, magic);
  Value minus = m.neg(n);
  Value first = m.fma(minus, m.f(0x1.921fb54442d18p0), x);
  Value second = m.f(0x1.1a62633145c07p-54);
  Value product = m.mul(n, second);
  Value lost = m.fma(minus, second, product);
  Value rest = m.sub(first, product);
  // What the subtraction rounded away, for operands of any order.
  Value back = m.sub(rest, first);
  Value error = m.sub(m.sub(first, m.sub(rest, back)), m.add(product, back));
  Value low = m.add(error, lost);
  low = m.fma(minus, m.f(-0x1.f1976b7ed8fbcp-110), low);
  return {m.bits(shifted), m.clamp(rest, -0.8, 0.8), m.clamp(low, -1, 1)};
}

Value sineOf(MathBuilder &m, const Angle &a) {
  Value square = m.mul(a.rest, a.rest);
  Value tail = m.poly(bp::coefficients::sinF64, square);
  Value slope = m.fma(square, m.f(-0.5), m.f(1));
  Value rest = m.fma(m.mul(square, a.rest), tail, m.mul(a.low, slope));
  return m.add(a.rest, rest);
}

Value cosineOf(MathBuilder &m, const Angle &a) {
  Value square = m.mul(a.rest, a.rest);
  Value tail = m.poly(bp::coefficients::cosF64, square);
  Value half = m.mul(square, m.f(0.5));
  Value main = m.sub(m.f(1), half);
  Value lost = m.sub(m.sub(m.f(1), main), half);
  Value rest =
      m.fma(m.mul(square, square), tail, m.fma(m.neg(a.rest), a.low, lost));
  return m.add(main, rest);
}

/// sin(rest + quadrant * pi / 2).
Value sineInQuadrant(MathBuilder &m, const Angle &a, Value quadrant) {
  Value value = m.select(m.isOdd(quadrant), cosineOf(m, a), sineOf(m, a));
  Value sign = m.shl(m.andI(quadrant, m.i(2)), 62);
  return m.fromBits(m.xorI(m.bits(value), sign));
}

Value tangentOf(MathBuilder &m, const Angle &a) {
  Value sine = sineOf(m, a), cosine = cosineOf(m, a);
  Value isOdd = m.isOdd(a.quadrant);
  return m.div(m.select(isOdd, m.neg(cosine), sine),
               m.select(isOdd, sine, cosine));
}

/// Reduces x in f64, applies `function` and rounds to the format of `m`.
Value viaAngle(
    MathBuilder &m, Value x,
    llvm::function_ref<Value(MathBuilder &, const Angle &)> function) {
  MathBuilder wide = m.f64();
  if (m.isF64())
    return function(wide, reduceWide(wide, x));
  Value result = function(wide, reduceNarrow(wide, wide.extend(x)));
  return wide.narrow(result, x.getType());
}

/// sin(x) = tan(x) = x below this, with the sign of zeros.
Value keepTiny(MathBuilder &m, Value x, Value value) {
  Value tiny = m.less(m.abs(x), m.f(m.isF64() ? 0x1p-27 : 0x1p-13));
  return m.select(tiny, x, value);
}

} // namespace

Value bp::lower::expandSin(MathBuilder &m, Value x) {
  Value value = viaAngle(m, x, [](MathBuilder &wide, const Angle &a) {
    return sineInQuadrant(wide, a, a.quadrant);
  });
  return keepTiny(m, x, value);
}

Value bp::lower::expandCos(MathBuilder &m, Value x) {
  return viaAngle(m, x, [](MathBuilder &wide, const Angle &a) {
    return sineInQuadrant(wide, a, wide.addI(a.quadrant, wide.i(1)));
  });
}

Value bp::lower::expandTan(MathBuilder &m, Value x) {
  return keepTiny(m, x, viaAngle(m, x, tangentOf));
}

Value bp::lower::expandAtan(MathBuilder &m, Value x) {
  double high = m.isF64() ? 0x1.921fb54442d18p0 : 0x1.921fb6p0;
  double low = m.isF64() ? 0x1.1a62633145c07p-54 : -0x1.777a5cp-25;
  Value magnitude = m.abs(x);
  Value isSteep = m.less(m.f(1), magnitude);
  Value t = m.select(isSteep, m.div(m.f(1), magnitude), magnitude);
  Value square = m.mul(t, t);
  Value tail = m.isF64() ? m.poly(bp::coefficients::atanF64, square)
                         : m.poly(bp::coefficients::atanF32, square);
  Value angle = m.fma(m.mul(square, t), tail, t);
  Value complement = m.add(m.sub(m.f(high), angle), m.f(low));
  return m.copySign(m.select(isSteep, complement, angle), x);
}

Value bp::lower::expandRsqrt(MathBuilder &m, Value x) {
  return m.div(m.f(1), m.sqrt(x));
}
