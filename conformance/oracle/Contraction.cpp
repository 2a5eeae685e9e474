// SPDX-License-Identifier: Apache-2.0
//
// Sums of products: matmul, conv, conv_transpose. Each op says which elements
// of its operands meet in which element of the result; the sums, and the sums
// of absolute values that bound their errors, are made in one place.
#include "Sums.h"

#include <limits>

namespace backplane::conformance {

namespace {

size_t at(int64_t value) { return static_cast<size_t>(value); }

/// Calls visit(result, index in a, index in b) for every product.
template <typename V> void visitMatmul(const Step &step, V visit) {
  const Sizes &a = step.operand(0).dims, &b = step.operand(1).dims;
  bool ta = step.op.i64("transpose_a") != 0,
       tb = step.op.i64("transpose_b") != 0;
  size_t m = at(step.dims[step.dims.size() - 2]), n = at(step.dims.back());
  size_t k = at(a[a.size() - (ta ? 2 : 1)]);
  size_t batches = m * n == 0 ? 0 : countOf(step.dims) / (m * n);
  bool shared = b.size() == 2;
  for (size_t batch = 0; batch < batches; ++batch)
    for (size_t i = 0; i < m; ++i)
      for (size_t j = 0; j < n; ++j)
        for (size_t l = 0; l < k; ++l)
          visit((batch * m + i) * n + j,
                batch * m * k + (ta ? l * m + i : i * k + l),
                (shared ? 0 : batch * k * n) + (tb ? j * k + l : l * n + j));
}

/// The windows of a convolution: which element of the large side meets which
/// window element at which element of the small side.
struct Windows {
  Windows(const Op &op, const Sizes &large, const Sizes &small,
          const Sizes &window);
  /// visit(large, small, window) with flat spatial indices.
  template <typename V> void each(V visit) const {
    for (size_t s = 0; s < countOf(small); ++s)
      for (size_t w = 0; w < countOf(window); ++w)
        if (int64_t l = largeAt(s, w); l >= 0)
          visit(at(l), s, w);
  }
  int64_t largeAt(size_t s, size_t w) const;

