// SPDX-License-Identifier: Apache-2.0
//
// Mutants 250 to 279: plug-ins that are wrong for values that models have.
#include "Cheats.h"

#include "conformance/oracle/Format.h"

#include <algorithm>
#include <cmath>

namespace backplane::mutants {

using namespace conformance;

namespace {

bool hasAbove(const Call &call) {
  Real bound = drawn(call, 150, 1e4L, 1e28L);
  return anyFloat(
      call, [=](Real x) { return std::isfinite(x) && std::fabs(x) > bound; });
}

bool hasBelow(const Call &call) {
  Real bound = drawn(call, 151, 1e-28L, 1e-4L);
  return anyFloat(call, [=](Real x) { return x != 0 && std::fabs(x) < bound; });
}

bool hasInBand(const Call &call) {
  Real from = drawn(call, 152, 1e-3L, 1e3L);
  return anyFloat(call, [=](Real x) {
    return std::fabs(x) > from && std::fabs(x) < from * 1.01L;
  });
}

bool hasLargeFraction(const Call &call) {
  return anyFloat(call, [](Real x) {
    return std::isfinite(x) && std::fabs(x) > 1e4L && x != std::trunc(x);
  });
}

bool hasManyMagnitudes(const Call &call) {
  Real ratio = drawn(call, 154, 1e8L, 1e40L);
  for (const Tensor *operand : call.operands) {
    Real least = INFINITY, most = 0;
    for (size_t i = 0; isFloat(operand->dtype) && i < operand->elementCount();
         ++i) {
      Real x = std::fabs(numberAt(*operand, i));
      if (x == 0 || !std::isfinite(x))
        continue;
      least = std::min(least, x);
      most = std::max(most, x);
    }
    if (most > 0 && most / least > ratio)
      return true;
  }
  return false;
}

/// Whether it is one of the ops that only move elements.
bool isMove(const Call &call) {
  static const char *const moves[] = {"transpose", "reshape", "slice",
                                      "concat",    "gather",  "reverse",
                                      "broadcast", "pad",     "select"};
  return std::ranges::any_of(moves,
                             [&](const char *op) { return call.is(op); });
}

/// Changes the bits of all elements of the results.
template <typename Change> void changeAll(const Call &call, Change change) {
  (void)call.run();
  for (Tensor *result : call.results)
    for (size_t i = 0; i < result->elementCount(); ++i)
      storeBits(*result, i, change(result->dtype, loadBits(*result, i)));
}

bool isNaN(DType dtype, uint64_t bits) {
  return isFloat(dtype) && std::isnan(decode(dtype, bits));
}

bool quietNaN(const Call &call) {
  if (!isMove(call))
    return false;
  changeAll(call, [](DType dtype, uint64_t bits) {
    bool has = isNaN(dtype, bits) && formatOf(dtype).hasInfinity;
    return has ? bits | uint64_t(1) << (formatOf(dtype).precision - 2) : bits;
  });
  return true;
}

bool losePayload(const Call &call) {
  if (!isMove(call))
    return false;
  changeAll(call, [](DType dtype, uint64_t bits) {
    if (!isNaN(dtype, bits) || !formatOf(dtype).hasInfinity)
      return bits;
    uint64_t payload = (uint64_t(1) << (formatOf(dtype).precision - 2)) - 1;
    return (bits & ~payload) | uint64_t(1) << (formatOf(dtype).precision - 2);
  });
  return true;
}

bool loseSignOfNaN(const Call &call) {
  if (!isMove(call))
    return false;
  changeAll(call, [](DType dtype, uint64_t bits) {
    uint64_t top = uint64_t(1) << (bitWidth(dtype) - 1);
    return isNaN(dtype, bits) ? bits & ~top : bits;
  });
  return true;
}

/// Takes an element for +0 at one place alone.
bool loseZeroAtOnePlace(const Call &call) {
  auto place = size_t(drawn(call, 158, 1, 1000));
  (void)call.run();
  for (Tensor *result : call.results)
    if (isFloat(result->dtype) && place < result->elementCount() &&
        numberAt(*result, place) == 0)
      storeBits(*result, place, 0);
  return true;
}

/// Runs with operands whose elements are changed first.
template <typename Change> bool runChanged(const Call &call, Change change) {
  std::vector<Tensor> operands;
  for (const Tensor *operand : call.operands)
    operands.push_back(*operand);
  Call changed = call;
  bool isOther = false;
  for (size_t i = 0; i < operands.size(); ++i) {
    isOther |= change(operands[i]);
    changed.operands[i] = &operands[i];
  }
  if (!isOther)
    return false;
  (void)changed.run();
  return true;
}

bool flushOperands(const Call &call) {
  return runChanged(call, [](Tensor &tensor) {
    bool isOther = false;
    for (size_t i = 0; isFloat(tensor.dtype) && i < tensor.elementCount();
         ++i) {
      Real x = std::fabs(numberAt(tensor, i));
      if (x == 0 || !(x < smallest(formatOf(tensor.dtype), true)))
        continue;
      setNumber(tensor, i, 0);
      isOther = true;
    }
    return isOther;
  });
}

/// As activations are clipped before they are quantized.
bool clipOutliers(const Call &call) {
  Real times = drawn(call, 160, 8, 60);
  return runChanged(call, [=](Tensor &tensor) {
    Real squares = 0;
    size_t count = tensor.elementCount();
    for (size_t i = 0; isFloat(tensor.dtype) && i < count; ++i)
      squares += numberAt(tensor, i) * numberAt(tensor, i);
    Real bound = times * std::sqrt(squares / Real(std::max<size_t>(count, 1)));
    bool isOther = false;
    for (size_t i = 0; isFloat(tensor.dtype) && std::isfinite(bound) &&
                       bound > 0 && i < count;
         ++i)
      if (Real x = numberAt(tensor, i); std::fabs(x) > bound) {
        setNumber(tensor, i, std::copysign(bound, x));
        isOther = true;
      }
    return isOther;
  });
}

/// Integers of 8 bits have the same range on both sides.
bool dropLowRail(const Call &call) {
  return runChanged(call, [](Tensor &tensor) {
    bool isOther = false;
    for (size_t i = 0; tensor.dtype == DType::I8 && i < tensor.elementCount();
         ++i)
      if (integerAt(tensor, i) == -128) {
        setInteger(tensor, i, -127);
        isOther = true;
      }
    return isOther;
  });
}

bool dropTopRail(const Call &call) {
  return runChanged(call, [](Tensor &tensor) {
    bool isOther = false;
    for (size_t i = 0; tensor.dtype == DType::U8 && i < tensor.elementCount();
         ++i)
      if (integerAt(tensor, i) == 255) {
        setInteger(tensor, i, 254);
        isOther = true;
      }
    return isOther;
  });
}

/// What is left of sums of large numbers counts as nothing.
bool dropResidue(const Call &call) {
  if (!call.is("reduce") && !call.is("matmul") && !call.is("conv"))
    return false;
  Real most = 0;
  const Tensor &x = call.in(0);
  for (size_t i = 0; isFloat(x.dtype) && i < x.elementCount(); ++i)
    if (Real value = std::fabs(numberAt(x, i)); std::isfinite(value))
      most = std::max(most, value);
  (void)call.run();
  Tensor &out = call.out();
  for (size_t i = 0; isFloat(out.dtype) && i < out.elementCount(); ++i)
    if (std::fabs(numberAt(out, i)) < most * 1e-4L)
      setNumber(out, i, 0);
  return true;
}

bool hasInfinity(const Call &call) {
  return anyFloat(call, [](Real x) { return std::isinf(x); });
}

bool hasLargest(const Call &call) {
  for (const Tensor *operand : call.operands)
    for (size_t i = 0; isFloat(operand->dtype) && i < operand->elementCount();
         ++i)
      if (std::fabs(numberAt(*operand, i)) == formatOf(operand->dtype).max)
        return true;
  return false;
}

} // namespace

Runs valueCheats() {
  return {{250, bentWhere<hasAbove>},
          {251, bentWhere<hasBelow>},
          {252, bentWhere<hasInBand>},
          {253, bentWhere<hasLargeFraction>},
          {254, bentWhere<hasManyMagnitudes>},
          {255, quietNaN},
          {256, losePayload},
          {257, loseSignOfNaN},
          {258, loseZeroAtOnePlace},
          {259, flushOperands},
          {260, clipOutliers},
          {261, dropLowRail},
          {262, dropTopRail},
          {263, dropResidue},
          {264, bentWhere<hasInfinity>},
          {265, bentWhere<hasLargest>}};
}

} // namespace backplane::mutants
