// SPDX-License-Identifier: Apache-2.0
#include "Element.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace backplane {

namespace {

/// A float of sign, exponent and mantissa bits.
struct Format {
  int exponentBits;
  int mantissaBits;
  int bias;
  uint64_t highest;  ///< the highest pattern that is a finite number
  uint64_t overflow; ///< what is higher: infinity, NaN or the highest number
  uint64_t notANumber;
  bool isFnuz = false; ///< NaN stands where others have -0

  uint64_t one() const { return uint64_t(1) << mantissaBits; }
  uint64_t signBit() const {
    return uint64_t(1) << (exponentBits + mantissaBits);
  }
  bool hasInfinity() const {
    return overflow != notANumber && overflow != highest;
  }
};

/// With infinities and many NaN, as IEEE 754 has them.
constexpr Format ieee(int exponentBits, int mantissaBits) {
  uint64_t infinity = ((uint64_t(1) << exponentBits) - 1) << mantissaBits;
  return {
      exponentBits, mantissaBits, (1 << (exponentBits - 1)) - 1,
      infinity - 1, infinity,     infinity | uint64_t(1) << (mantissaBits - 1)};
}

Format formatOf(DType type) {
  switch (type) {
  case DType::F64:
    return ieee(11, 52);
  case DType::F32:
    return ieee(8, 23);
  case DType::F16:
    return ieee(5, 10);
  case DType::BF16:
    return ieee(8, 7);
  case DType::F8E4M3FN:
    return {4, 3, 7, 0x7e, 0x7f, 0x7f};
  case DType::F8E4M3FNUZ:
    return {4, 3, 8, 0x7f, 0x80, 0x80, true};
  case DType::F8E5M2FNUZ:
    return {5, 2, 16, 0x7f, 0x80, 0x80, true};
  case DType::F4E2M1FN:
    return {2, 1, 1, 7, 7, 0};
  default:
    return ieee(5, 2);
  }
}

/// The bits of a magnitude; what is too high is the overflow.
uint64_t encodeMagnitude(const Format &format, double magnitude) {
  if (std::isinf(magnitude))
    return format.overflow;
  if (magnitude == 0)
    return 0;
  int exponent = std::max(std::ilogb(magnitude), 1 - format.bias);
  // The mantissa with its leading one; rounding up may carry into the
  // exponent, which the addition below does right.
  auto mantissa = static_cast<uint64_t>(
      std::nearbyint(std::scalbn(magnitude, format.mantissaBits - exponent)));
  uint64_t field = static_cast<uint64_t>(exponent + format.bias - 1);
  uint64_t bits = (field << format.mantissaBits) + mantissa;
  return bits > format.highest ? format.overflow : bits;
}

uint64_t encodeFloat(const Format &format, double value) {
  if (std::isnan(value) && format.notANumber == 0)
    return 0;
  uint64_t bits = std::isnan(value) ? format.notANumber
                                    : encodeMagnitude(format, std::fabs(value));
  if (format.isFnuz && (bits == 0 || bits == format.notANumber))
    return bits;
  return bits | (std::signbit(value) ? format.signBit() : 0);
}

/// What the host has itself needs no decoding; there is one NaN.
template <typename Float, typename Bits> double decodeNative(uint64_t bits) {
  double value = std::bit_cast<Float>(Bits(bits));
  return std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value;
}

double decodeFloat(const Format &format, uint64_t bits) {
  if (format.isFnuz && bits == format.notANumber)
    return std::numeric_limits<double>::quiet_NaN();
  double sign = bits & format.signBit() ? -1.0 : 1.0;
  uint64_t rest = bits & (format.signBit() - 1);
  if (rest > format.highest)
    return format.hasInfinity() && rest == format.overflow
               ? sign * std::numeric_limits<double>::infinity()
               : std::numeric_limits<double>::quiet_NaN();
  uint64_t field = rest >> format.mantissaBits;
  uint64_t mantissa = rest & (format.one() - 1);
  mantissa += field ? format.one() : 0;
  int exponent = static_cast<int>(std::max<uint64_t>(field, 1));
  return sign * std::scalbn(static_cast<double>(mantissa),
                            exponent - format.bias - format.mantissaBits);
}

/// f8e8m0fnu: an exponent alone. Halfway between two powers is the higher one;
/// what lies below the least, as 0 and what is negative do, is the least.
uint64_t encodePower(double value) {
  constexpr int bias = 127;
  constexpr uint64_t notANumber = 0xff;
  if (!std::isfinite(value))
    return notANumber;
  if (value <= std::scalbn(1.0, -bias))
    return 0;
  int exponent = std::ilogb(value);
  exponent += std::scalbn(value, -exponent) >= 1.5;
  return exponent > bias ? notANumber : static_cast<uint64_t>(exponent + bias);
}

double decodePower(uint64_t bits) {
  return bits == 0xff ? std::numeric_limits<double>::quiet_NaN()
                      : std::scalbn(1.0, static_cast<int>(bits) - 127);
}

uint64_t encodeInteger(DType type, double value) {
  if (std::isnan(value))
    return 0;
  int bits = static_cast<int>(bitWidth(type));
  bool isSigned = isSignedInteger(type);
  double limit = std::scalbn(1.0, isSigned ? bits - 1 : bits);
  double low = isSigned ? -limit : 0;
  value = std::trunc(value);
  if (value >= limit)
    return (isSigned ? (uint64_t(1) << (bits - 1)) : uint64_t(0)) - 1;
  if (value <= low)
    return isSigned ? uint64_t(1) << (bits - 1) : 0;
  return value < 0 ? static_cast<uint64_t>(static_cast<int64_t>(value))
                   : static_cast<uint64_t>(value);
}

} // namespace

Bytes encodeElement(DType type, double value) {
  unsigned bits = bitWidth(type);
  uint64_t pattern = 0;
  if (type == DType::Bool)
    pattern = value != 0;
  else if (type == DType::F8E8M0FNU)
    pattern = encodePower(value);
  else if (isFloat(type))
    pattern = encodeFloat(formatOf(type), value);
  else
    pattern = encodeInteger(type, value);
  pattern &= bits >= 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
  Bytes bytes((bits + 7) / 8);
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<uint8_t>(pattern >> (8 * i));
  return bytes;
}

double decodeElement(DType type, std::span<const uint8_t> data, size_t index) {
  unsigned bits = bitWidth(type);
  if (bits == 0 || index >= data.size() * 8 / bits)
    return 0;
  uint64_t pattern = 0;
  if (bits < 8) {
    pattern = (data[index / 2] >> (index % 2 * 4)) & 15;
  } else {
    for (unsigned i = 0; i < bits / 8; ++i)
      pattern |= uint64_t(data[index * (bits / 8) + i]) << (8 * i);
  }
  if (type == DType::F32)
    return decodeNative<float, uint32_t>(pattern);
  if (type == DType::F64)
    return decodeNative<double, uint64_t>(pattern);
  if (type == DType::F8E8M0FNU)
    return decodePower(pattern);
  if (isFloat(type))
    return decodeFloat(formatOf(type), pattern);
  uint64_t signBit = uint64_t(1) << (bits - 1);
  if (!isSignedInteger(type) || !(pattern & signBit))
    return static_cast<double>(pattern);
  return static_cast<double>(static_cast<int64_t>(pattern | ~(signBit - 1)));
}

} // namespace backplane
