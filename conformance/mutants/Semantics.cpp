// SPDX-License-Identifier: Apache-2.0
//
// Mutants 28 to 35: values that are taken for other values.
#include "Contract.h"

#include "sdk/graph/OpTable.h"

#include <algorithm>
#include <cmath>

namespace backplane::mutants {

using namespace conformance;

namespace {

/// 28
bool loseNan(const Call &call) {
  if ((!call.is("max") && !call.is("min")) || !isFloat(call.out().dtype))
    return false;
  (void)call.run();
  for (size_t i = 0; i < call.out().elementCount(); ++i)
    for (size_t side : {0, 1})
      if (std::isnan(numberAt(call.in(side), i)))
        storeBits(call.out(), i, loadBits(call.in(1 - side), i));
  return true;
}

/// 61, as 28 in reductions and pools.
bool loseNanInReductions(const Call &call) {
  if ((!call.is("reduce") && !call.is("pool")) || !isFloat(call.in(0).dtype) ||
      !call.op.string("kind").starts_with("m"))
    return false;
  Tensor x = call.in(0);
  Real other = call.op.string("kind") == "max" ? -INFINITY : INFINITY;
  for (size_t i = 0; i < x.elementCount(); ++i)
    if (std::isnan(numberAt(x, i)))
      setNumber(x, i, other);
  (void)call.runWith(0, x);
  return true;
}

/// 29
bool loseMinusZero(const Call &call) {
  const OpSpec *spec = findOp(call.op.name);
  if (!spec || !spec->elementwise || call.is("select") ||
      !isFloat(call.out().dtype))
    return false;
  (void)call.run();
  for (size_t i = 0; i < call.out().elementCount(); ++i)
    if (numberAt(call.out(), i) == 0)
      storeBits(call.out(), i, 0);
  return true;
}

/// 30
bool takeLastTie(const Call &call) {
  if (!call.is("arg_reduce") || call.op.i64("last"))
    return false;
  (void)call.run();
  const Tensor &x = call.in(0);
  size_t axis = size_t(call.op.i64("axis"));
  size_t inner = countOf({x.dims.begin() + axis + 1, x.dims.end()});
  size_t length = size_t(x.dims[axis]);
  for (size_t i = 0; i < call.out().elementCount(); ++i) {
    size_t row = i / inner * length * inner + i % inner;
    Real best = numberAt(x, row + size_t(integerAt(call.out(), i)) * inner);
    for (size_t k = 0; k < length; ++k)
      if (numberAt(x, row + k * inner) == best)
        setInteger(call.out(), i, int64_t(k));
  }
  return true;
}

/// 31
bool confuseSigns(const Call &call) {
  if (!call.is("cast") || call.in(0).dtype != DType::U8)
    return false;
  Tensor x = call.in(0);
  x.dtype = DType::I8;
  for (size_t i = 0; i < x.elementCount(); ++i)
    setNumber(call.out(), i, Real(integerAt(x, i)));
  return true;
}

void swapNibbles(Tensor &tensor) {
  for (uint8_t &byte : tensor.data)
    byte = uint8_t(byte << 4 | byte >> 4);
}

/// 32
bool confuseNibbles(const Call &call) {
  if (!call.is("cast") || bitWidth(call.in(0).dtype) != 4)
    return false;
  Tensor x = call.in(0);
  swapNibbles(x);
  (void)call.runWith(0, x);
  return true;
}

/// 33
bool saturateIntegers(const Call &call) {
  DType dtype = call.out().dtype;
  unsigned bits = bitWidth(dtype);
  if ((!call.is("add") && !call.is("sub") && !call.is("mul")) ||
      !isSignedInteger(dtype) || bits > 32)
    return false;
  int64_t high = (int64_t(1) << (bits - 1)) - 1;
  for (size_t i = 0; i < call.out().elementCount(); ++i) {
    int64_t a = integerAt(call.in(0), i), b = integerAt(call.in(1), i);
    int64_t value = call.is("add") ? a + b : call.is("sub") ? a - b : a * b;
    setInteger(call.out(), i, std::clamp(value, -high - 1, high));
  }
  return true;
}

/// 34
bool roundHalfAway(const Call &call) {
  if (!call.is("round_even"))
    return false;
  for (size_t i = 0; i < call.out().elementCount(); ++i)
    setNumber(call.out(), i, std::round(numberAt(call.in(0), i)));
  return true;
}

/// 35
bool padZero(const Call &call) { return contract(call, {.padsRaw = true}); }

/// 62
bool compareNanEqual(const Call &call) {
  if (!call.is("compare") || call.op.string("direction") != "ne" ||
      !isFloat(call.in(0).dtype))
    return false;
  (void)call.run();
  for (size_t i = 0; i < call.out().elementCount(); ++i)
    if (loadBits(call.in(0), i) == loadBits(call.in(1), i))
      setInteger(call.out(), i, 0);
  return true;
}

/// 63
bool wrapCasts(const Call &call) {
  DType to = call.out().dtype;
  if (!call.is("cast") || !isFloat(call.in(0).dtype) || isFloat(to) ||
      to == DType::Bool)
    return false;
  (void)call.run();
  for (size_t i = 0; i < call.out().elementCount(); ++i) {
    Real value = std::trunc(numberAt(call.in(0), i));
    if (std::fabs(value) < 0x1p62L)
      setInteger(call.out(), i, int64_t(value));
  }
  return true;
}

/// 64
bool floorQuotients(const Call &call) {
  if ((!call.is("div") && !call.is("rem")) ||
      !isSignedInteger(call.out().dtype))
    return false;
  (void)call.run();
  for (size_t i = 0; i < call.out().elementCount(); ++i) {
    int64_t a = integerAt(call.in(0), i), b = integerAt(call.in(1), i);
    if (b == 0 || b == -1 || a % b == 0 || (a < 0) == (b < 0))
      continue;
    setInteger(call.out(), i, call.is("div") ? a / b - 1 : a % b + b);
  }
  return true;
}

} // namespace

Runs semanticsMutants() {
  return {
      {28, loseNan},         {29, loseMinusZero},  {30, takeLastTie},
      {31, confuseSigns},    {32, confuseNibbles}, {33, saturateIntegers},
      {34, roundHalfAway},   {35, padZero},        {61, loseNanInReductions},
      {62, compareNanEqual}, {63, wrapCasts},      {64, floorQuotients}};
}

} // namespace backplane::mutants
