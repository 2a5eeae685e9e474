// SPDX-License-Identifier: Apache-2.0
#include "MidRad.h"

#include "UlpTable.h"

namespace backplane::conformance {

MidRad hull(const MidRad &a, const MidRad &b) {
  if (std::isnan(a.v) && std::isnan(b.v))
    return a;
  if (std::isnan(a.v) || std::isnan(b.v) || isAnything(a) || isAnything(b))
    return anything();
  if (a.v == b.v)
    return {a.v, std::max(a.e, b.e)};
  if (mayBeInfinite(a) || mayBeInfinite(b))
    return anyNumber(0);
  return {a.v, std::max(a.e, std::fabs(a.v - b.v) + b.e)};
}

Arithmetic::Arithmetic(DType dtype, const Numerics &numerics, bool strict)
    : strict(strict) {
  const FloatFormat &own = formatOf(dtype);
  bits = numerics.accumulatorBits ? numerics.accumulatorBits : own.precision;
  limits = bits >= 53 ? DType::F64 : bits >= 24 ? DType::F32 : dtype;
  const FloatFormat &format = formatOf(limits);
  // The oracle's own roundings, 2^-64 each, are within the last factor.
  u = unitRoundoff(bits) * (numerics.roundsToZero ? 2 : 1) * (1 + 0x1p-9L);
  sumU = u;
  eta = smallest(format, numerics.flushesInput || numerics.flushesOutput);
  // Steps in f16 have less precision, but not less range: the square of a
  // moderate number must not overflow inside a norm.
  max = dtype == DType::F16 ? formatOf(bits >= 53 ? DType::F64 : DType::F32).max
                            : format.max;
}

MidRad Arithmetic::rounded(Real v, Real e, Real ulps) const {
  if (!std::isfinite(v))
    return {v, std::isnan(e) || std::isnan(v) ? e : 0};
  if (!std::isfinite(e))
    return {v, e};
  if (v != 0 || e != 0)
    e += 2 * ulps * u * (std::fabs(v) + e) + (v == std::rint(v) ? 0 : eta);
  if (std::fabs(v) + e <= max)
    return {v, e};
  // Narrow steps may be kept in a wider type.
  if (bitWidth(limits) > 16 && std::fabs(v) - e > max * (1 + u))
    return {std::copysign(infinity, v), 0};
  return anyNumber(v);
}

MidRad Arithmetic::special(const MidRad &a, const MidRad &b, Real v,
                           bool nanNeedsZero) const {
  if (std::isnan(a.v) || std::isnan(b.v))
    return {notANumber, 0};
  if (isAnything(a) || isAnything(b))
    return anything();
  if (!std::isinf(a.e) && !std::isinf(b.e) &&
      !(nanNeedsZero && (mayBeZero(a) || mayBeZero(b))))
    return {v, 0};
  bool nan = nanNeedsZero ? (mayBeInfinite(a) && mayBeZero(b)) ||
                                (mayBeInfinite(b) && mayBeZero(a))
                          : mayBeInfinite(a) && mayBeInfinite(b);
  if (isCertain(a) && isCertain(b))
    return {v, 0};
  return nan ? anything() : anyNumber(std::isnan(v) ? 0 : v);
}

MidRad Arithmetic::add(const MidRad &a, const MidRad &b) const {
  Real v = a.v + b.v, e = a.e + b.e;
  if (!std::isfinite(v) || !std::isfinite(e))
    return special(a, b, v, false);
  if (e == 0 && (a.v == 0 || b.v == 0))
    return {v, 0};
  return rounded(v, e);
}

MidRad Arithmetic::mul(const MidRad &a, const MidRad &b) const {
  Real v = a.v * b.v;
  Real e = std::fabs(a.v) * b.e + std::fabs(b.v) * a.e + a.e * b.e;
  if (!std::isfinite(v) || !std::isfinite(e))
    return special(a, b, v, true);
  return rounded(v, e);
}

MidRad Arithmetic::div(const MidRad &a, const MidRad &b) const {
  if (isCertain(a) && isCertain(b))
    return rounded(a.v / b.v, 0, ulpsOf("div", limits, strict));
  if (std::isnan(a.v) || std::isnan(b.v))
    return {notANumber, 0};
  if (isAnything(a) || isAnything(b) || mayBeInfinite(a) || mayBeInfinite(b))
    return anything();
  if (mayBeZero(b))
    return mayBeZero(a) ? anything() : anyNumber(0);
  Real v = a.v / b.v;
  Real e = (a.e + std::fabs(v) * b.e) / (std::fabs(b.v) - b.e);
  return rounded(v, e, ulpsOf("div", limits, strict));
}

MidRad Arithmetic::sqrt(const MidRad &x) const {
  MidRad y = monotone([](Real z) { return std::sqrt(z); }, x);
  return rounded(y.v, y.e, ulpsOf("sqrt", limits, strict));
}

MidRad Arithmetic::constant(Real value) const {
  if (value == std::rint(value))
    return {value, 0};
  return rounded(value, 0);
}

} // namespace backplane::conformance
