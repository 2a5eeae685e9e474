// SPDX-License-Identifier: Apache-2.0
#include "Value.h"

#include <algorithm>

namespace backplane::conformance {

size_t countOf(const Sizes &sizes) {
  size_t count = 1;
  for (int64_t size : sizes)
    count *= static_cast<size_t>(size);
  return count;
}

size_t Value::count() const { return countOf(dims); }

Sizes stridesOf(const Sizes &sizes) {
  Sizes strides(sizes.size());
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0; stride *= sizes[i])
    strides[i] = stride;
  return strides;
}

std::vector<size_t> affine(const Sizes &dims, int64_t base,
                           const Sizes &strides) {
  std::vector<size_t> map(countOf(dims));
  Sizes index(dims.size());
  int64_t at = base;
  for (size_t &entry : map) {
    entry = static_cast<size_t>(at);
    for (size_t axis = dims.size(); axis-- > 0;) {
      at += strides[axis];
      if (++index[axis] < dims[axis])
        break;
      at -= strides[axis] * dims[axis];
      index[axis] = 0;
    }
  }
  return map;
}

int64_t integerOf(DType dtype, uint64_t bits) {
  unsigned width = bitWidth(dtype);
  if (!isSignedInteger(dtype) || width == 64)
    return static_cast<int64_t>(bits);
  uint64_t sign = uint64_t(1) << (width - 1);
  return static_cast<int64_t>((bits ^ sign) - sign);
}

uint64_t bitsOf(DType dtype, int64_t value) {
  unsigned width = bitWidth(dtype);
  uint64_t bits = static_cast<uint64_t>(value);
  return width == 64 ? bits : bits & ((uint64_t(1) << width) - 1);
}

uint64_t elementBits(DType dtype, Real value) {
  if (isFloat(dtype))
    return encode(dtype, value);
  if (dtype == DType::U64)
    return static_cast<uint64_t>(value);
  return bitsOf(dtype, static_cast<int64_t>(value));
}

Real numberOf(DType dtype, uint64_t bits) {
  if (isFloat(dtype))
    return decode(dtype, bits);
  if (dtype == DType::U64)
    return static_cast<Real>(bits);
  return static_cast<Real>(integerOf(dtype, bits));
}

Numbers::Numbers(const Value &value, bool unrounded) : value_(value) {
  bool narrow = isFloat(value.dtype) && bitWidth(value.dtype) <= 16;
  if (!value.bounded.empty() && (!value.exact || unrounded || narrow))
    bounded_ = &value.bounded;
  if (isFloat(value.dtype))
    max_ = formatOf(value.dtype).max;
}

MidRad Numbers::edge(const MidRad &x) const {
  if (std::fabs(x.v) + x.e <= max_ || !std::isfinite(x.v) ||
      !std::isfinite(x.e))
    return x;
  bool wide = bitWidth(value_.dtype) > 16;
  if (wide && std::fabs(x.v) - x.e > max_ * (1 + 0x1p-20L))
    return {std::copysign(infinity, x.v), 0};
  return formatOf(value_.dtype).hasInfinity ? anyNumber(x.v) : anything();
}

Arithmetic Step::arithmetic(DType type) const {
  Arithmetic result(type, numerics, declaration.strict);
  Real sums = 0;
  for (const char *name : {"REDUCE", "DOT"})
    sums = std::max(sums, Arithmetic(type, declaration.of(name, type)).u);
  result.sumU = std::min(result.u, sums);
  return result;
}

Value Step::exact(DType type) const {
  Value value;
  value.dtype = type;
  value.dims = dims;
  value.bits.resize(countOf(dims));
  return value;
}

Value Step::inexact(DType type) const {
  Value value;
  value.dtype = type;
  value.dims = dims;
  value.exact = false;
  value.bounded.resize(countOf(dims));
  return value;
}

Result<Sizes> Step::sizes(std::string_view attribute) const {
  Sizes result;
  for (const Dim &dim : op.dims(attribute)) {
    auto size = dim.evaluate(symbols);
    if (!size)
      return size.status();
    result.push_back(*size);
  }
  return result;
}

MidRad roundedTo(const Numerics &numerics, DType dtype, const MidRad &x,
                 Real ulps) {
  if (!std::isfinite(x.v) || !std::isfinite(x.e))
    return x;
  const FloatFormat &format = formatOf(dtype);
  if (x.e == 0 && ulps == 0.5L && decode(dtype, encode(dtype, x.v)) == x.v)
    return x;
  Real scale = numerics.roundsToZero ? 2 * ulps : ulps;
  Real e = x.e + scale * ulp(format, std::fabs(x.v) + x.e);
  if (ulps > 0.5L || x.e > 0)
    e += smallest(format, false);
  Real normal = smallest(format, true);
  if (numerics.flushesOutput && std::fabs(x.v) - e < normal)
    e = std::max(e, std::min(std::fabs(x.v), normal) + x.e);
  return {x.v, e};
}

void settle(Value &value) {
  for (const MidRad &x : value.bounded)
    if (x.e != 0 || (isFloat(value.dtype) && !std::isnan(x.v) &&
                     decode(value.dtype, encode(value.dtype, x.v)) != x.v))
      return;
  value.bits.resize(value.bounded.size());
  for (size_t i = 0; i < value.bits.size(); ++i)
    value.bits[i] = elementBits(value.dtype, value.bounded[i].v);
  value.bounded.clear();
  value.exact = true;
}

} // namespace backplane::conformance
