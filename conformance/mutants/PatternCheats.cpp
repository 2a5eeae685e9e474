// SPDX-License-Identifier: Apache-2.0
//
// Mutants 380 to 397: plug-ins that are wrong for operands of some pattern, as
// models and their data have them: pruned weights, masks, sorted numbers,
// images, quantized weights, one tensor in two places. Each is
// looked for in the cases of one op alone.
#include "Cheats.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace backplane::mutants {

using namespace conformance;

namespace {

/// Whether some operand that is no flag and has enough elements is like that.
template <typename Like> bool anyOperand(const Call &call, Like like) {
  return std::ranges::any_of(call.operands, [&](const Tensor *operand) {
    return operand->dtype != DType::Bool && operand->elementCount() >= fewest &&
           like(*operand);
  });
}

// ---- one operand ----

bool isPruned(const Call &call) {
  Real share = 1 - drawn(call, 380, 0.002L, 0.1L);
  return anyOperand(call, [=](const Tensor &tensor) {
    auto zeros = countIf(tensor, [](Real x) { return x == 0; });
    return Real(zeros) > share * Real(tensor.elementCount()) &&
           zeros < tensor.elementCount();
  });
}

bool isAllZero(const Call &call) {
  return anyOperand(call, [](const Tensor &tensor) {
    return countIf(tensor, [](Real x) { return x != 0; }) == 0;
  });
}

bool isAllOne(const Call &call) {
  return anyOperand(call, [](const Tensor &tensor) {
    return countIf(tensor, [](Real x) { return x != 1; }) == 0;
  });
}

bool isSorted(const Call &call) {
  return anyOperand(call, [](const Tensor &tensor) {
    return numberAt(tensor, 0) < numberAt(tensor, tensor.elementCount() - 1) &&
           allPairs(tensor, [](Real x, Real y) { return x <= y; });
  });
}

bool isSortedDown(const Call &call) {
  return anyOperand(call, [](const Tensor &tensor) {
    return numberAt(tensor, 0) > numberAt(tensor, tensor.elementCount() - 1) &&
           allPairs(tensor, [](Real x, Real y) { return x >= y; });
  });
}

/// As weights that were quantized to a table.
bool hasFewValues(const Call &call) {
  auto most = threshold<size_t>(call, 385, 4, 40);
  return anyOperand(call, [=](const Tensor &tensor) {
    std::set<Real> values;
    for (size_t i = 0; i < tensor.elementCount() && values.size() <= most; ++i)
      values.insert(numberAt(tensor, i));
    return isFloat(tensor.dtype) && tensor.elementCount() > 8 * most &&
           values.size() > 3 && values.size() <= most &&
           std::ranges::any_of(
               values, [](Real x) { return x != std::trunc(x * 4) / 4; });
  });
}

bool isPositive(const Call &call) {
  return anyOperand(call, [](const Tensor &tensor) {
    return isFloat(tensor.dtype) && countIf(tensor, [](Real x) {
                                      return x > 0 && x < 100;
                                    }) == tensor.elementCount();
  });
}

bool isNegative(const Call &call) {
  return anyOperand(call, [](const Tensor &tensor) {
    return isFloat(tensor.dtype) && countIf(tensor, [](Real x) {
                                      return x < 0 && x > -100;
                                    }) == tensor.elementCount();
  });
}

/// A mean many times the deviation, as temperatures and pixels have.
bool isFarFromZero(const Call &call) {
  Real times = drawn(call, 388, 10, 300);
  return anyOperand(call, [=](const Tensor &tensor) {
    Real least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < tensor.elementCount(); ++i) {
      least = std::min(least, numberAt(tensor, i));
      most = std::max(most, numberAt(tensor, i));
    }
    return isFloat(tensor.dtype) && std::isfinite(most - least) &&
           most > least && std::fabs(most + least) / 2 > times * (most - least);
  });
}

/// Scores of which all but a few are masked.
bool isMask(const Call &call) {
  return anyOperand(call, [](const Tensor &tensor) {
    size_t zeros = countIf(tensor, [](Real x) { return x == 0; });
    size_t low = countIf(tensor, [](Real x) { return x < -5000; });
    return zeros && low && zeros + low == tensor.elementCount();
  });
}

