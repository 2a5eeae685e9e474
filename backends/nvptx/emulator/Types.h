// SPDX-License-Identifier: Apache-2.0
//
// Types.h: the number formats of PTX that C++ lacks. Conversions are exact or
// rounded to nearest even, with subnormals; NaNs become the canonical NaN of
// the format, as the ISA has it.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace emulator {

enum class Rounding : uint8_t { Nearest, Zero, Down, Up, NearestAway };

// A binary format: bits of its fraction, its exponent range, its NaN.
struct Format {
  int fractionBits;
  int minExponent; // of the smallest normal number
  int maxExponent;
  bool infinity; // e4m3 has none
  uint32_t nan;
  uint32_t largest; // pattern of the largest finite value
};
constexpr Format kHalf{10, -14, 15, true, 0x7fff, 0x7bff};
constexpr Format kBfloat{7, -126, 127, true, 0x7fff, 0x7f7f};
constexpr Format kE4m3{3, -6, 8, false, 0x7f, 0x7e};
constexpr Format kE5m2{2, -14, 15, true, 0x7f, 0x7b};
constexpr Format kTf32{10, -126, 127, true, 0x3ffff, 0x3fbff};

// The pattern of `value` in `format`. `saturate`: what is beyond the largest
// finite value becomes that value.
uint32_t roundTo(const Format &format, double value, Rounding mode,
                 bool saturate = false);
// The value of a pattern.
double valueOf(const Format &format, uint32_t pattern);

inline float halfToFloat(uint16_t h) {
  uint32_t sign = uint32_t(h & 0x8000) << 16;
  uint32_t rest = h & 0x7fff;
  if (rest >= 0x7c00)
    return std::bit_cast<float>(sign | 0x7f800000 | (rest & 0x3ff) << 13);
  if (rest >= 0x0400)
    return std::bit_cast<float>(sign | ((rest << 13) + (112u << 23)));
  float magnitude = float(rest) * 0x1p-24f;
  return sign ? -magnitude : magnitude;
}

inline uint16_t floatToHalf(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint16_t sign = uint16_t(bits >> 16 & 0x8000);
  uint32_t rest = bits & 0x7fffffff;
  if (rest > 0x7f800000)
    return 0x7fff;
  if (rest >= 0x47800000) // 65536 and more
    return sign | 0x7c00;
  if (rest < 0x38800000) { // below the smallest normal
    // Adding 0.5 leaves the rounded multiple of 2^-24 in the low bits.
    float shifted = std::bit_cast<float>(rest) + 0.5f;
    return uint16_t(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000));
  }
  uint32_t odd = rest >> 13 & 1;
  return uint16_t(sign | ((rest - (112u << 23) + 0xfff + odd) >> 13));
}

inline float bfloatToFloat(uint16_t b) {
  return std::bit_cast<float>(uint32_t(b) << 16);
}

inline uint16_t floatToBfloat(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return 0x7fff;
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

struct half {
  uint16_t bits;
  static half from(float value) { return {floatToHalf(value)}; }
  float value() const { return halfToFloat(bits); }
  static constexpr const Format &format = kHalf;
};

struct bfloat {
  uint16_t bits;
  static bfloat from(float value) { return {floatToBfloat(value)}; }
  float value() const { return bfloatToFloat(bits); }
  static constexpr const Format &format = kBfloat;
};

// Two numbers in 32 bits, the first in the lower half.
template <class T> struct pair {
  T low, high;
};

inline bool isNan(float value) { return value != value; }
inline bool isNan(double value) { return value != value; }

// Subnormal numbers to zero of the same sign.
inline float flush(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  return (bits & 0x7f800000) ? value : std::bit_cast<float>(bits & 0x80000000);
}

inline float flushIf(float value, bool ftz) {
  return ftz ? flush(value) : value;
}
inline double flushIf(double value, bool) { return value; }

// `exact` + `rest` with the last bit set when `rest` is not zero: rounding this
// to a format of fewer bits is rounding the sum. |rest| is below half a unit in
// the last place of `exact`.
inline double roundToOdd(double exact, double rest) {
  if (rest == 0 || !std::isfinite(exact))
    return exact;
  uint64_t bits = std::bit_cast<uint64_t>(exact);
  if (bits & 1)
    return exact;
  bool away = (rest > 0) == (exact > 0);
  return std::bit_cast<double>(away ? bits + 1 : bits - 1);
}

// a + b, rounded to odd.
inline double addToOdd(double a, double b) {
  double sum = a + b;
  double bb = sum - a;
  return roundToOdd(sum, (a - (sum - bb)) + (b - bb));
}

} // namespace emulator
