// SPDX-License-Identifier: Apache-2.0
//
// log, log1p, the inverse hyperbolic functions and pow: the exponent apart,
// then a polynomial of the mantissa in [sqrt(1/2), sqrt(2)). f64 carries a
// second float along.
#include "sdk/lower/MathBuilder.h"

#include "sdk/lower/MathCoefficients.h"

using namespace mlir;
using namespace bp::lower;

namespace {

// ln 2 with so few bits that its product with an exponent is exact.
constexpr double ln2High64 = 0x1.62e42fefa2p-1,
                 ln2Low64 = 0x1.9ef35793c7673p-41;
constexpr double ln2High32 = 0x1.62e400p-1, ln2Low32 = 0x1.7f7d1cf79abcap-20;

/// x = 2^exponent * mantissa, the exponent as a float.
struct Split {
  Value exponent, mantissa;
};

Split split(MathBuilder &m, Value x) {
  double smallest = m.isF64() ? 0x1p-1022 : 0x1p-126;
  double lift = m.isF64() ? 0x1p52 : 0x1p23;
  Value isSubnormal = m.less(x, m.f(smallest));
  Value normal = m.select(isSubnormal, m.mul(x, m.f(lift)), x);
  Value lifted = m.select(isSubnormal, m.f(-double(m.mantissa())), m.f(0));
  Value all = m.bits(normal);
  // The bits of sqrt(1/2): above it, the exponent field counts from 0.
  Value root = m.bits(m.f(0x1.6a09e667f3bcdp-1));
  Value exponent = m.sar(m.subI(all, root), m.mantissa());
  Value mantissa = m.fromBits(m.subI(all, m.shl(exponent, m.mantissa())));
  return {m.add(m.fromInteger(exponent), lifted), mantissa};
}

/// log(x) of an f32 above zero.
Value logOfNormal(MathBuilder &m, Value x) {
  Split s = split(m, x);
  Value f = m.sub(s.mantissa, m.f(1));
  Value square = m.mul(f, f);
  Value tail = m.poly(bp::coefficients::logF32, f);
  Value rest = m.mul(s.exponent, m.f(ln2Low32));
  rest = m.fma(m.mul(square, f), tail, rest);
  rest = m.fma(m.f(-0.5), square, rest);
  return m.fma(s.exponent, m.f(ln2High32), m.add(f, rest));
}

/// Replaces what was computed where x is 0, negative, infinite or NaN.
Value withSpecials(MathBuilder &m, Value x, Value logarithm) {
  Value result = m.select(m.less(x, m.f(m.infinity())), logarithm, x);
  result = m.select(m.less(x, m.f(0)), m.f(m.nan()), result);
  return m.select(m.equal(x, m.f(0)), m.f(-m.infinity()), result);
}

/// What 1 + x loses when it is rounded to `sum`.
Value lostBySum(MathBuilder &m, Value x, Value sum) {
  Value ofSmall = m.sub(x, m.sub(sum, m.f(1)));
  Value ofLarge = m.sub(m.f(1), m.sub(sum, x));
  return m.select(m.less(m.abs(x), m.f(1)), ofSmall, ofLarge);
}

/// |x|^y for f64: any y, x not NaN.
Value powerOfMagnitude(MathBuilder &m, Value magnitude, Value y) {
  Pair logarithm = logPair(m, magnitude);
  Value product = m.mul(y, logarithm.high);
  Value rest = m.fma(y, logarithm.high, m.neg(product));
  rest = m.fma(y, logarithm.low, rest);
  // Beyond the range of exp the rest means nothing, and may be NaN.
  Value inRange = m.less(m.abs(product), m.f(1000));
  rest = m.select(inRange, rest, m.f(0));
  Value result = expInRange(m, m.clamp(product, -746, 710), rest);
  return m.select(m.equal(magnitude, m.f(1)), m.f(1), result);
}

} // namespace

Pair bp::lower::logPair(MathBuilder &m, Value x) {
  Split split = ::split(m, x);
  Value f = m.sub(split.mantissa, m.f(1));
  Value divisor = m.add(split.mantissa, m.f(1));
  Value divisorLow = m.sub(split.mantissa, m.sub(divisor, m.f(1)));
  // log(mantissa) = log((1 + s) / (1 - s)) with s = f / divisor.
  Value s = m.div(f, divisor);
  Value left = m.fma(m.neg(s), divisor, f);
  left = m.fma(m.neg(s), divisorLow, left);
  Value sLow = m.div(left, divisor);
  Value square = m.mul(s, s);
  Value tail = m.poly(bp::coefficients::logF64, square);
  Value low = m.fma(m.mul(square, s), tail, m.add(sLow, sLow));
  low = m.fma(split.exponent, m.f(ln2Low64), low);
  Value main = m.mul(split.exponent, m.f(ln2High64));
  Value twice = m.add(s, s);
  Value high = m.add(main, twice);
  low = m.add(m.sub(twice, m.sub(high, main)), low);
  Value sum = m.add(high, low);
  Value rest = m.sub(low, m.sub(sum, high));
  Value isFinite = m.less(m.abs(x), m.f(m.infinity()));
  sum = m.select(isFinite, sum, x);
  sum = m.select(m.equal(x, m.f(0)), m.f(-m.infinity()), sum);
  return {sum, rest};
}

