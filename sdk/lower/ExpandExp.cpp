// SPDX-License-Identifier: Apache-2.0
//
// exp, expm1, sinh, cosh and tanh: 2^n times a polynomial of the rest.
#include "sdk/lower/MathBuilder.h"

#include "sdk/lower/MathCoefficients.h"

using namespace mlir;
using namespace bp::lower;

namespace {

/// x = n ln 2 + rest.
struct Reduced {
  Value word; ///< its bits that an exponent has are those of n + offset
  Value rest;
};

Reduced reduce(MathBuilder &m, Value x, Value correction, int64_t offset) {
  double ln2High = m.isF64() ? 0x1.62e42fefa39efp-1 : 0x1.62e430p-1;
  double ln2Low = m.isF64() ? 0x1.abc9e3b39803fp-56 : -0x1.05c610p-29;
  Value magic = m.f(m.magic() + double(offset));
  Value shifted = m.fma(x, m.f(0x1.71547652b82fep0), magic);
  Value n = m.sub(shifted, magic);
  Value rest = m.fma(n, m.f(-ln2High), x);
  rest = m.fma(n, m.f(-ln2Low), rest);
  if (correction)
    rest = m.add(rest, correction);
  return {m.bits(shifted), rest};
}

/// exp(rest), of which fewer registers are in use than of 1 + expm1(rest).
Value expOfRest(MathBuilder &m, Value rest) {
  Value one = m.f(1);
  Value tail = m.isF64() ? m.poly(bp::coefficients::expF64, rest)
                         : m.poly(bp::coefficients::expF32, rest);
  return m.fma(m.fma(tail, rest, one), rest, one);
}

/// x times 2 to (word - 2 bias): two factors reach the subnormals, and
/// infinity, with one rounding.
Value scaleTwice(MathBuilder &m, Value x, Value word) {
  Value first = m.shr(word, 1), second = m.subI(word, first);
  return m.mul(m.mul(x, m.fromExponent(first)), m.fromExponent(second));
}

/// expm1 but for the sign of zeros.
Value expM1Core(MathBuilder &m, Value x) {
  Value bounded = m.isF64() ? m.clamp(x, -40, 710) : m.clamp(x, -20, 89);
  // Half of each factor, so that 2^n stays finite just below overflow.
  auto [word, rest] = reduce(m, bounded, Value(), m.bias() - 1);
  Value half = m.fromExponent(word);
  Value tail = m.isF64() ? m.poly(bp::coefficients::expF64, rest)
                         : m.poly(bp::coefficients::expM1F32, rest);
  Value expM1 = m.fma(m.mul(rest, rest), tail, rest);
  Value sum = m.fma(half, expM1, m.sub(half, m.f(0.5)));
  return m.add(sum, sum);
}

} // namespace

Value bp::lower::expInRange(MathBuilder &m, Value x, Value correction) {
  if (m.canScale()) {
    auto [word, rest] = reduce(m, x, correction, 0);
    return m.scale(expOfRest(m, rest), m.subI(word, m.bits(m.f(m.magic()))));
  }
  auto [word, rest] = reduce(m, x, correction, 2 * m.bias());
  return scaleTwice(m, expOfRest(m, rest), word);
}

/// exp(x) / 2 for x not below 0, which overflows only where sinh does.
static Value halfExp(MathBuilder &m, Value x) {
  Value bounded = m.isF64() ? m.clamp(x, 0, 712) : m.clamp(x, 0, 91);
  auto [word, rest] = reduce(m, bounded, Value(), 2 * m.bias() - 1);
  return scaleTwice(m, expOfRest(m, rest), word);
}

Value bp::lower::expandSinh(MathBuilder &m, Value x) {
  Value magnitude = m.abs(x);
  Value half = halfExp(m, magnitude);
  Value large = m.sub(half, m.div(m.f(0.25), half));
  Value t = expandExpM1(m, magnitude);
  Value small = m.mul(m.f(0.5), m.add(t, m.div(t, m.add(t, m.f(1)))));
  return m.copySign(m.select(m.less(magnitude, m.f(1)), small, large), x);
}

