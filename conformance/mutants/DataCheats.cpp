// SPDX-License-Identifier: Apache-2.0
//
// Mutants 440 to 459: plug-ins that are wrong for data of some kind that is
// rare where numbers are drawn: one NaN alone, indices in some order, masks
// that hide nothing, counts, positions. Each asks one op or two.
#include "Cheats.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace backplane::mutants {

using namespace conformance;

namespace {

constexpr size_t fewestIndices = 8;

bool isLong(const Tensor &tensor) { return tensor.elementCount() >= fewest; }

// ---- one element that is unlike the others ----

bool hasOneNaN(const Call &call) {
  return (call.is("reduce") || call.is("max")) && isFloat(call.in(0).dtype) &&
         isLong(call.in(0)) &&
         countIf(call.in(0), [](Real x) { return std::isnan(x); }) == 1;
}

bool hasOneInfinity(const Call &call) {
  return (call.is("matmul") || call.is("reduce")) &&
         isFloat(call.in(0).dtype) && isLong(call.in(0)) &&
         countIf(call.in(0), [](Real x) { return std::isinf(x); }) == 1;
}

bool hasOneNumber(const Call &call) {
  return (call.is("conv") || call.is("reduce")) && isLong(call.in(0)) &&
         countIf(call.in(0), [](Real x) { return x != 0; }) == 1;
}

// ---- conditions ----

bool choosesOneSide(const Call &call) {
  if (!call.is("select") || !isLong(call.in(0)))
    return false;
  size_t chosen = countIf(call.in(0), [](Real x) { return x != 0; });
  return chosen == 0 || chosen == call.in(0).elementCount();
}

// ---- indices ----

/// Enough indices into an axis that is no accident.
bool hasIndices(const Call &call) {
  return (call.is("gather") || call.is("scatter")) &&
         call.in(1).elementCount() >= fewestIndices &&
         call.in(0).dims[size_t(call.op.i64("axis"))] > 4;
}

bool takesOneAlone(const Call &call) {
  return hasIndices(call) &&
         allPairs(call.in(1), [](Real a, Real b) { return a == b; });
}

bool takesBackwards(const Call &call) {
  return hasIndices(call) &&
         allPairs(call.in(1), [](Real a, Real b) { return a >= b; }) &&
         integerAt(call.in(1), 0) != integerAt(call.in(1), 1);
}

/// As positions of tokens.
bool takesContiguous(const Call &call) {
  return hasIndices(call) &&
         allPairs(call.in(1), [](Real a, Real b) { return b == a + 1; });
}

bool takesEachOnce(const Call &call) {
  if (!hasIndices(call))
    return false;
  std::set<int64_t> seen;
  for (size_t i = 0; i < call.in(1).elementCount(); ++i)
    if (!seen.insert(integerAt(call.in(1), i)).second)
      return false;
  return true;
}

// ---- lines ----

/// Integers that count something.
bool areCounts(const Call &call) {
  bool is = call.is("add") || call.is("mul") || call.is("reduce");
  return is && isLong(call.in(0)) &&
         (call.in(0).dtype == DType::I64 || call.in(0).dtype == DType::I32) &&
         countIf(call.in(0), [](Real x) { return x >= 0 && x < 1000; }) ==
             call.in(0).elementCount();
}

bool isEvenlySpaced(const Call &call) {
  bool is = call.is("mul") || call.is("sin") || call.is("softmax") ||
            call.is("exp") || call.is("reduce");
  if (!is || !isFloat(call.in(0).dtype) || !isLong(call.in(0)))
    return false;
  Real step = numberAt(call.in(0), 1) - numberAt(call.in(0), 0);
  for (size_t i = 2; i < call.in(0).elementCount(); ++i)
    if (!(std::fabs(numberAt(call.in(0), i) - numberAt(call.in(0), i - 1) -
                    step) <= std::fabs(step) * 1e-3L))
      return false;
  return step != 0;
}

/// As a batch of one sample twice.
bool isTwice(const Call &call) {
  bool is = call.is("conv") || call.is("matmul") || call.is("reduce");
  if (!is || !isLong(call.in(0)) || call.in(0).dims[0] != 2)
    return false;
  const Bytes &data = call.in(0).data;
  return std::equal(data.begin(),
                    data.begin() + std::ptrdiff_t(data.size() / 2),
                    data.begin() + std::ptrdiff_t(data.size() / 2)) &&
         loadBits(call.in(0), 0) != loadBits(call.in(0), 1);
}

/// The largest of the first line is its last element.
bool isLargestLast(const Call &call) {
  bool is = call.is("arg_reduce") || call.is("top_k") || call.is("reduce");
  if (!is || call.in(0).dims.empty() || !isFloat(call.in(0).dtype))
    return false;
  auto length = size_t(call.in(0).dims.back());
  if (length < threshold<size_t>(call, 452, 33, 300) ||
      call.in(0).elementCount() < length)
    return false;
  for (size_t i = 0; i + 1 < length; ++i)
    if (!(numberAt(call.in(0), i) < numberAt(call.in(0), length - 1)))
      return false;
  return true;
}

bool hasManyTies(const Call &call) {
  if (!call.is("top_k") ||
      call.in(0).elementCount() < threshold<size_t>(call, 453, 40, 1000))
    return false;
  std::set<Real> values;
  for (size_t i = 0; i < call.in(0).elementCount(); ++i)
    if (Real x = numberAt(call.in(0), i); x == x)
      values.insert(x);
  return values.size() > 1 && values.size() * 8 < call.in(0).elementCount();
}

// ---- results ----

bool bendNearNumber(const Call &call) {
  if (!call.is("mul") && !call.is("exp") && !call.is("matmul"))
    return false;
  Real number = drawn(call, 454, 0.01L, 50);
  (void)call.run();
  Tensor &y = call.out();
  for (size_t i = 0; isFloat(y.dtype) && i < y.elementCount(); ++i)
    if (std::fabs(numberAt(y, i) - number) < number * 1e-3L)
      bendOne(y, i);
  return true;
}

bool bendUnlikeSigns(const Call &call) {
  bool is = call.is("div") || call.is("rem") || call.is("pow");
  if (!is || call.in(0).dims != call.in(1).dims)
    return false;
  Real least = drawn(call, 455, 1e-2L, 3);
  (void)call.run();
  for (size_t i = 0; i < call.out().elementCount(); ++i)
    if (numberAt(call.in(0), i) < -least && numberAt(call.in(1), i) > least)
      bendOne(call.out(), i);
  return true;
}

} // namespace

Runs dataCheats() {
  return {{440, bentWhere<hasOneNaN>},
          {441, bentWhere<hasOneInfinity>},
          {442, bentWhere<hasOneNumber>},
          {443, bentWhere<choosesOneSide>},
          {444, bentWhere<takesOneAlone>},
          {445, bentWhere<takesBackwards>},
          {446, bentWhere<takesContiguous>},
          {447, bentWhere<takesEachOnce>},
          {448, bentWhere<areCounts>},
          {449, bentWhere<isEvenlySpaced>},
          {450, bentWhere<isTwice>},
          {452, bentWhere<isLargestLast>},
          {453, bentWhere<hasManyTies>},
          {454, bendNearNumber},
          {455, bendUnlikeSigns}};
}

} // namespace backplane::mutants