Value bp::lower::expandLog(MathBuilder &m, Value x) {
  Value logarithm = m.isF64() ? logPair(m, x).high : logOfNormal(m, x);
  return withSpecials(m, x, logarithm);
}

Value bp::lower::expandLog1p(MathBuilder &m, Value x) {
  Value sum = m.add(x, m.f(1));
  Value correction = m.div(lostBySum(m, x, sum), sum);
  Value result;
  if (m.isF64()) {
    Pair logarithm = logPair(m, sum);
    result = m.add(logarithm.high, m.add(logarithm.low, correction));
  } else {
    result = m.add(logOfNormal(m, sum), correction);
  }
  result = m.select(m.less(x, m.f(m.infinity())), result, x);
  result = m.select(m.less(x, m.f(-1)), m.f(m.nan()), result);
  result = m.select(m.equal(x, m.f(-1)), m.f(-m.infinity()), result);
  Value tiny = m.less(m.abs(x), m.f(m.isF64() ? 0x1p-54 : 0x1p-25));
  return m.select(tiny, x, result);
}

/// log(2 x) for x so large that nothing but it counts.
static Value logOfDouble(MathBuilder &m, Value x) {
  return m.add(expandLog(m, x), m.f(0x1.62e42fefa39efp-1));
}
static Value isLarge(MathBuilder &m, Value x) {
  return m.less(m.f(m.isF64() ? 0x1p28 : 0x1p13), x);
}

Value bp::lower::expandAsinh(MathBuilder &m, Value x) {
  Value magnitude = m.abs(x);
  Value square = m.mul(magnitude, magnitude);
  Value root = m.sqrt(m.add(square, m.f(1)));
  Value more = m.div(square, m.add(root, m.f(1)));
  Value result = expandLog1p(m, m.add(magnitude, more));
  result = m.select(isLarge(m, magnitude), logOfDouble(m, magnitude), result);
  return m.copySign(result, x);
}

Value bp::lower::expandAcosh(MathBuilder &m, Value x) {
  Value t = m.sub(x, m.f(1));
  Value root = m.sqrt(m.mul(t, m.add(t, m.f(2))));
  Value result = expandLog1p(m, m.add(t, root));
  result = m.select(isLarge(m, x), logOfDouble(m, x), result);
  return m.select(m.less(x, m.f(1)), m.f(m.nan()), result);
}

Value bp::lower::expandAtanh(MathBuilder &m, Value x) {
  Value magnitude = m.abs(x);
  Value t = m.div(m.add(magnitude, magnitude), m.sub(m.f(1), magnitude));
  return m.copySign(m.mul(m.f(0.5), expandLog1p(m, t)), x);
}

/// f32 computes in f64; both end in the table of special cases.
Value bp::lower::expandPow(MathBuilder &m, Value x, Value y) {
  if (!m.isF64()) {
    MathBuilder wide = m.f64();
    Value result = expandPow(wide, wide.extend(x), wide.extend(y));
    return wide.narrow(result, x.getType());
  }
  Value zero = m.f(0), one = m.f(1);
  Value power = powerOfMagnitude(m, m.abs(x), y);
  Value isIntegral = m.equal(m.trunc(y), y);
  Value half = m.mul(y, m.f(0.5));
  Value isOdd = m.both(isIntegral, m.differ(m.trunc(half), half));
  Value result = m.select(isOdd, m.copySign(power, x), power);
  Value isNegative = m.both(m.less(x, zero), m.less(m.f(-m.infinity()), x));
  Value isRoot = m.differ(m.trunc(y), y);
  result = m.select(m.both(isNegative, isRoot), m.f(m.nan()), result);
  Value isNan = m.either(m.differ(x, x), m.differ(y, y));
  result = m.select(isNan, m.f(m.nan()), result);
  Value isOne = m.either(m.equal(y, zero), m.equal(x, one));
  return m.select(isOne, one, result);
}
