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

unsigned sizeOf(bp_dtype_t dtype) {
  static const std::map<bp_dtype_t, unsigned> sizes = {
      {BP_DTYPE_F64, 8}, {BP_DTYPE_F32, 4},  {BP_DTYPE_F16, 2},
      {BP_DTYPE_I64, 8}, {BP_DTYPE_I32, 4},  {BP_DTYPE_I16, 2},
      {BP_DTYPE_I8, 1},  {BP_DTYPE_BF16, 2}, {BP_DTYPE_U64, 8},
      {BP_DTYPE_U32, 4}, {BP_DTYPE_U16, 2},  {BP_DTYPE_U8, 1},
      {BP_DTYPE_BOOL, 1}};
  return sizes.at(dtype);
}

bool isFloat(bp_dtype_t dtype) {
  return dtype >= BP_DTYPE_F64 && dtype <= BP_DTYPE_BF16;
}

bool isUnsigned(bp_dtype_t dtype) {
  return dtype >= BP_DTYPE_U64 && dtype <= BP_DTYPE_U8;
}

int64_t product(const Dims &dims) {
  int64_t product = 1;
  for (int64_t dim : dims)
    product *= dim;
  return product;
}

// ---- 16-bit floats ----

namespace {

/// The value of 16 bits with this many exponent bits, by definition.
double decode(uint16_t bits, int exponentBits) {
  int mantissaBits = 15 - exponentBits;
  int field = bits >> mantissaBits & ((1 << exponentBits) - 1);
  int mantissa = bits & ((1 << mantissaBits) - 1);
  int bias = (1 << (exponentBits - 1)) - 1;
  double sign = bits & 0x8000 ? -1 : 1;
  if (field == (1 << exponentBits) - 1)
    return mantissa ? std::nan("") : sign * INFINITY;
  if (field == 0)
    return sign * std::ldexp(mantissa, 1 - bias - mantissaBits);
  return sign * std::ldexp(mantissa + (1 << mantissaBits),
                           field - bias - mantissaBits);
}

int exponentBits(bp_dtype_t dtype) { return dtype == BP_DTYPE_F16 ? 5 : 8; }

/// The bits whose value is nearest, by a search among all of them: those of
/// positive finite values ascend.
uint16_t encode(long double value, int exponentBits) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  uint16_t infinity = ((1 << exponentBits) - 1) << (15 - exponentBits);
  if (std::isnan(value))
    return sign | infinity | 1 << (14 - exponentBits);
  long double size = std::fabs(value);
  uint16_t low = 0, high = infinity;
  while (high - low > 1) {
    uint16_t middle = (low + high) / 2;
    (decode(middle, exponentBits) <= size ? low : high) = middle;
  }
  if (low == infinity || std::isinf(size))
    return sign | infinity;
  long double below = decode(low, exponentBits);
  // Infinity stands where the next power of two would.
  long double above =
      high == infinity
          ? below + (below - decode(uint16_t(low - 1), exponentBits))
          : decode(high, exponentBits);
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
  return decode(encode(value, exponentBits(dtype)), exponentBits(dtype));
}

int64_t highest(bp_dtype_t dtype) {
  unsigned bits = sizeOf(dtype) * 8;
  return isUnsigned(dtype) ? int64_t(UINT64_MAX >> (64 - bits))
                           : int64_t(UINT64_MAX >> (65 - bits));
}

int64_t lowest(bp_dtype_t dtype) {
  return isUnsigned(dtype) ? 0 : -highest(dtype) - 1;
}

int64_t wrapped(bp_dtype_t dtype, int64_t value) {
  unsigned drop = 64 - sizeOf(dtype) * 8;
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
      bytes(size_t(product(this->dims)) * sizeOf(dtype)) {}

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
  uint16_t bits;
  std::memcpy(&bits, at, 2);
  return decode(bits, exponentBits(dtype));
}

int64_t Tensor::i(int64_t index) const {
  uint64_t value = 0;
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
    uint16_t bits = encode(value, exponentBits(dtype));
    std::memcpy(at, &bits, 2);
  }
}

void Tensor::setI(int64_t index, int64_t value) {
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
      tensor.setI(i, int64_t(unit * 200) - (isUnsigned(dtype) ? 0 : 100));
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
