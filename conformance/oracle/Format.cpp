// SPDX-License-Identifier: Apache-2.0
#include "Format.h"

#include <bit>
#include <cassert>
#include <cmath>
#include <limits>

namespace backplane::conformance {

namespace {

/// A format with what its bits need: a sign, an exponent field of
/// `exponentBits` and precision - 1 bits of significand.
struct Layout {
  FloatFormat format;
  int exponentBits;
  uint64_t infinity;        ///< bits of infinity, or of the NaN in its place
  uint64_t nan;             ///< bits of the quiet NaN
  bool hasMinusZero = true; ///< else NaN has its bits
};

const Layout f64Layout = {
    {53, -1022, 1023, std::numeric_limits<double>::max(), true},
    11,
    0x7ff0000000000000,
    0x7ff8000000000000};
const Layout f32Layout = {
    {24, -126, 127, std::numeric_limits<float>::max(), true},
    8,
    0x7f800000,
    0x7fc00000};
const Layout f16Layout = {{11, -14, 15, 65504, true}, 5, 0x7c00, 0x7e00};
const Layout bf16Layout = {
    {8, -126, 127, 0x1.fep127L, true}, 8, 0x7f80, 0x7fc0};
const Layout f8E4M3FNLayout = {{4, -6, 8, 448, false}, 4, 0x7f, 0x7f};
const Layout f8E5M2Layout = {{3, -14, 15, 57344, true}, 5, 0x7c, 0x7e};

const Layout f8E4M3FNUZLayout = {{4, -7, 7, 240, false}, 4, 0x80, 0x80, false};
const Layout f8E5M2FNUZLayout = {
    {3, -15, 15, 57344, false}, 5, 0x80, 0x80, false};
// Neither infinities nor NaN: 6 stands for what is higher, 0 for NaN.
const Layout f4E2M1FNLayout = {{2, 0, 2, 6, false}, 2, 7, 0};
// Powers of two: no sign, no zero, no significand.
const Layout f8E8M0FNULayout = {
    {1, -127, 127, 0x1p127L, false}, 8, 0xff, 0xff, false};

const Layout &layoutOf(DType dtype) {
  switch (dtype) {
  case DType::F64:
    return f64Layout;
  case DType::F32:
    return f32Layout;
  case DType::F16:
    return f16Layout;
  case DType::BF16:
    return bf16Layout;
  case DType::F8E4M3FN:
    return f8E4M3FNLayout;
  case DType::F8E4M3FNUZ:
    return f8E4M3FNUZLayout;
  case DType::F8E5M2FNUZ:
    return f8E5M2FNUZLayout;
  case DType::F4E2M1FN:
    return f4E2M1FNLayout;
  case DType::F8E8M0FNU:
    return f8E8M0FNULayout;
  default:
    assert(dtype == DType::F8E5M2 && "not a float dtype");
    return f8E5M2Layout;
  }
}

/// 2 to a power, as std::ldexp(1, power) without the call.
Real powerOfTwo(int power) {
  if (power < -1022 || power > 1023)
    return std::ldexp(Real(1), power);
  return std::bit_cast<double>(static_cast<uint64_t>(power + 1023) << 52);
}

/// std::ilogb of a finite value that is not 0, without the call where a double
/// shows the exponent.
int exponentOf(Real value) {
  const double rounded = std::fabs(static_cast<double>(value));
  if (!(rounded >= std::numeric_limits<double>::min()) || std::isinf(rounded))
    return std::ilogb(value);
  const auto bits = std::bit_cast<uint64_t>(rounded);
  // A value just below a power of two may have been rounded up to it.
  const bool carried = rounded > std::fabs(value) && bits << 12 == 0;
  return static_cast<int>(bits >> 52) - 1023 - carried;
}

Real decodeNarrow(const Layout &layout, uint64_t bits) {
  if (!layout.hasMinusZero && bits == layout.nan)
    return std::numeric_limits<Real>::quiet_NaN();
  int stored = layout.format.precision - 1;
  uint64_t sign = bits >> (stored + layout.exponentBits) & 1;
  uint64_t magnitude =
      bits & ((uint64_t(1) << (stored + layout.exponentBits)) - 1);
  if (magnitude >= layout.infinity && layout.nan != 0) {
    if (magnitude > layout.infinity || !layout.format.hasInfinity)
      return std::numeric_limits<Real>::quiet_NaN();
    Real infinity = std::numeric_limits<Real>::infinity();
    return sign ? -infinity : infinity;
  }
  auto exponent = static_cast<int>(magnitude >> stored);
  uint64_t significand = magnitude & ((uint64_t(1) << stored) - 1);
  if (exponent != 0)
    significand |= uint64_t(1) << stored;
  int power = layout.format.minExponent + std::max(exponent, 1) - 1 - stored;
  Real value = static_cast<Real>(significand) * powerOfTwo(power);
  return sign ? -value : value;
}

uint64_t encodeMagnitude(const Layout &layout, Real value) {
  const FloatFormat &format = layout.format;
  if (value == 0)
    return 0;
  if (std::isinf(value))
    return layout.infinity;
  int stored = format.precision - 1;
  int exponent = std::max(exponentOf(value), format.minExponent);
  // The scaling is exact, so rint is the only rounding.
  Real significand = std::rint(value * powerOfTwo(stored - exponent));
  if (significand * powerOfTwo(exponent - stored) > format.max)
    return layout.infinity;
  // A significand that grew to 2^precision carries into the exponent field,
  // and a subnormal one that grew to 2^(precision-1) likewise.
  auto field = static_cast<uint64_t>(exponent - format.minExponent);
  return (field << stored) + static_cast<uint64_t>(significand);
}

/// The power of two that is nearest, the higher one of two; nothing is below
/// the least.
uint64_t encodePower(const Layout &layout, Real value) {
  if (std::isinf(value))
    return layout.nan;
  const FloatFormat &format = layout.format;
  Real power = powerOfTwo(format.minExponent);
  uint64_t bits = 0;
  while (bits < layout.nan && value >= power + power / 2) {
    power *= 2;
    ++bits;
  }
  return bits;
}

} // namespace

const FloatFormat &formatOf(DType dtype) { return layoutOf(dtype).format; }

Real decode(DType dtype, uint64_t bits) {
  if (dtype == DType::F32)
    return std::bit_cast<float>(static_cast<uint32_t>(bits));
  if (dtype == DType::F64)
    return std::bit_cast<double>(bits);
  if (dtype == DType::F8E8M0FNU)
    return bits == f8E8M0FNULayout.nan
               ? std::numeric_limits<Real>::quiet_NaN()
               : powerOfTwo(static_cast<int>(bits) - 127);
  return decodeNarrow(layoutOf(dtype), bits);
}

uint64_t encode(DType dtype, Real value) {
  const Layout &layout = layoutOf(dtype);
  if (std::isnan(value))
    return layout.nan;
  if (dtype == DType::F32)
    return std::bit_cast<uint32_t>(static_cast<float>(value));
  if (dtype == DType::F64)
    return std::bit_cast<uint64_t>(static_cast<double>(value));
  if (dtype == DType::F8E8M0FNU)
    return encodePower(layout, value);
  uint64_t magnitude = encodeMagnitude(layout, std::fabs(value));
  if (magnitude == 0 && !layout.hasMinusZero)
    return 0;
  uint64_t sign = std::signbit(value);
  int width = layout.format.precision - 1 + layout.exponentBits;
  return magnitude | sign << width;
}

Real ulp(const FloatFormat &format, Real value) {
  int exponent = format.minExponent;
  if (value != 0 && std::isfinite(value))
    exponent = std::max(exponentOf(value), exponent);
  return powerOfTwo(exponent - format.precision + 1);
}

Real unitRoundoff(int precision) { return std::ldexp(Real(1), -precision); }

Real smallest(const FloatFormat &format, bool flushed) {
  int below = flushed ? 0 : format.precision - 1;
  return std::ldexp(Real(1), format.minExponent - below);
}

} // namespace backplane::conformance
