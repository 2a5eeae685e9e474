// SPDX-License-Identifier: Apache-2.0
#include "Patterns.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace backplane::conformance {

namespace {

/// In [0, 1), from 16 of the bits.
Real sixteenBits(uint64_t random, unsigned part) {
  return std::ldexp(Real(random >> (16 * part) & 0xffff), -16);
}

/// Nearly normal: the sum of four uniform numbers, deviation 1.
Real noise(uint64_t random) {
  Real sum = -2;
  for (unsigned part = 0; part < 4; ++part)
    sum += sixteenBits(random, part);
  return sum * std::sqrt(Real(3));
}

/// Large beside the noise, which still differs by a few units in the last
/// place.
Real offsetOf(DType dtype) {
  switch (dtype) {
  case DType::F64:
  case DType::F32:
    return 1e6L;
  case DType::F16:
    return 1000;
  case DType::BF16:
    return 100;
  default:
    return isFloat(dtype) ? 4 : 100;
  }
}

Real swamping(DType dtype, size_t input, size_t i) {
  if (input != 0 || i % 16 != 0)
    return 1;
  int exponent = dtype == DType::F64 ? 30 : bitWidth(dtype) <= 8 ? 6 : 12;
  Real large = std::ldexp(Real(1), exponent);
  return i / 16 % 2 && !isUnsignedInteger(dtype) ? -large : large;
}

Real small(DType dtype, uint64_t random) {
  Real value = static_cast<Real>(random % 8);
  return random >> 32 & 1 && !isUnsignedInteger(dtype) ? -value : value;
}

/// Whether all of the indices of an element are first, last, 15 or 16.
bool isCorner(const Tensor &tensor, size_t i) {
  bool first = true, last = true, before = true, after = true;
  for (size_t axis = tensor.dims.size(); axis-- > 0;) {
    auto size = static_cast<size_t>(tensor.dims[axis]);
    size_t index = i % size;
    i /= size;
    first &= index == 0;
    last &= index == size - 1;
    before &= index == std::min<size_t>(15, size - 1);
    after &= index == std::min<size_t>(16, size - 1);
  }
  return first || last || before || after;
}

} // namespace

std::optional<Real> patternOf(std::string_view dataSet, const Tensor &tensor,
                              size_t input, size_t i, uint64_t random) {
  DType dtype = tensor.dtype;
  bool isNegative = random >> 40 & 1 && !isUnsignedInteger(dtype);
  if (dataSet == "offset")
    return offsetOf(dtype) + noise(random);
  if (dataSet == "swamping")
    return swamping(dtype, input, i);
  if (dataSet == "alternating") {
    Real value = 1 + static_cast<Real>(random % 8) / (isFloat(dtype) ? 8 : 1);
    bool flips = i % 2 && input == 0 && !isUnsignedInteger(dtype);
    return flips ? -value : value;
  }
  if (dataSet == "sparse")
    return random % 16 ? 0 : (isNegative ? -1 : 1) * Real(1 + (random >> 8) % 9);
  if (dataSet == "wide")
    return (isNegative ? -1 : 1) * sixteenBits(random, 0) *
           (dtype == DType::F64 ? 1000 : 100);
  if (dataSet != "nan-corner")
    return std::nullopt;
  if (input == 0 && isFloat(dtype) && isCorner(tensor, i))
    return std::numeric_limits<Real>::quiet_NaN();
  return small(dtype, random);
}

} // namespace backplane::conformance
