// SPDX-License-Identifier: Apache-2.0
//
// Tensors of the tests and the rounding that expectations are made with.
#include "Harness.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

namespace reftest {

unsigned bitsOf(bp_dtype_t dtype) {
  static const std::map<bp_dtype_t, unsigned> bits = {
      {BP_DTYPE_F64, 64},       {BP_DTYPE_F32, 32},
      {BP_DTYPE_F16, 16},       {BP_DTYPE_BF16, 16},
      {BP_DTYPE_F8E4M3FN, 8},   {BP_DTYPE_F8E5M2, 8},
      {BP_DTYPE_I64, 64},       {BP_DTYPE_I32, 32},
      {BP_DTYPE_I16, 16},       {BP_DTYPE_I8, 8},
      {BP_DTYPE_I4, 4},         {BP_DTYPE_U64, 64},
      {BP_DTYPE_U32, 32},       {BP_DTYPE_U16, 16},
      {BP_DTYPE_U8, 8},         {BP_DTYPE_U4, 4},
      {BP_DTYPE_BOOL, 8},       {BP_DTYPE_F8E4M3FNUZ, 8},
      {BP_DTYPE_F8E5M2FNUZ, 8}, {BP_DTYPE_F8E8M0FNU, 8},
      {BP_DTYPE_F4E2M1FN, 4}};
  return bits.at(dtype);
}

unsigned sizeOf(bp_dtype_t dtype) { return bitsOf(dtype) / 8; }

bool isFloat(bp_dtype_t dtype) {
  return (dtype >= BP_DTYPE_F64 && dtype <= BP_DTYPE_F8E5M2) ||
         (dtype >= BP_DTYPE_F8E4M3FNUZ && dtype <= BP_DTYPE_F4E2M1FN);
}

bool isUnsigned(bp_dtype_t dtype) {
  return dtype >= BP_DTYPE_U64 && dtype <= BP_DTYPE_U4;
}

int64_t product(const Dims &dims) {
  int64_t product = 1;
  for (int64_t dim : dims)
    product *= dim;
  return product;
}

// ---- floats of 8 and 16 bits ----

namespace {

struct Format {
  int bits;
  int exponentBits;
  bool hasInfinity = true;
};

Format formatOf(bp_dtype_t dtype) {
  switch (dtype) {
  case BP_DTYPE_F16:
    return {16, 5};
  case BP_DTYPE_BF16:
    return {16, 8};
  case BP_DTYPE_F8E5M2:
    return {8, 5};
  default:
    return {8, 4, false};
  }
}

/// The value of a pattern, by definition.
double decode(unsigned bits, Format format) {
  int mantissaBits = format.bits - 1 - format.exponentBits;
  int last = (1 << format.exponentBits) - 1;
  int field = int(bits >> mantissaBits) & last;
  int mantissa = int(bits) & ((1 << mantissaBits) - 1);
  int bias = (1 << (format.exponentBits - 1)) - 1;
  double sign = bits >> (format.bits - 1) & 1 ? -1 : 1;
  if (field == last && format.hasInfinity)
    return mantissa ? std::nan("") : sign * INFINITY;
  if (field == last && mantissa == (1 << mantissaBits) - 1)
    return std::nan("");
  if (field == 0)
    return sign * std::ldexp(mantissa, 1 - bias - mantissaBits);
  return sign * std::ldexp(mantissa + (1 << mantissaBits),
                           field - bias - mantissaBits);
}

/// The bits whose value is nearest, by a search among all of them: those of
/// positive finite values ascend. What is too high becomes the pattern above
/// the highest number, which is infinity or NaN.
unsigned encode(long double value, Format format) {
  unsigned sign = std::signbit(value) ? 1u << (format.bits - 1) : 0;
  unsigned ones = (1u << (format.bits - 1)) - 1;
  unsigned mantissa = (1u << (format.bits - 1 - format.exponentBits)) - 1;
  unsigned highest = (format.hasInfinity ? ones - mantissa : ones) - 1;
  if (std::isnan(value))
    return sign | ones;
  long double size = std::fabs(value);
  unsigned low = 0, high = highest + 1;
  while (high - low > 1) {
    unsigned middle = (low + high) / 2;
    (decode(middle, format) <= size ? low : high) = middle;
  }
  if (std::isinf(size))
    return sign | high;
  long double below = decode(low, format);
  long double above = high > highest ? below + (below - decode(low - 1, format))
                                     : decode(high, format);
  bool up = size - below > above - size ||
            (size - below == above - size && low % 2 == 1);
  return sign | (up ? high : low);
}

} // namespace

// ---- numbers ----

double rounded(bp_dtype_t dtype, long double value) {
  if (dtype == BP_DTYPE_F64)
    return double(value);
  if (dtype == BP_DTYPE_F32)
    return float(value);
  return decode(encode(value, formatOf(dtype)), formatOf(dtype));
}

int64_t highest(bp_dtype_t dtype) {
  unsigned bits = bitsOf(dtype);
  return isUnsigned(dtype) ? int64_t(UINT64_MAX >> (64 - bits))
                           : int64_t(UINT64_MAX >> (65 - bits));
}

int64_t lowest(bp_dtype_t dtype) {
  return isUnsigned(dtype) ? 0 : -highest(dtype) - 1;
}

int64_t wrapped(bp_dtype_t dtype, int64_t value) {
  unsigned drop = 64 - bitsOf(dtype);
  if (isUnsigned(dtype))
    return int64_t(uint64_t(value) << drop >> drop);
  return int64_t(uint64_t(value) << drop) >> drop;
}

double ulps(bp_dtype_t dtype, double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) && std::isnan(b) ? 0 : INFINITY;
  if (a == b)
    return std::signbit(a) == std::signbit(b) ? 0 : 0.5;
  if (std::isinf(a) || std::isinf(b))
    return INFINITY;
  if (bitsOf(dtype) == 8)
    return a == b ? 0 : 1;
  int mantissa = dtype == BP_DTYPE_F64   ? 53
                 : dtype == BP_DTYPE_F32 ? 24
                 : dtype == BP_DTYPE_F16 ? 11
                                         : 8;
  int least = dtype == BP_DTYPE_F64   ? -1022
              : dtype == BP_DTYPE_F16 ? -14
                                      : -126;
  int exponent = std::max({std::ilogb(a), std::ilogb(b), least});
  return std::fabs(a - b) / std::ldexp(1.0, exponent - mantissa + 1);
}

