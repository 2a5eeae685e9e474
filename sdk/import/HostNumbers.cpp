// SPDX-License-Identifier: Apache-2.0
//
// Single elements of constant tensors: to numbers and back.
#include "HostTensor.h"
#include "sdk/support/Element.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace backplane::frontend {

namespace {

template <typename T> Bytes bytesOf(T value) {
  Bytes bytes(sizeof(T));
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

template <typename T>
std::optional<T> load(const HostTensor &tensor, size_t index) {
  if (index >= tensor.data.bytes.size() / sizeof(T))
    return std::nullopt;
  T value;
  std::memcpy(&value, tensor.data.bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

/// The nearest value of a 16-bit float with this many mantissa bits, ties to
/// even.
uint16_t encodeHalf(double value, int mantissa, int minimumExponent,
                    int maximumExponent) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  uint16_t infinity = static_cast<uint16_t>(
      (maximumExponent - minimumExponent + 2) << mantissa);
  if (std::isnan(value))
    return static_cast<uint16_t>(infinity | 1 << (mantissa - 1));
  double magnitude = std::fabs(value);
  if (std::isinf(value))
    return sign | infinity;
  int exponent = magnitude == 0 ? minimumExponent : std::ilogb(magnitude);
  exponent = std::max(exponent, minimumExponent);
  if (exponent > maximumExponent)
    return sign | infinity;
  double steps = std::nearbyint(std::ldexp(magnitude, mantissa - exponent));
  // A mantissa that rounds up to 2 carries into the exponent by itself.
  int biased = exponent - minimumExponent;
  return static_cast<uint16_t>(
      sign | ((biased << mantissa) + static_cast<int>(steps)));
}

double decodeHalf(uint16_t bits, int mantissa, int minimumExponent) {
  int fields = bits & 0x7FFF;
  int biased = fields >> mantissa;
  int fraction = fields & ((1 << mantissa) - 1);
  double sign = bits & 0x8000 ? -1.0 : 1.0;
  int exponentBits = 15 - mantissa;
  if (biased == (1 << exponentBits) - 1)
    return fraction ? std::nan("") : sign * INFINITY;
  if (biased == 0)
    return sign * std::ldexp(fraction, minimumExponent - mantissa);
  return sign * std::ldexp(fraction + (1 << mantissa),
                           minimumExponent + biased - 1 - mantissa);
}

} // namespace

Bytes encodeFloat(DType type, double value) {
  if (isStoredFloat(type))
    return encodeElement(type, value);
  switch (type) {
  case DType::F64:
    return bytesOf(value);
  case DType::F16:
    return bytesOf(encodeHalf(value, 10, -14, 15));
  case DType::BF16:
    return bytesOf(encodeHalf(value, 7, -126, 127));
  default:
    return bytesOf(static_cast<float>(value));
  }
}

Bytes encodeInteger(DType type, int64_t value) {
  Bytes bytes = bytesOf(value);
  bytes.resize((bitWidth(type) + 7) / 8);
  if (bitWidth(type) == 4)
    bytes[0] &= 0x0F;
  return bytes;
}

Bytes encodeNumber(DType type, double value) {
  if (isFloat(type))
    return encodeFloat(type, value);
  if (std::isnan(value))
    return encodeInteger(type, 0);
  // The largest double below 2^63.
  constexpr double limit = 9223372036854774784.0;
  return encodeInteger(type,
                       static_cast<int64_t>(std::clamp(value, -limit, limit)));
}

std::optional<int64_t> integerAt(const HostTensor &tensor, size_t index) {
  switch (tensor.dtype) {
  case DType::I64:
    return load<int64_t>(tensor, index);
  case DType::I32:
    return load<int32_t>(tensor, index);
  case DType::I16:
    return load<int16_t>(tensor, index);
  case DType::I8:
    return load<int8_t>(tensor, index);
  case DType::U32:
    return load<uint32_t>(tensor, index);
  case DType::U16:
    return load<uint16_t>(tensor, index);
  case DType::U8:
  case DType::Bool:
    return load<uint8_t>(tensor, index);
  default:
    return std::nullopt;
  }
}

std::optional<double> numberAt(const HostTensor &tensor, size_t index) {
  switch (tensor.dtype) {
  case DType::F64:
    return load<double>(tensor, index);
  case DType::F32:
    return load<float>(tensor, index);
  case DType::F16:
    if (auto bits = load<uint16_t>(tensor, index))
      return decodeHalf(*bits, 10, -14);
    return std::nullopt;
  case DType::BF16:
    if (auto bits = load<uint16_t>(tensor, index))
      return decodeHalf(*bits, 7, -126);
    return std::nullopt;
  default:
    if (auto integer = integerAt(tensor, index))
      return static_cast<double>(*integer);
    return std::nullopt;
  }
}

} // namespace backplane::frontend
