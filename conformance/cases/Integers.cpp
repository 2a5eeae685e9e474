// SPDX-License-Identifier: Apache-2.0
#include "Integers.h"

#include "Data.h"
#include "DataSets.h"
#include "conformance/oracle/Format.h"

#include <cmath>
#include <cstring>

namespace backplane::conformance {

namespace {

/// Integers of at most this magnitude are exact.
double largestExact(DType dtype) {
  if (isFloat(dtype))
    return std::ldexp(1.0, formatOf(dtype).precision);
  unsigned sign = isSignedInteger(dtype) ? 1 : 0;
  return std::ldexp(1.0, static_cast<int>(bitWidth(dtype) - sign)) - 1;
}

/// Mean square of an element.
double meanSquare(const IntegerRange &range, bool isSigned) {
  auto limit = static_cast<double>(range.limit);
  double square =
      isSigned ? limit * (limit + 1) / 3 : limit * (2 * limit + 1) / 6;
  return square / static_cast<double>(range.oneIn);
}

bool fits(const IntegerRange &range, DType operand, DType result,
          double terms) {
  double largest = largestExact(result);
  auto limit = static_cast<double>(range.limit);
  if (terms * limit * limit <= largest)
    return true;
  bool isSigned = !isUnsignedInteger(operand);
  return isSigned && isFloat(result) &&
         8 * std::sqrt(terms) * meanSquare(range, true) <= largest;
}

} // namespace

std::optional<IntegerRange> exactIntegers(DType operand, DType result,
                                          int64_t terms) {
  int64_t most = bitWidth(operand) == 8 && !isFloat(operand)
                     ? isSignedInteger(operand) ? 127 : 255
                     : 15;
  for (IntegerRange range :
       {IntegerRange{most, 1}, {15, 1}, {7, 1}, {3, 1}, {2, 1}, {1, 1}, {1, 2}})
    if (range.limit <= most &&
        fits(range, operand, result, static_cast<double>(terms)))
      return range;
  return std::nullopt;
}

void fillIntegers(Tensor &tensor, const IntegerRange &range, uint64_t seed) {
  size_t bytes = bitWidth(tensor.dtype) / 8, count = tensor.elementCount();
  bool isSigned = !isUnsignedInteger(tensor.dtype);
  // Bits of all numbers that there are.
  int64_t low = isSigned ? -range.limit : 0;
  std::vector<uint64_t> bits;
  for (int64_t value = low; value <= range.limit; ++value)
    bits.push_back(bitsOfNumber(tensor.dtype, static_cast<Real>(value)));
  uint64_t zero = bits[static_cast<size_t>(-low)], choices = bits.size();
  for (size_t i = 0; i < count; ++i) {
    uint64_t random = randomBits(seed, i);
    // The high half chooses the number, the low half whether there is one.
    uint64_t choice = (random >> 32) * choices >> 32;
    uint64_t word = (random & 0xffff) % range.oneIn ? zero : bits[choice];
    storeBytes(tensor.data.data() + i * bytes, word, bytes);
  }
}

namespace {

template <typename T>
bool readAs(const uint8_t *data, size_t count, int64_t *values, size_t &bad) {
  for (size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, data + i * sizeof(T), sizeof(T));
    if constexpr (std::is_floating_point_v<T>) {
      constexpr T most = T(int64_t(1) << 62);
      bool isInteger = std::fabs(value) < most && std::trunc(value) == value;
      if (!isInteger) {
        bad = i;
        return false;
      }
    }
    values[i] = static_cast<int64_t>(value);
  }
  return true;
}

/// Floats of at most 16 bits by a table of what their bits mean.
bool readNarrow(const Tensor &tensor, size_t first, size_t count,
                int64_t *values, size_t &bad) {
  for (size_t i = 0; i < count; ++i) {
    Real value = decode(tensor.dtype, loadBits(tensor, first + i));
    if (!std::isfinite(value) || std::trunc(value) != value ||
        std::fabs(value) >= std::ldexp(Real(1), 62)) {
      bad = i;
      return false;
    }
    values[i] = static_cast<int64_t>(value);
  }
  return true;
}

} // namespace

bool readIntegers(const Tensor &tensor, size_t first, size_t count,
                  int64_t *values, size_t &bad) {
  const uint8_t *data =
      tensor.data.data() + first * (bitWidth(tensor.dtype) / 8);
  switch (tensor.dtype) {
  case DType::F64:
    return readAs<double>(data, count, values, bad);
  case DType::F32:
    return readAs<float>(data, count, values, bad);
  case DType::I64:
  case DType::U64:
    return readAs<int64_t>(data, count, values, bad);
  case DType::I32:
    return readAs<int32_t>(data, count, values, bad);
  case DType::U32:
    return readAs<uint32_t>(data, count, values, bad);
  case DType::I16:
    return readAs<int16_t>(data, count, values, bad);
  case DType::U16:
    return readAs<uint16_t>(data, count, values, bad);
  case DType::I8:
    return readAs<int8_t>(data, count, values, bad);
  case DType::U8:
    return readAs<uint8_t>(data, count, values, bad);
  default:
    return readNarrow(tensor, first, count, values, bad);
  }
}

std::vector<int64_t> allIntegers(const Tensor &tensor) {
  std::vector<int64_t> values(tensor.elementCount());
  size_t bad = 0;
  (void)readIntegers(tensor, 0, values.size(), values.data(), bad);
  return values;
}

} // namespace backplane::conformance
