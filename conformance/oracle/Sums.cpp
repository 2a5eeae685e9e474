// SPDX-License-Identifier: Apache-2.0
#include "Sums.h"

#include <algorithm>
#include <bit>

namespace backplane::conformance {

Elements::Elements(const Value &value) {
  Numbers numbers(value, true);
  size_t count = value.count();
  values.reserve(count);
  if (!numbers.certain())
    errors.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    MidRad x = numbers[i];
    values.push_back(x.v);
    if (!numbers.certain())
      errors.push_back(x.e);
  }
}

int Elements::lowBit() const {
  constexpr int below = -100000;
  if (!errors.empty())
    return below;
  int least = INT32_MAX;
  for (Real x : values) {
    if (x == 0 || !std::isfinite(x))
      continue;
    int exponent = std::ilogb(x);
    auto bits = static_cast<uint64_t>(std::ldexp(std::fabs(x), 63 - exponent));
    least = std::min(least, exponent - 63 + std::countr_zero(bits));
  }
  return least == INT32_MAX ? 0 : least;
}

/// What rounding to so many bits makes of a number at most.
static Real demotionOf(const FloatFormat &format, int bits, Real x) {
  if (x == 0 || !std::isfinite(x))
    return 0;
  int exponent = std::max(std::ilogb(x), format.minExponent);
  Real last = std::ldexp(Real(1), exponent + 1 - bits);
  if (std::remainder(x, last) == 0)
    return 0;
  return std::fabs(x) + last / 2 > format.max ? infinity : last / 2;
}

void Elements::demote(const FloatFormat &format, int bits) {
  std::vector<Real> made(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    Real e = error(i);
    made[i] = e + demotionOf(format, bits, values[i]) +
              e * unitRoundoff(bits) * (e != 0);
  }
  if (!errors.empty() ||
      std::ranges::any_of(made, [](Real e) { return e != 0; }))
    errors = std::move(made);
}

Limits::Limits(const Step &step, Real terms, int lowBit)
    : step(step), arithmetic(step.arithmetic(step.dtype)), terms(terms),
      lowBit(lowBit) {}

MidRad Limits::accumulated(const Sum &sum) const {
  if (std::isnan(sum.error))
    return anything();
  if (std::isinf(sum.value)) {
    Real against = sum.value > 0 ? sum.negative : sum.positive;
    return against > arithmetic.max ? anything() : MidRad{sum.value, 0};
  }
  if (std::isnan(sum.value))
    return {sum.value, 0};
  Real magnitude = sum.magnitude();
  bool both = std::min(sum.positive, sum.negative) > arithmetic.max;
  if (!std::isfinite(sum.error))
    return both ? anything() : MidRad{sum.value, sum.error};
  if (magnitude > arithmetic.max)
    return both ? anything() : anyNumber(sum.value);
  const FloatFormat &inner = formatOf(arithmetic.limits);
  bool exact = sum.error == 0 && lowBit >= inner.minExponent &&
               magnitude <= std::ldexp(Real(1), arithmetic.bits + lowBit);
  if (exact)
    return {sum.value, 0};
  Real nu = terms * arithmetic.u;
  Real growth = step.numerics.roundsToZero ? 1 + nu : 1;
  return {sum.value,
          sum.error + nu * growth * magnitude + terms * arithmetic.eta};
}

void Limits::fill(const std::vector<Sum> &sums, Value &result) const {
  result.biasGate = !step.numerics.roundsToZero;
  Real own = unitRoundoff(formatOf(step.dtype).precision);
  Real inner = unitRoundoff(arithmetic.bits);
  bool certain = true;
  for (size_t i = 0; i < sums.size(); ++i) {
    certain &= sums[i].error == 0;
    result.bounded[i] =
        roundedTo(step.numerics, step.dtype, accumulated(sums[i]));
    result.sigma.push_back(0.29L * std::sqrt(terms) * inner *
                               sums[i].magnitude() +
                           own * std::fabs(sums[i].value));
  }
  // The deviation is that of rounding alone.
  if (!certain)
    result.sigma.clear();
}

} // namespace backplane::conformance
