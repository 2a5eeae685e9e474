// SPDX-License-Identifier: Apache-2.0
//
// The argument of a trigonometric function of f64, less the nearest multiple of
// pi / 2: by subtraction where that is exact enough, else by a product with
// those bits of 2 / pi that decide (Payne and Hanek).
#include "sdk/lower/MathBuilder.h"

#include "sdk/lower/MathCoefficients.h"

using namespace mlir;
using namespace bp::lower;

namespace {

/// f64 up to 2^45: pi / 2 in three parts, the first of which cancels exactly.
Angle reduceModerate(MathBuilder &m, Value x) {
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

/// high + low, kept as a pair while terms come in.
struct Sum {
  Value high, low;

  void add(MathBuilder &m, Value term) {
    Value sum = m.add(high, term);
    Value part = m.sub(sum, high);
    Value lost = m.add(m.sub(high, m.sub(sum, part)), m.sub(term, part));
    high = sum;
    low = m.add(low, lost);
  }
  void normalise(MathBuilder &m) {
    Value sum = m.add(high, low);
    low = m.sub(low, m.sub(sum, high));
    high = sum;
  }
};

constexpr unsigned digitBits = 27, usedDigits = 8;

/// The eight digits of 2 / pi from `first` (at most 35) on.
SmallVector<Value> digitsFrom(MathBuilder &m, Value first) {
  SmallVector<Value> digits;
  for (double digit : bp::coefficients::twoOverPi)
    digits.push_back(m.f(digit));
  for (int bit = 5; bit >= 0; --bit) {
    size_t step = size_t(1) << bit;
    Value skips = m.hasBit(first, unsigned(bit));
    SmallVector<Value> next;
    for (size_t i = 0; i < usedDigits - 1 + step; ++i)
      next.push_back(i + step < digits.size()
                         ? m.select(skips, digits[i + step], digits[i])
                         : digits[i]);
    digits = std::move(next);
  }
  return digits;
}

/// From 2^45 up. Digits before the first that is used give multiples of four
/// quadrants.
Angle reduceHuge(MathBuilder &m, Value x) {
  Value exponent =
      m.sub(m.fromInteger(m.sar(m.bits(m.abs(x)), 52)), m.f(1023 + 54));
  Value skipped = m.clamp(m.floor(m.mul(exponent, m.f(0x1.2f685p-5))), 0, 35);
  Value scale = m.power2(m.toInteger(m.mul(skipped, m.f(-27))));
  Value scaled = m.mul(x, scale);
  // Split to the nearest 26 bits: both parts times a digit are exact.
  Value rounded = m.addI(m.bits(scaled), m.i(1 << 26));
  Value top = m.fromBits(m.andI(rounded, m.i(~int64_t(0x7ffffff))));
  Value parts[] = {top, m.sub(scaled, top)};
  Sum turns{m.f(0), m.f(0)};
  Value quadrants = m.f(0);
  double weight = 1;
  for (Value digit : digitsFrom(m, m.toInteger(skipped))) {
    weight /= double(1 << digitBits);
    for (Value part : parts) {
      Value product = m.mul(m.mul(part, m.f(weight)), digit);
      Value whole = m.roundEven(m.mul(product, m.f(0.25)));
      turns.add(m, m.fma(whole, m.f(-4), product));
    }
    Value nearest = m.roundEven(turns.high);
    quadrants = m.add(quadrants, nearest);
    turns.high = m.sub(turns.high, nearest);
    turns.normalise(m);
  }
  Value halfPi = m.f(0x1.921fb54442d18p0);
  Value rest = m.mul(turns.high, halfPi);
  Value low = m.fma(turns.high, halfPi, m.neg(rest));
  low = m.fma(turns.high, m.f(0x1.1a62633145c07p-54), low);
  low = m.fma(turns.low, halfPi, low);
  return {m.toInteger(quadrants), rest, low};
}

} // namespace

Angle bp::lower::reduceWide(MathBuilder &m, Value x) {
  Angle moderate = reduceModerate(m, x), huge = reduceHuge(m, x);
  Value isHuge = m.less(m.f(0x1p45), m.abs(x));
  return {m.select(isHuge, huge.quadrant, moderate.quadrant),
          m.select(isHuge, huge.rest, moderate.rest),
          m.select(isHuge, huge.low, moderate.low)};
}