// ---- Tensor ----

Tensor::Tensor(bp_dtype_t dtype, Dims dims)
    : dtype(dtype), dims(std::move(dims)),
      bytes((size_t(product(this->dims)) * bitsOf(dtype) + 7) / 8) {}

int64_t Tensor::count() const { return product(dims); }

Tensor Tensor::floats(bp_dtype_t dtype, Dims dims,
                      const std::vector<double> &values) {
  Tensor tensor(dtype, std::move(dims));
  EXPECT_EQ(tensor.count(), int64_t(values.size()));
  for (size_t i = 0; i < values.size(); ++i)
    tensor.setF(int64_t(i), values[i]);
  return tensor;
}

Tensor Tensor::ints(bp_dtype_t dtype, Dims dims,
                    const std::vector<int64_t> &values) {
  Tensor tensor(dtype, std::move(dims));
  EXPECT_EQ(tensor.count(), int64_t(values.size()));
  for (size_t i = 0; i < values.size(); ++i)
    tensor.setI(int64_t(i), values[i]);
  return tensor;
}

double Tensor::f(int64_t index) const {
  const uint8_t *at = bytes.data() + index * sizeOf(dtype);
  if (dtype == BP_DTYPE_F64) {
    double value;
    std::memcpy(&value, at, 8);
    return value;
  }
  if (dtype == BP_DTYPE_F32) {
    float value;
    std::memcpy(&value, at, 4);
    return value;
  }
  uint16_t bits = 0;
  std::memcpy(&bits, at, sizeOf(dtype));
  return decode(bits, formatOf(dtype));
}

int64_t Tensor::i(int64_t index) const {
  uint64_t value = 0;
  if (bitsOf(dtype) == 4) // low nibble first
    return wrapped(dtype, bytes[size_t(index) / 2] >> index % 2 * 4);
  std::memcpy(&value, bytes.data() + index * sizeOf(dtype), sizeOf(dtype));
  return dtype == BP_DTYPE_BOOL ? int64_t(value)
                                : wrapped(dtype, int64_t(value));
}

void Tensor::setF(int64_t index, double value) {
  uint8_t *at = bytes.data() + index * sizeOf(dtype);
  if (dtype == BP_DTYPE_F64) {
    std::memcpy(at, &value, 8);
  } else if (dtype == BP_DTYPE_F32) {
    float narrow = float(value);
    std::memcpy(at, &narrow, 4);
  } else {
    uint16_t bits = uint16_t(encode(value, formatOf(dtype)));
    std::memcpy(at, &bits, sizeOf(dtype));
  }
}

void Tensor::setI(int64_t index, int64_t value) {
  if (bitsOf(dtype) == 4) {
    uint8_t &byte = bytes[size_t(index) / 2];
    byte = index % 2 ? uint8_t((byte & 15) | value << 4)
                     : uint8_t((byte & 0xF0) | (value & 15));
    return;
  }
  std::memcpy(bytes.data() + index * sizeOf(dtype), &value, sizeOf(dtype));
}

Tensor randomTensor(bp_dtype_t dtype, Dims dims, unsigned seed) {
  std::mt19937 random(seed);
  Tensor tensor(dtype, std::move(dims));
  for (int64_t i = 0; i < tensor.count(); ++i) {
    double unit = double(random()) / 4294967296.0;
    if (isFloat(dtype))
      tensor.setF(i, unit * 4 - 2);
    else if (dtype == BP_DTYPE_BOOL)
      tensor.setI(i, unit < 0.5);
    else
      tensor.setI(i, wrapped(dtype, int64_t(unit * 200) -
                                        (isUnsigned(dtype) ? 0 : 100)));
  }
  return tensor;
}

// ---- indices ----

bool next(const Dims &dims, Dims &index) {
  for (size_t axis = dims.size(); axis-- > 0;) {
    if (++index[axis] < dims[axis])
      return true;
    index[axis] = 0;
  }
  return false;
}

int64_t offset(const Dims &dims, const Dims &index) {
  int64_t offset = 0;
  for (size_t axis = 0; axis < dims.size(); ++axis)
    offset = offset * dims[axis] + index[axis];
  return offset;
}

} // namespace reftest
