// SPDX-License-Identifier: Apache-2.0
#include "Element.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace backplane {

namespace {

/// An IEEE-like float of sign, exponent and mantissa bits.
struct Format {
  int exponentBits;
  int mantissaBits;
  bool hasInfinity;

  int bias() const { return (1 << (exponentBits - 1)) - 1; }
  uint64_t exponentMask() const { return (uint64_t(1) << exponentBits) - 1; }
  uint64_t one() const { return uint64_t(1) << mantissaBits; }
  uint64_t infinity() const { return exponentMask() << mantissaBits; }
  uint64_t notANumber() const {
    return infinity() | (hasInfinity ? one() >> 1 : one() - 1);
  }
  /// The highest pattern that is a finite number.
  uint64_t highest() const {
    return hasInfinity ? infinity() - 1 : notANumber() - 1;
  }
};

Format formatOf(DType type) {
  switch (type) {
  case DType::F64:
    return {11, 52, true};
  case DType::F32:
    return {8, 23, true};
  case DType::F16:
    return {5, 10, true};
  case DType::BF16:
    return {8, 7, true};
  case DType::F8E4M3FN:
    return {4, 3, false};
  default:
    return {5, 2, true};
  }
}

uint64_t encodeFloat(const Format &format, double value) {
  uint64_t sign = uint64_t(std::signbit(value))
                  << (format.exponentBits + format.mantissaBits);
  if (std::isnan(value))
    return sign | format.notANumber();
  uint64_t overflow =
      format.hasInfinity ? format.infinity() : format.notANumber();
  double magnitude = std::fabs(value);
  if (std::isinf(magnitude))
    return sign | overflow;
  if (magnitude == 0)
    return sign;
  int exponent = std::max(std::ilogb(magnitude), 1 - format.bias());
  // The mantissa with its leading one; rounding up may carry into the
  // exponent, which the addition below does right.
  auto mantissa = static_cast<uint64_t>(
      std::nearbyint(std::scalbn(magnitude, format.mantissaBits - exponent)));
  uint64_t field = static_cast<uint64_t>(exponent + format.bias() - 1);
  uint64_t bits = (field << format.mantissaBits) + mantissa;
  return sign | (bits > format.highest() ? overflow : bits);
}

double decodeFloat(const Format &format, uint64_t bits) {
  uint64_t signBit = uint64_t(1) << (format.exponentBits + format.mantissaBits);
  double sign = bits & signBit ? -1.0 : 1.0;
  uint64_t rest = bits & (signBit - 1);
  if (rest > format.highest())
    return format.hasInfinity && rest == format.infinity()
               ? sign * std::numeric_limits<double>::infinity()
               : std::numeric_limits<double>::quiet_NaN();
  uint64_t field = rest >> format.mantissaBits;
  uint64_t mantissa = rest & (format.one() - 1);
  mantissa += field ? format.one() : 0;
  int exponent = static_cast<int>(std::max<uint64_t>(field, 1));
  return sign * std::scalbn(static_cast<double>(mantissa),
                            exponent - format.bias() - format.mantissaBits);
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
  if (isFloat(type))
    return decodeFloat(formatOf(type), pattern);
  uint64_t signBit = uint64_t(1) << (bits - 1);
  if (!isSignedInteger(type) || !(pattern & signBit))
    return static_cast<double>(pattern);
  return static_cast<double>(static_cast<int64_t>(pattern | ~(signBit - 1)));
}

} // namespace backplane
