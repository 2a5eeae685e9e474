// SPDX-License-Identifier: Apache-2.0
#include "Tolerance.h"

#include <algorithm>
#include <cmath>

namespace backplane::conformance {

// ---- ULP ----

Real ulpLimit(const FloatFormat &format, Real exact, double k, bool flushed) {
  return k * ulp(format, exact) + smallest(format, flushed);
}

bool mayOverflow(const FloatFormat &format, Real exact, Real limit) {
  return exact + limit > format.max;
}

bool mayFlush(const FloatFormat &format, Real exact, Real limit,
              const Numerics &numerics) {
  return numerics.flushesOutput &&
         std::fabs(exact) - limit < smallest(format, true);
}

// ---- DOT ----

namespace {

Real accumulationError(const Dot &dot) {
  Real relative = dot.terms * unitRoundoff(dot.accumulatorBits);
  if (dot.roundsToZero)
    relative = 2 * relative * (1 + 2 * relative);
  return relative * dot.magnitude;
}

} // namespace

Real dotLimit(const Dot &dot, Real exact) {
  Real accumulated = accumulationError(dot);
  Real factor = dot.roundsToZero ? 2 : 1;
  Real output = factor * unitRoundoff(dot.output.precision) *
                (std::fabs(exact) + accumulated);
  Real demotion = 0;
  if (dot.operandBits != 0)
    demotion = 2 * unitRoundoff(dot.operandBits) * dot.magnitude;
  return accumulated + output + dot.terms * dot.accumulatorSmallest +
         smallest(dot.output, false) + demotion;
}

Real dotSigma(const Dot &dot, Real exact) {
  return static_cast<Real>(0.29) * std::sqrt(static_cast<Real>(dot.terms)) *
             unitRoundoff(dot.accumulatorBits) * dot.magnitude +
         unitRoundoff(dot.output.precision) * std::fabs(exact);
}

bool isExactDot(const Dot &dot) {
  return dot.magnitude <= std::ldexp(Real(1), dot.accumulatorBits);
}

// ---- gates ----

double biasLimit(double rms, uint64_t count) {
  return 0.1 + 4 * rms / std::sqrt(static_cast<double>(count));
}

// ---- REDUCE ----

Real sumLimit(Dot dot, Real exact, bool mean) {
  dot.terms = std::max(dot.terms - 1, 0.0) + (mean ? 1 : 0);
  return dotLimit(dot, exact);
}

Real productLimit(Real exact, double terms, int precision) {
  return std::fabs(exact) *
         std::expm1(terms * std::log1p(unitRoundoff(precision)));
}

// ---- QUANT ----

bool requantizeAccepts(Real scaled, int precision, int64_t low, int64_t high,
                       int64_t got) {
  if (std::isnan(scaled))
    return got == 0;
  auto saturated = [&](Real rounded) {
    return rounded < low    ? low
           : rounded > high ? high
                            : static_cast<int64_t>(rounded);
  };
  Real below = std::floor(scaled), fraction = scaled - below;
  Real nearest = below;
  if (fraction > 0.5L || (fraction == 0.5L && std::fmod(below, Real(2)) != 0))
    nearest = below + 1;
  if (got == saturated(nearest))
    return true;
  bool isNearTie = std::fabs(fraction - 0.5L) <=
                   2 * unitRoundoff(precision) * std::fabs(scaled);
  return isNearTie && (got == saturated(below) || got == saturated(below + 1));
}

// ---- GRAPH ----

Real envelopeLimit(const Envelope &envelope) {
  return 8 * envelope.sigma + 4 * envelope.ulp;
}

double envelopeRms(int precision) { return precision >= 24 ? 2 : 3; }

} // namespace backplane::conformance
