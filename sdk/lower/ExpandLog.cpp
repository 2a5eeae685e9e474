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

} // namespace

/// x + y for |x| not below |y|, with what the sum loses.
static Pair sumOf(MathBuilder &m, Value x, Value y) {
  Value sum = m.add(x, y);
  return {sum, m.sub(y, m.sub(sum, x))};
}

/// x * y with what the product loses.
static Pair productOf(MathBuilder &m, Value x, Value y) {
  Value product = m.mul(x, y);
  return {product, m.fma(x, y, m.neg(product))};
}

/// s = (x - 1) / (x + 1).
static Pair ratioOf(MathBuilder &m, Value x) {
  Value top = m.sub(x, m.f(1));
  Value divisor = m.add(x, m.f(1));
  Value divisorLow = m.sub(x, m.sub(divisor, m.f(1)));
  Value s = m.div(top, divisor);
  Value left = m.fma(m.neg(s), divisor, top);
  left = m.fma(m.neg(s), divisorLow, left);
  return {s, m.div(left, divisor)};
}

/// The high and low parts of exponent * ln 2 + sum, and the special cases.
static Pair logOf(MathBuilder &m, Value x, Value exponent, Pair part) {
  Value low = m.fma(exponent, m.f(ln2Low64), part.low);
  Pair total = sumOf(m, m.mul(exponent, m.f(ln2High64)), part.high);
  total = sumOf(m, total.high, m.add(total.low, low));
  Value isFinite = m.less(m.abs(x), m.f(m.infinity()));
  Value high = m.select(isFinite, total.high, x);
  high = m.select(m.equal(x, m.f(0)), m.f(-m.infinity()), high);
  return {high, total.low};
}

Pair bp::lower::logPair(MathBuilder &m, Value x) {
  Split split = ::split(m, x);
  // log(mantissa) = log((1 + s) / (1 - s)).
  auto [s, sLow] = ratioOf(m, split.mantissa);
  Value square = m.mul(s, s);
  Value tail = m.poly(bp::coefficients::logF64, square);
  Value low = m.fma(m.mul(square, s), tail, m.add(sLow, sLow));
  return logOf(m, x, split.exponent, {m.add(s, s), low});
}

/// The same to about 2^-65, with the cube of s in two parts.
static Pair logPairForPower(MathBuilder &m, Value x) {
  Split split = ::split(m, x);
  auto [s, sLow] = ratioOf(m, split.mantissa);
  Pair square = productOf(m, s, s);
  Pair cube = productOf(m, square.high, s);
  cube.low = m.fma(square.low, s, cube.low);
  Value tail =
      m.poly(llvm::ArrayRef<double>(bp::coefficients::logF64).drop_front(),
             square.high);
  Pair first = productOf(m, cube.high, m.f(2.0 / 3));
  first.low = m.fma(cube.low, m.f(2.0 / 3), first.low);
  first.low = m.fma(cube.high, m.f(0x1.5555555555555p-55), first.low);
  Value rest = m.fma(m.mul(cube.high, square.high), tail, first.low);
  // The derivative of the logarithm is 2 / (1 - s²).
  Value twiceLow = m.add(sLow, sLow);
  rest = m.add(rest, m.fma(twiceLow, square.high, twiceLow));
  Pair sum = sumOf(m, m.add(s, s), first.high);
  return logOf(m, x, split.exponent, {sum.high, m.add(sum.low, rest)});
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

/// |x|^y for f64, from the logarithm of |x|: any y, x not NaN.
static Value powerOfMagnitude(MathBuilder &m, Value magnitude, Value y,
                              Pair logarithm) {
  Value product = m.mul(y, logarithm.high);
  Value rest = m.fma(y, logarithm.high, m.neg(product));
  rest = m.fma(y, logarithm.low, rest);
  // Beyond the range of exp the rest means nothing, and may be NaN.
  Value inRange = m.less(m.abs(product), m.f(1000));
  rest = m.select(inRange, rest, m.f(0));
  Value result = expInRange(m, m.clamp(product, -746, 710), rest);
  return m.select(m.equal(magnitude, m.f(1)), m.f(1), result);
}

/// The power of x from that of |x|: signs and special cases.
static Value signedPower(MathBuilder &m, Value x, Value y, Value power) {
  Value zero = m.f(0), one = m.f(1);
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

/// f32 computes in f64, where a logarithm in f64 is exact enough.
Value bp::lower::expandPow(MathBuilder &m, Value x, Value y) {
  MathBuilder wide = m.f64();
  Value wideX = m.isF64() ? x : wide.extend(x);
  Value wideY = m.isF64() ? y : wide.extend(y);
  Value magnitude = wide.abs(wideX);
  Pair logarithm =
      m.isF64() ? logPairForPower(wide, magnitude) : logPair(wide, magnitude);
  Value power = powerOfMagnitude(wide, magnitude, wideY, logarithm);
  Value result = signedPower(wide, wideX, wideY, power);
  return m.isF64() ? result : wide.narrow(result, x.getType());
}
