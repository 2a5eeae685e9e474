// SPDX-License-Identifier: Apache-2.0
//
// Mutants 72 and on: faults that code of this project had and lost again.
#include "Mutant.h"

#include <cmath>

namespace backplane::mutants {

using namespace conformance;

namespace {

/// 72: the lesser zero loses; a compare and a select find the zeros equal.
bool mixZeros(const Call &call) {
  if ((!call.is("min") && !call.is("max")) || !isFloat(call.out().dtype))
    return false;
  (void)call.run();
  for (size_t i = 0; i < call.out().elementCount(); ++i)
    if (numberAt(call.in(0), i) == 0 && numberAt(call.in(1), i) == 0)
      storeBits(call.out(), i, loadBits(call.in(1), i));
  return true;
}

/// 73
bool spoilFarAngles(const Call &call) {
  if (!call.is("sin") && !call.is("cos"))
    return false;
  (void)call.run();
  for (size_t i = 0; i < call.out().elementCount(); ++i)
    if (std::fabs(numberAt(call.in(0), i)) > 0x1p45L &&
        std::isfinite(numberAt(call.in(0), i)))
      setNumber(call.out(), i, 0);
  return true;
}

/// 74
bool cutSigmoid(const Call &call) {
  if (call.out().dtype != DType::F32)
    return false;
  for (size_t i = 0; i < call.out().elementCount(); ++i) {
    Real x = numberAt(call.in(0), i);
    Real cut = std::isnan(x) ? x : std::fmax(-16, x);
    setNumber(call.out(), i, 1 / (1 + std::exp(-cut)));
  }
  return true;
}

/// 75
bool shareBytes(const Call &call) {
  const Tensor &x = call.out();
  size_t count = x.elementCount();
  if (bitWidth(x.dtype) != 4 || count < 3 || call.is("constant"))
    return false;
  (void)call.run();
  for (size_t i = 1; i < count; i += 32) // a task that began in mid-byte
    storeBits(call.out(), i - i % 2, 0);
  return true;
}

/// 76
bool loseInfiniteTop(const Call &call) {
  if (!call.is("sub") || !isFloat(call.out().dtype))
    return false;
  (void)call.run();
  for (size_t i = 0; i < call.out().elementCount(); ++i) {
    Real a = numberAt(call.in(0), i), b = numberAt(call.in(1), i);
    if (std::isinf(a) && a == b)
      setNumber(call.out(), i, 0);
  }
  return true;
}

/// 77
bool tanhBySmallQuotient(const Call &call) {
  if (!call.is("tanh") || call.out().dtype != DType::F32)
    return false;
  for (size_t i = 0; i < call.out().elementCount(); ++i) {
    Real x = numberAt(call.in(0), i);
    Real e = rounded(DType::F32, std::exp(2 * x));
    setNumber(call.out(), i,
              std::isinf(e)
                  ? 1
                  : rounded(DType::F32, e - 1) / rounded(DType::F32, e + 1));
  }
  return true;
}

/// 78
bool roundEachStep(const Call &call) {
  if (!call.is("cumulative") || call.op.string("kind") != "sum" ||
      (call.out().dtype != DType::F16 && call.out().dtype != DType::BF16) ||
      call.op.i64("exclusive") || call.op.i64("reverse"))
    return false;
  const Tensor &x = call.in(0);
  size_t axis = size_t(call.op.i64("axis"));
  size_t inner = countOf({x.dims.begin() + axis + 1, x.dims.end()});
  size_t row = inner * size_t(x.dims[axis]);
  for (size_t i = 0; i < x.elementCount(); ++i) {
    Real before = i % row < inner ? 0 : numberAt(call.out(), i - inner);
    setNumber(call.out(), i, before + numberAt(x, i));
  }
  return true;
}

} // namespace

Runs regressionMutants() {
  return {{72, mixZeros},     {73, spoilFarAngles},  {74, cutSigmoid},
          {75, shareBytes},   {76, loseInfiniteTop}, {77, tanhBySmallQuotient},
          {78, roundEachStep}};
}

} // namespace backplane::mutants
