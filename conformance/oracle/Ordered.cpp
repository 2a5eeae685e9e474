// SPDX-License-Identifier: Apache-2.0
//
// Ops in which the order along an axis matters: cumulative, top_k, scatter.
#include "Product.h"
#include "Sums.h"

#include <algorithm>
#include <memory>
#include <numeric>

namespace backplane::conformance {

namespace {

/// The lines of a tensor along one axis.
struct Axis {
  Axis(const Sizes &dims, size_t axis)
      : size(static_cast<size_t>(dims[axis])),
        stride(static_cast<size_t>(stridesOf(dims)[axis])),
        lines(size == 0 ? 0 : countOf(dims) / size) {}
  size_t at(size_t line, size_t k) const {
    return line / stride * stride * size + line % stride + k * stride;
  }
  size_t size, stride, lines;
};

// ---- cumulative ----

uint64_t combineIntegers(const std::string &kind, DType type, uint64_t a,
                         uint64_t b) {
  if (kind == "sum" || kind == "add")
    return a + b;
  if (kind == "prod" || kind == "mul")
    return a * b;
  bool less = isSignedInteger(type)
                  ? static_cast<int64_t>(a) < static_cast<int64_t>(b)
                  : a < b;
  return less == (kind == "min") ? a : b;
}

/// What an empty combination gives.
uint64_t integerStart(const std::string &kind, DType type) {
  if (kind == "sum" || kind == "prod")
    return kind == "prod";
  unsigned width = bitWidth(type);
  uint64_t top = isSignedInteger(type) ? width - 1 : width;
  uint64_t high = top == 64 ? ~uint64_t(0) : (uint64_t(1) << top) - 1;
  return static_cast<uint64_t>(integerOf(
      type, bitsOf(type, static_cast<int64_t>(kind == "min" ? high : ~high))));
}

MidRad extreme(bool low, const MidRad &a, const MidRad &b) {
  if (std::isnan(a.v) || std::isnan(b.v))
    return {notANumber, 0};
  if (isAnything(a) || isAnything(b) || std::isinf(a.e) || std::isinf(b.e))
    return anything();
  bool first = low ? a.v < b.v || (a.v == b.v && std::signbit(a.v))
                   : a.v > b.v || (a.v == b.v && !std::signbit(a.v));
  Real v = first ? a.v : b.v;
  if (std::isinf(v))
    return {v, 0};
  Real bottom = low ? std::min(a.low(), b.low()) : std::max(a.low(), b.low());
  Real top = low ? std::min(a.high(), b.high()) : std::max(a.high(), b.high());
  return {v, std::max(v - bottom, top - v)};
}

/// Position k of a line in the order of combination.
size_t ordered(const Axis &axis, size_t k, bool reverse) {
  return reverse ? axis.size - 1 - k : k;
}

Value cumulateIntegers(const Step &step, const Axis &axis, bool exclusive,
                       bool reverse) {
  std::string kind = step.op.string("kind");
  Value result = step.exact(step.dtype);
  for (size_t line = 0; line < axis.lines; ++line) {
    uint64_t sum = integerStart(kind, step.dtype);
    for (size_t k = 0; k < axis.size; ++k) {
      size_t at = axis.at(line, ordered(axis, k, reverse));
      uint64_t before = sum;
      auto x = static_cast<uint64_t>(
          integerOf(step.dtype, step.operand(0).bits[at]));
      sum = combineIntegers(kind, step.dtype, sum, x);
      result.bits[at] =
          bitsOf(step.dtype, static_cast<int64_t>(exclusive ? before : sum));
    }
  }
  return result;
}

void cumulateSum(const Step &step, const Axis &axis, bool exclusive,
                 bool reverse, Value &result) {
  Elements x(step.operand(0));
  Limits limits(step, 0, x.lowBit());
  for (size_t line = 0; line < axis.lines; ++line) {
    Sum sum;
    for (size_t k = 0; k < axis.size; ++k) {
      size_t at = axis.at(line, ordered(axis, k, reverse));
      limits.terms = static_cast<Real>(k > 1 ? k : 1);
      MidRad before = limits.accumulated(sum);
      sum.add(x.values[at], std::fabs(x.values[at]) + x.error(at), x.error(at));
      result.bounded[at] =
          roundedTo(step.numerics, step.dtype,
                    exclusive ? before : limits.accumulated(sum));
    }
  }
}

Result<std::vector<Value>> cumulative(const Step &step) {
  Axis axis(step.dims, static_cast<size_t>(step.op.i64("axis")));
  bool exclusive = step.op.i64("exclusive") != 0;
  bool reverse = step.op.i64("reverse") != 0;
  std::string kind = step.op.string("kind");
  if (!isFloat(step.dtype) && !step.operand(0).exact)
    return unimplemented("a sum of uncertain integers");
  if (!isFloat(step.dtype))
    return one(cumulateIntegers(step, axis, exclusive, reverse));
  Value result = step.inexact(step.dtype);
  if (kind == "sum") {
    cumulateSum(step, axis, exclusive, reverse, result);
    return one(std::move(result));
  }
  Numbers x(step.operand(0), kind == "prod");
  Arithmetic m = step.arithmetic(step.dtype);
  for (size_t line = 0; line < axis.lines; ++line) {
    MidRad sum{kind == "min" ? infinity : -infinity, 0};
    Product product(m, Product::Order::AsGiven);
    for (size_t k = 0; k < axis.size; ++k) {
      size_t at = axis.at(line, ordered(axis, k, reverse));
      MidRad before = kind == "prod" ? product.result() : sum;
      if (kind == "prod")
        product.multiply(x[at]);
      sum = kind == "prod" ? product.result()
                           : extreme(kind == "min", sum, x[at]);
      result.bounded[at] =
          roundedTo(step.numerics, step.dtype, exclusive ? before : sum);
    }
  }
  settle(result);
  return one(std::move(result));
}

// ---- top_k ----

/// Whether a is before b; NaN is higher than every number.
bool precedes(bool largest, Real a, Real b) {
  if (std::isnan(a) || std::isnan(b))
    return largest ? std::isnan(a) && !std::isnan(b)
                   : !std::isnan(a) && std::isnan(b);
  return largest ? a > b : a < b;
}

/// What accepts needs of one top_k.
struct Ranking {
  std::vector<MidRad> elements;
  std::vector<Real> wanted;  ///< of each element of the result
  std::vector<Real> reach;   ///< largest error in its line
  std::vector<size_t> first; ///< element 0 of its line
  size_t size = 0, stride = 0;

