// SPDX-License-Identifier: Apache-2.0
//
// Mutants 13 to 21 and 27, and what was added beside them: numbers that are
// rounded, accumulated or converted in another way than declared.
#include "Contract.h"

#include "conformance/oracle/Format.h"
#include "sdk/graph/OpTable.h"

#include <cmath>

namespace backplane::mutants {

using namespace conformance;

namespace {

Real inHalves(const Operands &operands) {
  Real sum = 0;
  for (size_t i = 0; i < operands.a.size(); ++i)
    sum = rounded(DType::F16, sum + operands.a[i] * operands.b[i]);
  return sum;
}

bool isF16(DType dtype) { return dtype == DType::F16; }
bool isF32(DType dtype) { return dtype == DType::F32; }

/// 13
bool accumulateInHalves(const Call &call) {
  return contract(call, {.sum = inHalves, .applies = isF16});
}

Real toTf32(DType, Real value) {
  if (!std::isfinite(value) || value == 0)
    return value;
  int exponent;
  Real fraction = std::frexp(value, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, 11)), exponent - 11);
}

/// 14
bool demote(const Call &call) {
  return contract(call, {.operand = toTf32, .applies = isF32});
}

/// Casts from float to float by a function of value and target type.
template <uint64_t (*Store)(DType, Real)> void castBy(const Call &call) {
  for (size_t i = 0; i < call.out().elementCount(); ++i)
    storeBits(call.out(), i, Store(call.out().dtype, numberAt(call.in(0), i)));
}

bool isFloatCast(const Call &call) {
  return call.is("cast") && isFloat(call.in(0).dtype) &&
         isFloat(call.out().dtype);
}

/// 15
bool truncateCasts(const Call &call) {
  DType to = call.out().dtype;
  if (!isFloatCast(call) || (to != DType::F16 && to != DType::F32))
    return false;
  castBy<encodeTowardsZero>(call);
  return true;
}

/// The exact result of an arithmetic op, for one element.
std::optional<Real> arithmetic(const Call &call, size_t i) {
  Real a = numberAt(call.in(0), i);
  if (call.is("cast"))
    return a;
  Real b = call.operands.size() > 1 ? numberAt(call.in(1), i) : 0;
  return call.is("add")   ? std::optional(a + b)
         : call.is("sub") ? std::optional(a - b)
         : call.is("mul") ? std::optional(a * b)
                          : std::nullopt;
}

bool isArithmetic(const Call &call) {
  return call.is("add") || call.is("sub") || call.is("mul") ||
         isFloatCast(call);
}

/// 16
bool truncateBf16(const Call &call) {
  if (!isArithmetic(call) || call.out().dtype != DType::BF16)
    return false;
  for (size_t i = 0; i < call.out().elementCount(); ++i)
    storeBits(call.out(), i,
              encodeTowardsZero(DType::BF16, *arithmetic(call, i)));
  return true;
}

/// 17
bool castTwice(const Call &call) {
  DType from = call.in(0).dtype, to = call.out().dtype;
  if (!isFloatCast(call) || bitWidth(to) > bitWidth(from) / 4)
    return false;
  DType between = bitWidth(from) == 64 ? DType::F32 : DType::F16;
  for (size_t i = 0; i < call.out().elementCount(); ++i)
    setNumber(call.out(), i, rounded(between, numberAt(call.in(0), i)));
  return true;
}

uint64_t saturate(DType dtype, Real value) {
  Real max = formatOf(dtype).max;
  return encode(dtype, std::isnan(value)
                           ? value
                           : std::fmax(-max, std::fmin(max, value)));
}

bool isF8(DType dtype) { return isFloat(dtype) && bitWidth(dtype) == 8; }

/// 18
bool saturateF8(const Call &call) {
  if (!isFloatCast(call) || !isF8(call.out().dtype))
    return false;
  castBy<saturate>(call);
  return true;
}

