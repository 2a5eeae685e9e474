// SPDX-License-Identifier: Apache-2.0
//
// Mutants 130 to 138: intermediates as narrow as the operands, and products
// with the zeros of paddings and masks.
#include "Mutant.h"

#include <cmath>
#include <limits>

namespace backplane::mutants {

using namespace conformance;

namespace {

bool isNarrow(DType dtype) {
  return dtype == DType::F16 || dtype == DType::BF16;
}

// ---- norms ----

/// The steps of a norm; each may be rounded to the dtype of x.
struct NormRules {
  bool meanIsNarrow = false, squaresAreNarrow = false;
  bool varianceIsNarrow = false;
};

class Norm {
public:
  Norm(const Call &call, const NormRules &rules)
      : call_(call), x_(call.in(0)), rules_(rules) {}

  void run() {
    bool byGroup = call_.is("group_norm");
    auto axis = byGroup ? 0 : call_.op.i64("axis");
    size_t lines = byGroup ? size_t(x_.dims[0] * call_.op.i64("groups"))
                           : countOf({x_.dims.begin(), x_.dims.begin() + axis});
    inner_ = byGroup ? countOf({x_.dims.begin() + 2, x_.dims.end()}) : 1;
    size_t count = lines ? x_.elementCount() / lines : 0;
    for (size_t at = 0; count && at < x_.elementCount(); at += count)
      line(at, count);
  }

private:
  Real sum(size_t first, size_t count, Real mean, bool squares, bool narrow) {
    Real total = 0;
    for (size_t i = first; i < first + count; ++i) {
      Real term = numberAt(x_, i) - mean;
      if (squares)
        term = step(term * term, rules_.squaresAreNarrow);
      total = step(total + term, narrow);
    }
    return total / Real(count);
  }
  Real step(Real value, bool narrow) const {
    return narrow ? rounded(x_.dtype, value) : value;
  }
  void line(size_t first, size_t count) {
    bool centres = !call_.is("rms_norm");
    Real mean = centres ? step(sum(first, count, 0, false, rules_.meanIsNarrow),
                               rules_.meanIsNarrow)
                        : 0;
    Real variance = sum(first, count, mean, true, rules_.varianceIsNarrow);
    Real factor = 1 / std::sqrt(variance + call_.op.f64("epsilon"));
    for (size_t i = first; i < first + count; ++i) {
      size_t at = i / inner_ % call_.in(1).elementCount();
      Real value =
          (numberAt(x_, i) - mean) * factor * numberAt(call_.in(1), at);
      setNumber(call_.out(), i,
                value + (centres ? numberAt(call_.in(2), at) : 0));
    }
  }