  bool accepts(size_t i, int64_t got) const {
    if (got < 0 || static_cast<size_t>(got) >= size)
      return false;
    const MidRad &x = elements[first[i] + static_cast<size_t>(got) * stride];
    if (!std::isfinite(x.e) || !std::isfinite(reach[i]))
      return true;
    if (std::isnan(x.v) || std::isnan(wanted[i]) || x.v == wanted[i])
      return std::isnan(x.v) == std::isnan(wanted[i]);
    return std::fabs(x.v - wanted[i]) <= x.e + reach[i];
  }
};

Result<std::vector<Value>> topK(const Step &step) {
  const Value &x = step.operand(0);
  Numbers in(x, false);
  auto along = static_cast<size_t>(step.op.i64("axis"));
  Axis from(x.dims, along), to(step.dims, along);
  bool largest = step.op.i64("largest") != 0;
  auto ranking = std::make_shared<Ranking>();
  size_t count = countOf(step.dims);
  std::vector<size_t> map(count), order(from.size), chosen(count);
  ranking->wanted.resize(count);
  ranking->reach.resize(count);
  ranking->first.resize(count);
  ranking->size = from.size;
  ranking->stride = from.stride;
  for (size_t i = 0; i < x.count(); ++i)
    ranking->elements.push_back(in[i]);
  const std::vector<MidRad> &all = ranking->elements;
  for (size_t line = 0; line < (to.size ? from.lines : 0); ++line) {
    std::iota(order.begin(), order.end(), size_t(0));
    Real reach = 0;
    for (size_t k = 0; k < from.size; ++k) {
      Real e = all[from.at(line, k)].e;
      reach = std::isnan(e) ? infinity : std::max(reach, e);
    }
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      Real p = all[from.at(line, a)].v, q = all[from.at(line, b)].v;
      return precedes(largest, p, q) || (!precedes(largest, q, p) && a < b);
    });
    for (size_t k = 0; k < to.size; ++k) {
      size_t at = to.at(line, k);
      map[at] = from.at(line, order[k]);
      chosen[at] = order[k];
      ranking->wanted[at] = all[map[at]].v;
      ranking->reach[at] = reach;
      ranking->first[at] = from.at(line, 0);
    }
  }
  std::vector<Value> results;
  results.push_back(take(step, x, map));
  results[0].computed = true;
  Value indices = step.exact(DType::I64);
  for (size_t i = 0; i < count; ++i)
    indices.bits[i] = chosen[i];
  if (!in.certain()) {
    for (size_t i = 0; i < results[0].bounded.size(); ++i)
      results[0].bounded[i].e = ranking->reach[i];
    results[0].exact = false;
    indices.exact = false;
    for (size_t i = 0; i < count; ++i)
      indices.bounded.push_back(anyNumber(static_cast<Real>(chosen[i])));
    indices.accepts = [ranking](size_t i, int64_t got) {
      return ranking->accepts(i, got);
    };
  }
  results.push_back(std::move(indices));
  return results;
}

