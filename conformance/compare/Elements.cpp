// SPDX-License-Identifier: Apache-2.0
#include "Elements.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

namespace backplane::conformance {

std::string textOf(DType dtype, uint64_t bits) {
  char text[96];
  int digits = static_cast<int>((bitWidth(dtype) + 3) / 4);
  if (isFloat(dtype)) {
    int significant = dtype == DType::F64 ? 17 : dtype == DType::F32 ? 9 : 5;
    std::snprintf(text, sizeof(text), "%.*Lg (0x%0*" PRIx64 ")", significant,
                  decode(dtype, bits), digits, bits);
  } else {
    std::snprintf(text, sizeof(text), "%.0Lf (0x%0*" PRIx64 ")",
                  numberOf(dtype, bits), digits, bits);
  }
  return text;
}

size_t packedBytes(DType dtype, size_t count) {
  unsigned width = bitWidth(dtype);
  return width < 8 ? (count * width + 7) / 8 : count * (width / 8);
}

namespace {

/// The same for floats that the host has.
template <typename T> double largestOf(const Bytes &data) {
  T largest = 0;
  for (size_t at = 0; at + sizeof(T) <= data.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, data.data() + at, sizeof value);
    value = std::fabs(value);
    if (value > largest && value <= std::numeric_limits<T>::max())
      largest = value;
  }
  return largest;
}

} // namespace

double largestMagnitude(const Tensor &tensor) {
  if (tensor.dtype == DType::F32)
    return largestOf<float>(tensor.data);
  if (tensor.dtype == DType::F64)
    return largestOf<double>(tensor.data);
  double largest = 0;
  auto take = [&](uint64_t bits) {
    auto value = double(std::fabs(numberOf(tensor.dtype, bits)));
    if (std::isfinite(value))
      largest = std::max(largest, value);
  };
  // Few bits have few patterns.
  bool isNarrow = bitWidth(tensor.dtype) <= 16;
  std::vector<bool> seen(isNarrow ? size_t(1) << bitWidth(tensor.dtype) : 0);
  for (size_t i = 0, count = tensor.elementCount(); i < count; ++i)
    if (uint64_t bits = loadBits(tensor, i); !isNarrow)
      take(bits);
    else if (!seen[bits]) {
      seen[bits] = true;
      take(bits);
    }
  return largest;
}

Tensor tensorOf(const Expected &expected) {
  Tensor tensor{expected.dtype, expected.dims, {}};
  tensor.data.resize(packedBytes(expected.dtype, expected.bits.size()));
  for (size_t i = 0; i < expected.bits.size(); ++i)
    storeBits(tensor, i, expected.bits[i]);
  return tensor;
}

Expected expectedOf(const Tensor &stored) {
  Expected expected;
  expected.dtype = stored.dtype;
  expected.dims = stored.dims;
  size_t count = stored.elementCount();
  for (size_t i = 0; i < count; ++i)
    expected.bits.push_back(loadBits(stored, i));
  if (!isFloat(stored.dtype))
    return expected;
  expected.match = Match::Limit;
  for (uint64_t bits : expected.bits)
    expected.value.push_back(decode(stored.dtype, bits));
  expected.error.assign(count, 0);
  return expected;
}

} // namespace backplane::conformance