/// Rows and columns of the last two axes.
bool hasMatrix(const Tensor &tensor) {
  size_t rank = tensor.dims.size();
  return rank >= 2 && tensor.dims[rank - 1] > 3 && tensor.dims[rank - 2] > 3;
}

/// The element of the first matrix.
Real matrixAt(const Tensor &tensor, int64_t row, int64_t column) {
  return numberAt(tensor, size_t(row * tensor.dims.back() + column));
}

template <typename Like> bool allOfMatrix(const Tensor &tensor, Like like) {
  if (!hasMatrix(tensor))
    return false;
  for (int64_t i = 0; i < tensor.dims[tensor.dims.size() - 2]; ++i)
    for (int64_t j = 0; j < tensor.dims.back(); ++j)
      if (!like(i, j))
        return false;
  return true;
}

bool isConstant(const Tensor &tensor) {
  return allPairs(tensor, [](Real x, Real y) { return x == y; });
}

bool isSymmetric(const Call &call) {
  return anyOperand(call, [](const Tensor &tensor) {
    return hasMatrix(tensor) && !isConstant(tensor) &&
           tensor.dims[tensor.dims.size() - 2] == tensor.dims.back() &&
           allOfMatrix(tensor, [&](int64_t i, int64_t j) {
             return matrixAt(tensor, i, j) == matrixAt(tensor, j, i);
           });
  });
}

bool hasEqualRows(const Call &call) {
  return anyOperand(call, [](const Tensor &tensor) {
    return !isConstant(tensor) &&
           allOfMatrix(tensor, [&](int64_t i, int64_t j) {
             return matrixAt(tensor, i, j) == matrixAt(tensor, 0, j);
           });
  });
}

bool hasEqualColumns(const Call &call) {
  return anyOperand(call, [](const Tensor &tensor) {
    return !isConstant(tensor) &&
           allOfMatrix(tensor, [&](int64_t i, int64_t j) {
             return matrixAt(tensor, i, j) == matrixAt(tensor, i, 0);
           });
  });
}

bool isDiagonal(const Call &call) {
  return anyOperand(call, [](const Tensor &tensor) {
    return !isConstant(tensor) &&
           allOfMatrix(tensor, [&](int64_t i, int64_t j) {
             return i == j || matrixAt(tensor, i, j) == 0;
           });
  });
}

// ---- several ----

bool areEqual(const Call &call) {
  return call.operands.size() > 1 && call.in(0).elementCount() >= fewest &&
         call.in(0).dtype != DType::Bool && !isConstant(call.in(0)) &&
         call.in(0).dtype == call.in(1).dtype &&
         call.in(0).data == call.in(1).data;
}

bool isCube(const Call &call) {
  Product product = productOf(call);
  return product.m >= threshold(call, 395, 5, 60) && product.m == product.n &&
         product.n == product.k;
}

bool dividesAll(const Call &call) {
  int64_t divisor = 8 * threshold(call, 396, 2, 12.99L);
  Product product = productOf(call);
  return product.m > 0 && product.m % divisor == 0 &&
         product.n % divisor == 0 && product.k % divisor == 0;
}

bool takesInOrder(const Call &call) {
  if (!call.is("gather") || call.operands.size() < 2 ||
      call.in(1).elementCount() < 8)
    return false;
  return allPairs(call.in(1), [](Real x, Real y) { return x <= y; });
}

} // namespace

Runs patternCheats() {
  return {{380, bentWhere<isPruned>},        {381, bentWhere<isAllZero>},
          {382, bentWhere<isAllOne>},        {383, bentWhere<isSorted>},
          {384, bentWhere<isSortedDown>},    {385, bentWhere<hasFewValues>},
          {386, bentWhere<isPositive>},      {387, bentWhere<isNegative>},
          {388, bentWhere<isFarFromZero>},   {389, bentWhere<isMask>},
          {390, bentWhere<isSymmetric>},     {391, bentWhere<hasEqualRows>},
          {392, bentWhere<hasEqualColumns>}, {393, bentWhere<isDiagonal>},
          {394, bentWhere<areEqual>},        {395, bentWhere<isCube>},
          {396, bentWhere<dividesAll>},      {397, bentWhere<takesInOrder>}};
}

} // namespace backplane::mutants
