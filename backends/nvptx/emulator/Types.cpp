// SPDX-License-Identifier: Apache-2.0
#include "Types.h"

#include <algorithm>

namespace emulator {
namespace {

// Whether the magnitude goes up by a unit, from the bits that are cut off.
bool roundsUp(Rounding mode, bool negative, bool odd, double cut) {
  switch (mode) {
  case Rounding::Nearest:
    return cut > 0.5 || (cut == 0.5 && odd);
  case Rounding::NearestAway:
    return cut >= 0.5;
  case Rounding::Zero:
    return false;
  case Rounding::Down:
    return negative && cut > 0;
  case Rounding::Up:
    return !negative && cut > 0;
  }
  return false;
}

} // namespace

uint32_t roundTo(const Format &format, double value, Rounding mode,
                 bool saturate) {
  if (isNan(value))
    return format.nan;
  bool negative = std::signbit(value);
  int exponentBits = format.maxExponent - format.minExponent + 1;
  int width = format.fractionBits + (exponentBits <= 16   ? 4
                                     : exponentBits <= 32 ? 5
                                                          : 8);
  uint32_t sign = negative ? uint32_t(1) << width : 0;
  double magnitude = std::fabs(value);
  uint32_t infinity = format.infinity ? format.largest + 1 : format.nan;
  if (std::isinf(value))
    return sign | (saturate ? format.largest : infinity);
  if (magnitude == 0)
    return sign;
  int exponent = std::max(std::ilogb(magnitude), format.minExponent);
  double units = std::ldexp(magnitude, format.fractionBits - exponent);
  double whole = std::floor(units);
  uint64_t fraction = uint64_t(whole);
  fraction += roundsUp(mode, negative, fraction & 1, units - whole);
  // A carry moves into the exponent by itself.
  uint64_t pattern = fraction + (uint64_t(exponent - format.minExponent)
                                 << format.fractionBits);
  if (pattern <= format.largest)
    return sign | uint32_t(pattern);
  bool toLargest = saturate || mode == Rounding::Zero ||
                   (mode == Rounding::Down && !negative) ||
                   (mode == Rounding::Up && negative);
  return sign | (toLargest ? format.largest : infinity);
}

double valueOf(const Format &format, uint32_t pattern) {
  int exponentBits = format.maxExponent - format.minExponent + 1;
  int width = format.fractionBits + (exponentBits <= 16   ? 4
                                     : exponentBits <= 32 ? 5
                                                          : 8);
  uint32_t magnitude = pattern & ((uint32_t(1) << width) - 1);
  double sign = pattern >> width & 1 ? -1.0 : 1.0;
  if (format.infinity ? magnitude > format.largest + 1
                      : magnitude > format.largest)
    return NAN;
  if (magnitude > format.largest)
    return sign * INFINITY;
  uint32_t fraction = magnitude & ((1u << format.fractionBits) - 1);
  int exponent = int(magnitude >> format.fractionBits);
  if (exponent)
    fraction |= 1u << format.fractionBits;
  exponent = std::max(exponent, 1) - 1 + format.minExponent;
  return sign * std::ldexp(double(fraction), exponent - format.fractionBits);
}

} // namespace emulator
