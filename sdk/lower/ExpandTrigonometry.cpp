// SPDX-License-Identifier: Apache-2.0
//
// sin, cos and tan, which compute in f64 for f32 as well, and their inverses.
#include "sdk/lower/MathBuilder.h"

#include "sdk/lower/MathCoefficients.h"

using namespace mlir;
using namespace bp::lower;

namespace {

/// What an angle of f32, given as f64, is divided by: x = (n - offset) * unit +
/// rest, |rest| <= unit / 2, with n in the `quadrant` of an Angle.
struct Unit {
  double quarters; ///< of a turn
  double offset;
};

/// Any f32: x times the digits of 2 / pi, 29 bits at a time, so that each
/// product is exact; whole turns are dropped as they come.
Angle reduceAny(MathBuilder &m, Value x, const Unit &unit) {
  static constexpr double digits[] = {
      0x1.45f306dp-1,   0x1.9391054p-30, 0x1.4fe13abp-59,  0x1.d1f534dp-88,
      0x1.b81b6c5p-117, 0x1.5993c4p-148, 0x1.c820ff2p-175, 0x1.163abdep-204};
  double turn = 4 / unit.quarters;
  Value units = m.f(0), part = m.f(unit.offset);
  for (double digit : digits) {
    Value product = m.mul(x, m.f(digit / unit.quarters));
    Value whole = m.roundEven(m.mul(product, m.f(1 / turn)));
    part = m.add(part, m.fma(whole, m.f(-turn), product));
    Value nearest = m.roundEven(part);
    part = m.sub(part, nearest);
    units = m.add(units, nearest);
  }
  Value number = m.bits(m.add(units, m.f(m.magic())));
  double size = 0x1.921fb54442d18p0 * unit.quarters;
  return {number, m.mul(part, m.f(size)), m.f(0)};
}

/// Below this subtraction loses nothing that a result of f32 shows: no f32 is
/// nearer than 2^-30 to a multiple of pi / 2 but 0.
constexpr double kNearAngle = 0x1p24;

/// Up to kNearAngle: pi in two parts.
Angle reduceNear(MathBuilder &m, Value x, const Unit &unit) {
  Value inverse = m.f(0x1.45f306dc9c883p-1 / unit.quarters);
  Value magic = m.f(m.magic()), shifted;
  if (unit.offset == 0)
    shifted = m.fma(x, inverse, magic);
  else
    shifted = m.add(m.fma(x, inverse, m.f(unit.offset)), magic);
  Value n = m.sub(shifted, magic);
  if (unit.offset != 0)
    n = m.sub(n, m.f(unit.offset));
  Value rest = m.fma(n, m.f(-0x1.921fb54442d18p0 * unit.quarters), x);
  rest = m.fma(n, m.f(-0x1.1a62633145c07p-54 * unit.quarters), rest);
  return {m.bits(shifted), rest, m.f(0)};
}

/// The angle of an f32, in the format of `wide`. Vectors without far angles,
/// as most are, take a branch around what those need.
Angle reduceNarrow(MathBuilder &m, MathBuilder &wide, Value x,
                   const Unit &unit) {
  Value extended = wide.extend(x);
  if (!m.isVector())
    return reduceAny(wide, extended, unit);
  Value isNear = m.less(m.abs(x), m.f(kNearAngle));
  auto by = [&](auto reduce) {
    return [&, reduce]() -> MathBuilder::Parts {
      Angle angle = reduce(wide, extended, unit);
      return {angle.quadrant, angle.rest};
    };
  };
  auto [quadrant, rest] = wide.ifAll(isNear, by(reduceNear), by(reduceAny));
  return {quadrant, rest, wide.f(0)};
}

/// sin(n * pi + rest) for an angle in halves of a turn.
Value sineOfHalves(MathBuilder &m, const Angle &a) {
  Value square = m.mul(a.rest, a.rest);
  Value tail = m.poly(bp::coefficients::sinOfHalvesF64, square);
  Value value = m.fma(m.mul(square, a.rest), tail, a.rest);
  return m.fromBits(m.xorI(m.bits(value), m.shl(a.quadrant, 63)));
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

/// sin(x + offset * pi) of f32, by f64.
Value narrowSine(MathBuilder &m, Value x, double offset) {
  MathBuilder wide = m.f64();
  Angle angle = reduceNarrow(m, wide, x, {2, offset});
  return wide.narrow(sineOfHalves(wide, angle), x.getType());
}

/// sin(x) = tan(x) = x below this, with the sign of zeros.
Value keepTiny(MathBuilder &m, Value x, Value value) {
  Value tiny = m.less(m.abs(x), m.f(m.isF64() ? 0x1p-27 : 0x1p-13));
  return m.select(tiny, x, value);
}

} // namespace

Value bp::lower::expandSin(MathBuilder &m, Value x) {
  if (!m.isF64())
    return keepTiny(m, x, narrowSine(m, x, 0));
  Angle angle = reduceWide(m, x);
  return keepTiny(m, x, sineInQuadrant(m, angle, angle.quadrant));
}

Value bp::lower::expandCos(MathBuilder &m, Value x) {
  if (!m.isF64())
    return narrowSine(m, x, 0.5);
  Angle angle = reduceWide(m, x);
  return sineInQuadrant(m, angle, m.addI(angle.quadrant, m.i(1)));
}

Value bp::lower::expandTan(MathBuilder &m, Value x) {
  if (m.isF64())
    return keepTiny(m, x, tangentOf(m, reduceWide(m, x)));
  MathBuilder wide = m.f64();
  Value value = tangentOf(wide, reduceNarrow(m, wide, x, {1, 0}));
  return keepTiny(m, x, wide.narrow(value, x.getType()));
}

/// asin(x) for x in [0, 1/2].
static Value asinOfSmall(MathBuilder &m, Value x, Value square) {
  Value tail = m.isF64() ? m.poly(bp::coefficients::asinF64, square)
                         : m.poly(bp::coefficients::asinF32, square);
  return m.fma(m.mul(square, x), tail, x);
}

/// asin of |x|, or of sqrt((1 - |x|) / 2) when |x| is above 1/2: half the
/// angle that is missing to pi / 2.
struct ArcSine {
  Value isSteep, angle;
};
static ArcSine arcSine(MathBuilder &m, Value magnitude) {
  Value isSteep = m.less(m.f(0.5), magnitude);
  Value half = m.fma(magnitude, m.f(-0.5), m.f(0.5));
  Value x = m.select(isSteep, m.sqrt(half), magnitude);
  Value square = m.select(isSteep, half, m.mul(magnitude, magnitude));
  return {isSteep, asinOfSmall(m, x, square)};
}

static Value halfPi(MathBuilder &m) {
  return m.f(m.isF64() ? 0x1.921fb54442d18p0 : 0x1.921fb6p0);
}
static Value halfPiRest(MathBuilder &m) {
  return m.f(m.isF64() ? 0x1.1a62633145c07p-54 : -0x1.777a5cp-25);
}

Value bp::lower::expandAsin(MathBuilder &m, Value x) {
  ArcSine a = arcSine(m, m.abs(x));
  Value twice = m.sub(m.add(a.angle, a.angle), halfPiRest(m));
  Value steep = m.sub(halfPi(m), twice);
  return m.copySign(m.select(a.isSteep, steep, a.angle), x);
}

Value bp::lower::expandAcos(MathBuilder &m, Value x) {
  ArcSine a = arcSine(m, m.abs(x));
  Value isNegative = m.less(x, m.f(0));
  Value twice = m.add(a.angle, a.angle);
  Value pi = m.add(halfPi(m), halfPi(m));
  Value rest = m.add(halfPiRest(m), halfPiRest(m));
  Value obtuse = m.sub(pi, m.sub(twice, rest));
  Value steep = m.select(isNegative, obtuse, twice);
  Value angle = m.copySign(a.angle, x);
  Value flat = m.sub(halfPi(m), m.sub(angle, halfPiRest(m)));
  return m.select(a.isSteep, steep, flat);
}

Value bp::lower::expandAtan(MathBuilder &m, Value x) {
  Value magnitude = m.abs(x);
  Value isSteep = m.less(m.f(1), magnitude);
  Value t = m.select(isSteep, m.div(m.f(1), magnitude), magnitude);
  Value square = m.mul(t, t);
  Value tail = m.isF64() ? m.poly(bp::coefficients::atanF64, square)
                         : m.poly(bp::coefficients::atanF32, square);
  Value angle = m.fma(m.mul(square, t), tail, t);
  Value complement = m.add(m.sub(halfPi(m), angle), halfPiRest(m));
  return m.copySign(m.select(isSteep, complement, angle), x);
}

Value bp::lower::expandRsqrt(MathBuilder &m, Value x) {
  return m.div(m.f(1), m.sqrt(x));
}