  const Call &call_;
  const Tensor &x_;
  NormRules rules_;
  size_t inner_ = 1;
};

/// A composite must be computed here: other dtypes by the rules of none.
bool norm(const Call &call, NormRules rules, DType dtype) {
  if (!call.is("layer_norm") && !call.is("group_norm") && !call.is("rms_norm"))
    return false;
  Norm(call, call.in(0).dtype == dtype ? rules : NormRules()).run();
  return true;
}

/// 130
bool narrowMean(const Call &call) {
  return norm(call, {.meanIsNarrow = true}, DType::F16);
}

/// 131
bool narrowSquares(const Call &call) {
  return norm(call, {.squaresAreNarrow = true}, DType::F16);
}

/// 132
bool narrowVariance(const Call &call) {
  return norm(call, {.varianceIsNarrow = true}, DType::BF16);
}

// ---- sums ----

/// Calls visit(elements of x) for each window of a pool without padding.
bool poolByLoops(const Call &call) {
  auto window = call.op.i64s("window"), strides = call.op.i64s("strides");
  for (const char *name : {"low", "high"})
    for (int64_t size : call.op.i64s(name))
      if (size != 0)
        return false;
  for (int64_t dilation : call.op.i64s("dilations"))
    if (dilation != 1)
      return false;
  const Tensor &x = call.in(0);
  Tensor &out = call.out();
  Sizes strideX = stridesOf(x.dims), strideOut = stridesOf(out.dims);
  for (size_t o = 0; o < out.elementCount(); ++o) {
    int64_t first = 0;
    for (size_t axis = 0; axis < x.dims.size(); ++axis) {
      int64_t at = int64_t(o) / strideOut[axis] % out.dims[axis];
      first += at * (axis < 2 ? 1 : strides[axis - 2]) * strideX[axis];
    }
    Real sum = 0;
    for (int64_t w = 0; w < int64_t(countOf(window)); ++w) {
      int64_t at = first, rest = w;
      for (size_t axis = window.size(); axis-- > 0; rest /= window[axis])
        at += rest % window[axis] * strideX[axis + 2];
      sum = rounded(x.dtype, sum + numberAt(x, size_t(at)));
    }
    setNumber(out, o, sum);
  }
  return true;
}

/// 133
bool poolInDType(const Call &call) {
  return call.is("pool") && isNarrow(call.in(0).dtype) &&
         call.op.string("kind") == "sum" && poolByLoops(call);
}

/// 134
bool reduceInDType(const Call &call) {
  if (!call.is("reduce") || !isNarrow(call.in(0).dtype))
    return false;
  bool isSum = call.op.string("kind") == "sum";
  if (!isSum && call.op.string("kind") != "prod")
    return false;
  const Tensor &x = call.in(0);
  Sizes kept = x.dims;
  for (int64_t axis : call.op.i64s("axes"))
    kept[size_t(axis)] = 1;
  Sizes to = stridesOf(kept);
  for (int64_t axis : call.op.i64s("axes"))
    to[size_t(axis)] = 0;
  std::vector<size_t> map = affine(x.dims, 0, to);
  for (size_t i = 0; i < call.out().elementCount(); ++i)
    setNumber(call.out(), i, isSum ? 0 : 1);
  for (size_t i = 0; i < map.size(); ++i) {
    Real before = numberAt(call.out(), map[i]), next = numberAt(x, i);
    setNumber(call.out(), map[i], isSum ? before + next : before * next);
  }
  return true;
}

/// 135
bool scatterInDType(const Call &call) {
  std::string how = call.is("scatter") ? call.op.string("combine") : "";
  if ((how != "add" && how != "mul") || !isNarrow(call.in(0).dtype))
    return false;
  const Tensor &x = call.in(0), &indices = call.in(1), &updates = call.in(2);
  auto axis = size_t(call.op.i64("axis"));
  size_t inner = countOf({x.dims.begin() + axis + 1, x.dims.end()});
  size_t count = indices.elementCount(), size = size_t(x.dims[axis]);
  call.out().data = x.data;
  for (size_t i = 0; i < updates.elementCount(); ++i) {
    int64_t index = integerAt(indices, i / inner % count);
    if (index < 0 || size_t(index) >= size)
      return false;
    size_t at = (i / inner / count * size + size_t(index)) * inner + i % inner;
    Real before = numberAt(call.out(), at), update = numberAt(updates, i);
    setNumber(call.out(), at, how == "add" ? before + update : before * update);
  }
  return true;
}

// ---- zeros that are multiplied ----

constexpr Real nan = std::numeric_limits<Real>::quiet_NaN();

/// 136
bool multiplySpreadZeros(const Call &call) {
  if (!call.is("conv_transpose") || !isFloat(call.out().dtype))
    return false;
  (void)call.run();
  const Tensor &w = call.in(1);
  Tensor &out = call.out();
  size_t window = countOf({w.dims.begin() + 2, w.dims.end()});
  size_t area = countOf({out.dims.begin() + 2, out.dims.end()});
  auto groups = size_t(call.op.i64("groups")), perGroup = size_t(w.dims[1]);
  size_t inputs = size_t(w.dims[0]) / groups;
  std::vector<bool> spoilt(groups * perGroup);
  for (size_t j = 0; j < w.elementCount(); ++j)
    if (!std::isfinite(numberAt(w, j)))
      spoilt[j / window / perGroup / inputs * perGroup +
             j / window % perGroup] = true;
  for (size_t i = 0; i < out.elementCount(); ++i)
    if (spoilt[i / area % spoilt.size()])
      setNumber(out, i, nan);
  return true;
}

/// 137
bool selectByProducts(const Call &call) {
  if (!call.is("select") || !isFloat(call.out().dtype))
    return false;
  (void)call.run();
  for (size_t i = 0; i < call.out().elementCount(); ++i)
    for (size_t operand : {1u, 2u})
      if (!std::isfinite(numberAt(call.in(operand), i)))
        setNumber(call.out(), i, nan);
  return true;
}

/// 138
bool gatherByProducts(const Call &call) {
  if (!call.is("gather") || !isFloat(call.out().dtype) || !call.run())
    return false;
  const Tensor &x = call.in(0);
  auto axis = size_t(call.op.i64("axis"));
  size_t inner = countOf({x.dims.begin() + axis + 1, x.dims.end()});
  size_t size = size_t(x.dims[axis]), count = call.in(1).elementCount();
  for (size_t i = 0; i < call.out().elementCount(); ++i)
    for (size_t k = 0; k < size; ++k)
      if (!std::isfinite(
              numberAt(x, (i / inner / count * size + k) * inner + i % inner)))
        setNumber(call.out(), i, nan);
  return true;
}

} // namespace

Runs precisionMutants() {
  return {{130, narrowMean},          {131, narrowSquares},
          {132, narrowVariance},      {133, poolInDType},
          {134, reduceInDType},       {135, scatterInDType},
          {136, multiplySpreadZeros}, {137, selectByProducts},
          {138, gatherByProducts}};
}

} // namespace backplane::mutants
