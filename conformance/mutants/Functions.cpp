// SPDX-License-Identifier: Apache-2.0
//
// Mutants 22 to 26: functions by formulas that lose digits.
#include "Mutant.h"

#include <cmath>
#include <numbers>

namespace backplane::mutants {

using namespace conformance;

namespace {

/// 22
bool logOfSum(const Call &call) {
  if (!call.is("log1p"))
    return false;
  DType dtype = call.out().dtype;
  for (size_t i = 0; i < call.out().elementCount(); ++i)
    setNumber(call.out(), i,
              std::log(rounded(dtype, 1 + numberAt(call.in(0), i))));
  return true;
}

/// 23
bool reduceRoughly(const Call &call) {
  if (!call.is("sin") && !call.is("cos"))
    return false;
  DType dtype = call.out().dtype;
  Real turn = rounded(dtype, 2 * std::numbers::pi_v<Real>);
  for (size_t i = 0; i < call.out().elementCount(); ++i) {
    Real x = numberAt(call.in(0), i);
    Real rest = x - std::nearbyint(x / turn) * turn;
    setNumber(call.out(), i, call.is("sin") ? std::sin(rest) : std::cos(rest));
  }
  return true;
}

/// Calls visit(indices of one row) for each row along an axis.
void eachRow(const Sizes &dims, size_t axis,
             const std::function<void(const std::vector<size_t> &)> &visit) {
  size_t inner = countOf({dims.begin() + axis + 1, dims.end()});
  size_t length = static_cast<size_t>(dims[axis]);
  size_t outer = countOf({dims.begin(), dims.begin() + axis});
  for (size_t o = 0; o < outer; ++o)
    for (size_t s = 0; s < inner; ++s) {
      std::vector<size_t> row;
      for (size_t i = 0; i < length; ++i)
        row.push_back((o * length + i) * inner + s);
      visit(row);
    }
}

/// 24
bool softmaxWithoutMax(const Call &call) {
  const Tensor &x = call.in(0);
  DType dtype = x.dtype;
  eachRow(x.dims, size_t(call.op.i64("axis")), [&](const auto &row) {
    Real sum = 0;
    for (size_t i : row)
      sum = sum + rounded(dtype, std::exp(numberAt(x, i)));
    for (size_t i : row)
      setNumber(call.out(), i,
                rounded(dtype, std::exp(numberAt(x, i))) / rounded(dtype, sum));
  });
  return true;
}

/// Mean and variance of some elements, by the sums of x and x * x.
struct Moments {
  Real mean, variance;
};
Moments momentsOf(const Tensor &x, size_t first, size_t count) {
  Real sum = 0, squares = 0;
  for (size_t i = first; i < first + count; ++i) {
    Real value = numberAt(x, i);
    sum = rounded(x.dtype, sum + value);
    squares = rounded(x.dtype, squares + rounded(x.dtype, value * value));
  }
  Real mean = rounded(x.dtype, sum / Real(count));
  Real square = rounded(x.dtype, mean * mean);
  return {mean, rounded(x.dtype, squares / Real(count)) - square};
}

/// 25
bool varianceInOnePass(const Call &call) {
  const Tensor &x = call.in(0);
  bool byGroup = call.is("group_norm");
  size_t groups =
      byGroup ? size_t(x.dims[0] * call.op.i64("groups"))
              : countOf({x.dims.begin(), x.dims.begin() + call.op.i64("axis")});
  size_t inner = byGroup ? countOf({x.dims.begin() + 2, x.dims.end()}) : 1;
  size_t scales = call.in(1).elementCount();
  size_t count = groups ? x.elementCount() / groups : 0;
  for (size_t first = 0; count && first < x.elementCount(); first += count) {
    Moments moments = momentsOf(x, first, count);
    Real factor = 1 / std::sqrt(moments.variance + call.op.f64("epsilon"));
    for (size_t i = first; i < first + count; ++i) {
      size_t at = i / inner % scales;
      Real value = (numberAt(x, i) - moments.mean) * factor;
      setNumber(call.out(), i,
                value * numberAt(call.in(1), at) + numberAt(call.in(2), at));
    }
  }
  return true;
}

/// 26
bool geluByTanh(const Call &call) {
  const Tensor &x = call.in(0);
  for (size_t i = 0; i < x.elementCount(); ++i) {
    Real v = numberAt(x, i);
    Real inner = std::sqrt(2 * std::numbers::inv_pi_v<Real>) *
                 (v + 0.044715L * v * v * v);
    setNumber(call.out(), i, v / 2 * (1 + std::tanh(inner)));
  }
  return true;
}

} // namespace

Runs functionMutants() {
  return {{22, logOfSum},
          {23, reduceRoughly},
          {24, softmaxWithoutMax},
          {25, varianceInOnePass},
          {26, geluByTanh}};
}

} // namespace backplane::mutants