// ---- scatter ----

Result<std::vector<Value>> scatterIntegers(const Step &step,
                                           const std::string &kind,
                                           const std::vector<size_t> &to) {
  const Value &x = step.operand(0), &updates = step.operand(2);
  if (!x.exact || !updates.exact)
    return unimplemented("a scatter of uncertain integers");
  Value result = step.exact(step.dtype);
  result.bits = x.bits;
  for (size_t i = 0; i < to.size(); ++i) {
    uint64_t &bits = result.bits[to[i]];
    uint64_t y = combineIntegers(
        kind, step.dtype, static_cast<uint64_t>(integerOf(step.dtype, bits)),
        static_cast<uint64_t>(integerOf(step.dtype, updates.bits[i])));
    bits = bitsOf(step.dtype, static_cast<int64_t>(y));
  }
  return one(std::move(result));
}

/// Sums and products of floats: the updates of one element in any order, in the
/// precision of the dtype, or of narrow ones in 24 bits, as far as so much is
/// declared, or in a wider one.
Result<std::vector<Value>> scatterFloats(const Step &step,
                                         const std::string &kind,
                                         const std::vector<size_t> &to) {
  Numbers x(step.operand(0), false), updates(step.operand(2), false);
  Numerics own = step.numerics;
  int precision = formatOf(step.dtype).precision;
  int declared = own.accumulatorBits ? own.accumulatorBits : precision;
  own.accumulatorBits = std::min(declared, std::max(precision, 24));
  Arithmetic m(step.dtype, own, step.declaration.strict);
  size_t count = countOf(step.dims);
  std::vector<Real> magnitude(count), hits(count);
  std::vector<Product> products(kind == "mul" ? count : 0,
                                {m, Product::Order::AsGiven});
  Value result = step.inexact(step.dtype);
  for (size_t i = 0; i < count; ++i) {
    result.bounded[i] = x[i];
    magnitude[i] = std::fabs(x[i].v) + x[i].e;
    if (kind == "mul")
      products[i].multiply(x[i]);
  }
  for (size_t i = 0; i < to.size(); ++i) {
    MidRad &y = result.bounded[to[i]];
    MidRad update = updates[i];
    if (kind == "min" || kind == "max") {
      y = extreme(kind == "min", y, update);
    } else if (kind == "mul") {
      products[to[i]].multiply(update);
    } else {
      y = {y.v + update.v, y.e + update.e};
      magnitude[to[i]] += std::fabs(update.v) + update.e;
      hits[to[i]] += 1;
    }
  }
  for (size_t i = 0; i < count; ++i) {
    MidRad &y = result.bounded[i];
    if (kind == "mul")
      y = products[i].result();
    if (hits[i] > 0 && std::isfinite(y.v) && std::isfinite(y.e))
      y.e += hits[i] * (m.u * magnitude[i] + m.eta);
    if (hits[i] > 0 && std::isfinite(y.v) && magnitude[i] > m.max)
      y = anyNumber(y.v);
    y = roundedTo(step.numerics, step.dtype, y);
  }
  settle(result);
  return one(std::move(result));
}

Result<std::vector<Value>> scatter(const Step &step) {
  auto to = indexedAlong(step);
  if (!to)
    return to.status();
  std::string kind = step.op.string("combine");
  if (kind != "none")
    return isFloat(step.dtype) ? scatterFloats(step, kind, *to)
                               : scatterIntegers(step, kind, *to);
  size_t count = countOf(step.dims);
  std::vector<size_t> map(count);
  std::iota(map.begin(), map.end(), size_t(0));
  for (size_t i = 0; i < to->size(); ++i)
    map[(*to)[i]] = count + i;
  return one(take(step, joined({&step.operand(0), &step.operand(2)}), map));
}

} // namespace

void addOrderedRules(Rules &rules) {
  rules["cumulative"] = cumulative;
  rules["top_k"] = topK;
  rules["scatter"] = scatter;
}

} // namespace backplane::conformance