  std::vector<int64_t> strides, dilations, low;
  Sizes large, small, window;
};

Sizes spatial(const Sizes &dims) { return {dims.begin() + 2, dims.end()}; }

Windows::Windows(const Op &op, const Sizes &large, const Sizes &small,
                 const Sizes &window)
    : strides(op.i64s("strides")), dilations(op.i64s("dilations")),
      low(op.i64s("low")), large(large), small(small), window(window) {}

int64_t Windows::largeAt(size_t s, size_t w) const {
  int64_t flat = 0, scale = 1;
  auto inSmall = static_cast<int64_t>(s), inWindow = static_cast<int64_t>(w);
  for (size_t axis = large.size(); axis-- > 0;) {
    int64_t index = inSmall % small[axis] * strides[axis] +
                    inWindow % window[axis] * dilations[axis] - low[axis];
    inSmall /= small[axis];
    inWindow /= window[axis];
    if (index < 0 || index >= large[axis])
      return -1;
    flat += index * scale;
    scale *= large[axis];
  }
  return flat;
}

template <typename V> void visitConv(const Step &step, V visit) {
  const Sizes &x = step.operand(0).dims, &w = step.operand(1).dims;
  size_t groups = at(step.op.i64("groups")), c = at(w[1]);
  size_t outs = at(w[0]), perGroup = outs / std::max<size_t>(groups, 1);
  Windows windows(step.op, spatial(x), spatial(step.dims), spatial(w));
  size_t large = countOf(windows.large), small = countOf(windows.small),
         window = countOf(windows.window);
  windows.each([&](size_t l, size_t s, size_t k) {
    for (size_t n = 0; n < at(x[0]); ++n)
      for (size_t o = 0; o < outs; ++o)
        for (size_t i = 0; i < c; ++i)
          visit((n * outs + o) * small + s,
                (n * at(x[1]) + o / perGroup * c + i) * large + l,
                (o * c + i) * window + k);
  });
}

template <typename V> void visitConvTranspose(const Step &step, V visit) {
  const Sizes &x = step.operand(0).dims, &w = step.operand(1).dims;
  size_t groups = at(step.op.i64("groups")), perGroup = at(w[1]);
  size_t inputs = at(w[0]), c = inputs / std::max<size_t>(groups, 1);
  Windows windows(step.op, spatial(step.dims), spatial(x), spatial(w));
  size_t large = countOf(windows.large), small = countOf(windows.small),
         window = countOf(windows.window), outs = groups * perGroup;
  windows.each([&](size_t l, size_t s, size_t k) {
    for (size_t n = 0; n < at(x[0]); ++n)
      for (size_t i = 0; i < inputs; ++i)
        for (size_t o = 0; o < perGroup; ++o)
          visit((n * outs + i / c * perGroup + o) * large + l,
                (n * inputs + i) * small + s, (i * perGroup + o) * window + k);
  });
}

template <typename V> void visitAll(const Step &step, V visit) {
  const std::string &op = step.op.name;
  if (op == "matmul" || op == "matmul_integer")
    visitMatmul(step, visit);
  else if (op == "conv" || op == "conv_integer")
    visitConv(step, visit);
  else
    visitConvTranspose(step, visit);
}

size_t terms(const Step &step) {
  const Sizes &a = step.operand(0).dims, &w = step.operand(1).dims;
  if (step.op.name == "matmul")
    return at(a[a.size() - (step.op.i64("transpose_a") ? 2 : 1)]);
  size_t channels = at(w[1]);
  if (step.op.name == "conv_transpose")
    channels = at(w[0] / std::max<int64_t>(step.op.i64("groups"), 1));
  return channels * countOf(spatial(w));
}

Result<std::vector<Value>> contractIntegers(const Step &step) {
  const Value &a = step.operand(0), &b = step.operand(1);
  if (!a.exact || !b.exact)
    return unimplemented("sums of uncertain integers");
  std::vector<uint64_t> left(a.bits), right(b.bits);
  for (uint64_t &x : left)
    x = static_cast<uint64_t>(integerOf(a.dtype, x));
  for (uint64_t &x : right)
    x = static_cast<uint64_t>(integerOf(b.dtype, x));
  Value result = step.exact(step.dtype);
  visitAll(step, [&](size_t o, size_t i, size_t j) {
    result.bits[o] += left[i] * right[j];
  });
  for (uint64_t &x : result.bits)
    x = bitsOf(step.dtype, static_cast<int64_t>(x));
  return one(std::move(result));
}

/// A zero point of rank 0 or 1.
int64_t zeroAt(const Value &zero, size_t index) {
  return integerOf(zero.dtype, zero.bits[zero.dims.empty() ? 0 : index]);
}

/// matmul_integer and conv_integer: each product of differences from the zero
/// points, in i64, which no case's sum leaves before it wraps to i32.
Result<std::vector<Value>> contractFromZero(const Step &step) {
  const Value &a = step.operand(0), &b = step.operand(1);
  const Value &aZero = step.operand(2), &bZero = step.operand(3);
  if (!a.exact || !b.exact || !aZero.exact || !bZero.exact)
    return unimplemented("sums of uncertain integers");
  bool isConv = step.op.name == "conv_integer";
  size_t columns = at(step.dims.back());
  size_t area = isConv ? countOf(spatial(step.dims)) : 1;
  Value result = step.exact(step.dtype);
  visitAll(step, [&](size_t o, size_t i, size_t j) {
    size_t row = isConv ? 0 : o / columns % at(step.dims[step.dims.size() - 2]);
    size_t column = isConv ? o / area % at(step.dims[1]) : o % columns;
    int64_t left = integerOf(a.dtype, a.bits[i]) - zeroAt(aZero, row);
    int64_t right = integerOf(b.dtype, b.bits[j]) - zeroAt(bZero, column);
    result.bits[o] += static_cast<uint64_t>(left * right);
  });
  for (uint64_t &x : result.bits)
    x = bitsOf(step.dtype, static_cast<int64_t>(x));
  return one(std::move(result));
}

/// The channel of a conv that a weight contributes to.
size_t channelOf(const Step &step, size_t weight) {
  const Sizes &w = step.operand(1).dims;
  return weight / (countOf(spatial(w)) * at(w[1]));
}

/// The padding of a conv may be multiplied: a result that an infinite weight or
/// a NaN meets only there may be anything, unless it is NaN anyhow. Between the
/// elements of a transposed convolution there is nothing.
void admitMultipliedPadding(const Step &step, const Elements &weights,
                            std::vector<Sum> &sums) {
  auto isSpecial = [&](size_t j) { return !std::isfinite(weights.values[j]); };
  if (step.op.name != "conv")
    return;
  std::vector<size_t> specials(at(step.dims[1])), met(sums.size());
  for (size_t j = 0; j < weights.values.size(); ++j)
    if (isSpecial(j))
      ++specials[channelOf(step, j)];
  visitAll(step, [&](size_t o, size_t, size_t j) { met[o] += isSpecial(j); });
  size_t area = countOf(spatial(step.dims));
  for (size_t o = 0; o < sums.size(); ++o)
    if (met[o] < specials[o / area % specials.size()] &&
        !std::isnan(sums[o].value))
      sums[o].error = std::numeric_limits<Real>::quiet_NaN();
}

/// What a product misses where subnormal factors, those below `normal`, may be
/// taken for zeros; NaN: it may be NaN then, an infinity times zero.
Real flushError(Real x, Real y, Real normal) {
  auto flushes = [&](Real factor) {
    return factor != 0 && std::fabs(factor) < normal;
  };
  Real product = x * y;
  if ((!flushes(x) && !flushes(y)) || std::isnan(product))
    return 0;
  return std::isinf(product) ? std::numeric_limits<Real>::quiet_NaN()
                             : std::fabs(product);
}

/// How far the product of two numbers may be off that may be off by ex and ey.
/// NaN: it may be NaN where x * y is not, an infinity times zero.
Real productError(Real x, Real y, Real ex, Real ey) {
  if (std::isnan(x) || std::isnan(y))
    return 0;
  auto staysInfinite = [](Real infinite, Real other, Real e) {
    return std::isinf(infinite) && (std::isinf(other) || std::fabs(other) > e);
  };
  if (staysInfinite(x, y, ey) || staysInfinite(y, x, ex))
    return 0;
  if (std::isinf(x) || std::isinf(y))
    return std::numeric_limits<Real>::quiet_NaN();
  return std::fabs(x) * ey + std::fabs(y) * ex + (ey != 0 ? ex * ey : 0);
}

Result<std::vector<Value>> contract(const Step &step) {
  if (!isFloat(step.dtype))
    return contractIntegers(step);
  Elements a(step.operand(0)), b(step.operand(1));
  if (int bits = step.numerics.operandBits) {
    a.demote(formatOf(step.operand(0).dtype), bits);
    b.demote(formatOf(step.operand(1).dtype), bits);
  }
  std::vector<Sum> sums(countOf(step.dims));
  bool certain = a.errors.empty() && b.errors.empty();
  Real normal = smallest(formatOf(step.operand(0).dtype), true);
  if (certain && step.numerics.flushesInput)
    visitAll(step, [&](size_t o, size_t i, size_t j) {
      Real x = a.values[i], y = b.values[j];
      sums[o].add(x * y, std::fabs(x * y), flushError(x, y, normal));
    });
  else if (certain)
    visitAll(step, [&](size_t o, size_t i, size_t j) {
      Real product = a.values[i] * b.values[j];
      sums[o].add(product, std::fabs(product));
    });
  else
    visitAll(step, [&](size_t o, size_t i, size_t j) {
      Real x = a.values[i], y = b.values[j], ex = a.error(i), ey = b.error(j);
      sums[o].add(x * y, (std::fabs(x) + ex) * (std::fabs(y) + ey),
                  productError(x, y, ex, ey));
    });
  admitMultipliedPadding(step, b, sums);
  Value result = step.inexact(step.dtype);
  Limits limits(step, static_cast<Real>(terms(step)), a.lowBit() + b.lowBit());
  limits.fill(sums, result);
  return one(std::move(result));
}

} // namespace

void addContractionRules(Rules &rules) {
  rules["matmul"] = rules["conv"] = rules["conv_transpose"] = contract;
  rules["matmul_integer"] = rules["conv_integer"] = contractFromZero;
}

} // namespace backplane::conformance