/// 19: the exponent bias of FNUZ is higher by 1, so numbers are halves.
bool mixFormats(const Call &call) {
  if (!isFloatCast(call) || call.in(0).dtype != DType::F8E4M3FN)
    return false;
  for (size_t i = 0; i < call.out().elementCount(); ++i) {
    bool isNan = loadBits(call.in(0), i) == 0x80;
    setNumber(call.out(), i, isNan ? Real(NAN) : numberAt(call.in(0), i) / 2);
  }
  return true;
}

/// 20
bool flush(const Call &call) {
  const OpSpec *spec = findOp(call.op.name);
  if (!spec || call.out().dtype != DType::F32 ||
      !(isArithmetic(call) || spec->numericClass == "ULP"))
    return false;
  (void)call.run();
  Real least = smallest(formatOf(DType::F32), true);
  for (size_t i = 0; i < call.out().elementCount(); ++i) {
    Real value = numberAt(call.out(), i);
    if (std::fabs(value) < least)
      setNumber(call.out(), i, std::copysign(Real(0), value));
  }
  return true;
}

/// 21
bool multiplyByReciprocal(const Call &call) {
  if (!call.is("div") || call.out().dtype != DType::F32)
    return false;
  for (size_t i = 0; i < call.out().elementCount(); ++i)
    setNumber(call.out(), i,
              numberAt(call.in(0), i) *
                  rounded(DType::F32, 1 / numberAt(call.in(1), i)));
  return true;
}

/// 57
bool estimateReciprocal(const Call &call) {
  if ((!call.is("recip") && !call.is("div")) || call.out().dtype != DType::F32)
    return false;
  for (size_t i = 0; i < call.out().elementCount(); ++i) {
    Real a = call.is("div") ? numberAt(call.in(0), i) : 1;
    Real b = numberAt(call.in(call.operands.size() - 1), i);
    setNumber(call.out(), i, a * toTf32(DType::F32, 1 / b));
  }
  return true;
}

/// 27
bool addThreeUlps(const Call &call) {
  const OpSpec *spec = findOp(call.op.name);
  if (!spec || spec->numericClass != "ULP" || call.out().dtype != DType::F32)
    return false;
  (void)call.run();
  for (size_t i = 0; i < call.out().elementCount(); ++i) {
    Real value = numberAt(call.out(), i);
    if (std::isfinite(value) && value != 0)
      storeBits(call.out(), i, loadBits(call.out(), i) + 3);
  }
  return true;
}

uint64_t roundUp(DType dtype, Real value) {
  uint64_t bits = encodeTowardsZero(dtype, value);
  Real got = decode(dtype, bits);
  return got < value && value > 0 ? bits + 1 : bits;
}

Real exactly(const Operands &operands) {
  Real sum = 0;
  for (size_t i = 0; i < operands.a.size(); ++i)
    sum += operands.a[i] * operands.b[i];
  return sum;
}

/// 58
bool roundSumsUp(const Call &call) {
  return contract(call, {.sum = exactly, .store = roundUp, .applies = isF32});
}

/// 59
bool truncateSums(const Call &call) {
  return contract(
      call,
      {.sum = truncatedInFloats, .store = encodeTowardsZero, .applies = isF32});
}

/// 60
bool narrowAccumulator(const Call &call) {
  return contract(call, {.sum = fusedInFloats, .applies = isF32});
}

} // namespace

Runs numericsMutants() {
  return {{13, accumulateInHalves},
          {14, demote},
          {15, truncateCasts},
          {16, truncateBf16},
          {17, castTwice},
          {18, saturateF8},
          {19, mixFormats},
          {20, flush},
          {21, multiplyByReciprocal},
          {27, addThreeUlps},
          {57, estimateReciprocal},
          {58, roundSumsUp},
          {59, truncateSums},
          {60, narrowAccumulator}};
}

} // namespace backplane::mutants