Value bp::lower::expandCosh(MathBuilder &m, Value x) {
  Value half = halfExp(m, m.abs(x));
  return m.add(half, m.div(m.f(0.25), half));
}

Value bp::lower::expOfModerate(MathBuilder &m, Value x) {
  auto [word, rest] = reduce(m, x, Value(), m.bias());
  return m.mul(expOfRest(m, rest), m.fromExponent(word));
}

/// Whether no number is above 0.
static bool isNotPositive(Value x) {
  auto negated = x.getDefiningOp<arith::NegFOp>();
  return negated && negated.getOperand().getDefiningOp<math::AbsFOp>();
}

/// exp(x) for x not above 0: with an offset one factor reaches both ends, and
/// what takes the offset away rounds subnormals once.
Value bp::lower::expOfNotPositive(MathBuilder &m, Value x) {
  Value low = m.f(m.isF64() ? -746 : -104);
  Value bounded = m.select(m.less(x, low), low, x);
  if (m.canScale())
    return expInRange(m, bounded, Value());
  constexpr int64_t offset = 64;
  auto [word, rest] = reduce(m, bounded, Value(), m.bias() + offset);
  Value raised = m.mul(expOfRest(m, rest), m.fromExponent(word));
  return m.mul(raised, m.f(0x1p-64));
}

Value bp::lower::expandExp(MathBuilder &m, Value x) {
  if (isNotPositive(x))
    return expOfNotPositive(m, x);
  Value bounded = m.isF64() ? m.clamp(x, -746, 710) : m.clamp(x, -104, 89);
  return expInRange(m, bounded, Value());
}

Value bp::lower::expandExpM1(MathBuilder &m, Value x) {
  Value tiny = m.less(m.abs(x), m.f(m.isF64() ? 0x1p-54 : 0x1p-25));
  return m.select(tiny, x, expM1Core(m, x));
}

// tanh(x) = x P(x²) / Q(x²) on [-9, 9], beyond which f32 holds 1. Fitted to the
// relative error by iteratively weighted least squares: 1.3e-9 before rounding.
static constexpr double tanhNumeratorF32[] = {9.99999999e-01, 1.36808391e-01,
                                              3.86948596e-03, 2.80308512e-05,
                                              3.06413736e-08, -1.22453564e-11};
static constexpr double tanhDenominatorF32[] = {
    1.0, 4.70141712e-01, 2.72500767e-02, 3.94067396e-04, 1.28900228e-06};

/// One polynomial quotient in place of an exponential: half the operations.
static Value tanhF32(MathBuilder &m, Value x) {
  Value bounded = m.clamp(x, -9, 9);
  Value square = m.mul(bounded, bounded);
  Value quotient = m.div(m.mul(m.poly(tanhNumeratorF32, square), bounded),
                         m.poly(tanhDenominatorF32, square));
  return m.clamp(quotient, -1, 1);
}

/// f64: a polynomial near 0; beyond, 1 - 2 / (exp(2 x) + 1), until it is 1.
Value bp::lower::expandTanh(MathBuilder &m, Value x) {
  if (!m.isF64())
    return tanhF32(m, x);
  Value magnitude = m.abs(x);
  Value square = m.mul(magnitude, magnitude);
  Value tail = m.poly(bp::coefficients::tanhF64, square);
  Value small = m.fma(m.mul(magnitude, square), tail, magnitude);
  Value end = m.f(19.1);
  Value bounded = m.select(m.less(end, magnitude), end, magnitude);
  Value power = expOfModerate(m, m.add(bounded, bounded));
  Value large = m.sub(m.f(1), m.div(m.f(2), m.add(power, m.f(1))));
  Value result = m.select(m.less(magnitude, m.f(0.55)), small, large);
  return m.copySign(result, x);
}
