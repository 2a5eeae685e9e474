// SPDX-License-Identifier: Apache-2.0
//
// reduce, pool and arg_reduce.
#include "Product.h"
#include "Running.h"
#include "Sums.h"

#include <memory>

namespace backplane::conformance {

Groups reduceGroups(const Step &step, const std::vector<int64_t> &axes) {
  const Sizes &in = step.operand(0).dims;
  Sizes kept = in;
  for (int64_t axis : axes)
    kept[static_cast<size_t>(axis)] = 1;
  Sizes strides = stridesOf(kept);
  for (int64_t axis : axes)
    strides[static_cast<size_t>(axis)] = 0;
  Groups groups(countOf(step.dims));
  std::vector<size_t> to = affine(in, 0, strides);
  for (size_t i = 0; i < to.size(); ++i)
    groups[to[i]].push_back(i);
  return groups;
}

namespace {

/// The elements in each window; `padding` counts the others.
Groups poolGroups(const Step &step, std::vector<size_t> *padding) {
  const Sizes &in = step.operand(0).dims;
  std::vector<int64_t> strides = step.op.i64s("strides"),
                       dilations = step.op.i64s("dilations"),
                       low = step.op.i64s("low"),
                       window = step.op.i64s("window");
  Sizes out = stridesOf(step.dims), own = stridesOf(in);
  Groups groups(countOf(step.dims));
  size_t taps = countOf(window);
  for (size_t o = 0; o < groups.size(); ++o) {
    auto flat = static_cast<int64_t>(o);
    int64_t base = flat / out[1] * own[1];
    for (size_t w = 0; w < taps; ++w) {
      int64_t at = base, rest = static_cast<int64_t>(w);
      bool inside = true;
      for (size_t axis = window.size(); axis-- > 0;) {
        int64_t position = flat / out[axis + 2] % step.dims[axis + 2];
        int64_t index = position * strides[axis] +
                        rest % window[axis] * dilations[axis] - low[axis];
        rest /= window[axis];
        inside &= index >= 0 && index < in[axis + 2];
        at += index * own[axis + 2];
      }
      if (inside)
        groups[o].push_back(static_cast<size_t>(at));
    }
    if (padding)
      padding->push_back(taps - groups[o].size());
  }
  return groups;
}

/// Starts and bounds of integer reductions: lowest or highest of a type.
uint64_t extremeBits(DType type, bool highest) {
  unsigned width = bitWidth(type);
  if (type == DType::Bool)
    return highest;
  uint64_t top = isSignedInteger(type) ? width - 1 : width;
  uint64_t high = top == 64 ? ~uint64_t(0) : (uint64_t(1) << top) - 1;
  return highest ? high : bitsOf(type, static_cast<int64_t>(~high));
}

Result<std::vector<Value>> combineIntegers(const Step &step,
                                           const Groups &groups) {
  const Value &x = step.operand(0);
  std::string kind = step.op.string("kind");
  if (!x.exact)
    return unimplemented("a reduction of uncertain integers");
  Value result = step.exact(step.dtype);
  bool isSigned = isSignedInteger(step.dtype);
  for (size_t o = 0; o < groups.size(); ++o) {
    uint64_t sum = kind == "prod" || kind == "and";
    if (kind == "min" || kind == "max")
      sum = static_cast<uint64_t>(
          integerOf(step.dtype, extremeBits(step.dtype, kind == "min")));
    for (size_t i : groups[o]) {
      auto y = static_cast<uint64_t>(integerOf(step.dtype, x.bits[i]));
      bool less = isSigned ? static_cast<int64_t>(y) < static_cast<int64_t>(sum)
                           : y < sum;
      if (kind == "sum")
        sum += y;
      else if (kind == "prod")
        sum *= y;
      else if (kind == "and")
        sum = sum && y;
      else if (kind == "or")
        sum = sum || y;
      else if (less == (kind == "min"))
        sum = y;
    }
    result.bits[o] = bitsOf(step.dtype, static_cast<int64_t>(sum));
  }
  return one(std::move(result));
}

Sum sumOf(const Elements &x, const std::vector<size_t> &group) {
  Sum sum;
  for (size_t i : group) {
    sum.add(x.values[i], std::fabs(x.values[i]) + x.error(i), x.error(i));
  }
  return sum;
}

size_t largest(const Groups &groups) {
  size_t most = 0;
  for (const auto &group : groups)
    most = std::max(most, group.size());
  return most;
}

MidRad productOf(const Arithmetic &arithmetic, const Numbers &x,
                 const std::vector<size_t> &group) {
  Product product(arithmetic, Product::Order::Any);
  for (size_t i : group)
    product.multiply(x[i]);
  return product.result();
}

MidRad extremeOf(bool low, const Numbers &x, const std::vector<size_t> &group) {
  MidRad best{low ? infinity : -infinity, 0};
  Real reach = low ? infinity : -infinity;
  bool nan = false, open = false;
  for (size_t i : group) {
    MidRad y = x[i];
    nan |= std::isnan(y.v);
    open |= isAnything(y) || std::isinf(y.e);
    bool better = low ? y.v < best.v || (y.v == best.v && std::signbit(y.v))
                      : y.v > best.v || (y.v == best.v && !std::signbit(y.v));
    if (better)
      best = y;
    reach = low ? std::min(reach, y.low()) : std::max(reach, y.high());
  }
  if (nan)
    return {notANumber, 0};
  if (open)
    return anything();
  if (std::isfinite(best.v) && std::isfinite(reach))
    best.e = std::max(best.e, std::fabs(reach - best.v));
  return best;
}

Result<std::vector<Value>> combine(const Step &step, const Groups &groups) {
  if (!isFloat(step.dtype))
    return combineIntegers(step, groups);
  std::string kind = step.op.string("kind");
  const Value &x = step.operand(0);
  Value result = step.inexact(step.dtype);
  if (kind == "sum") {
    Elements elements(x);
    std::vector<Sum> sums;
    for (const auto &group : groups)
      sums.push_back(sumOf(elements, group));
    size_t most = largest(groups);
    Limits limits(step, static_cast<Real>(most > 1 ? most - 1 : most),
                  elements.lowBit());
    limits.fill(sums, result);
    return one(std::move(result));
  }
  Numbers numbers(x, kind == "prod");
  Arithmetic arithmetic = step.arithmetic(step.dtype);
  for (size_t o = 0; o < groups.size(); ++o)
    result.bounded[o] =
        kind == "prod" ? roundedTo(step.numerics, step.dtype,
                                   productOf(arithmetic, numbers, groups[o]))
                       : extremeOf(kind == "min", numbers, groups[o]);
  if (kind != "prod")
    settle(result);
  return one(std::move(result));
}

Result<std::vector<Value>> reduce(const Step &step) {
  return combine(step, reduceGroups(step, step.op.i64s("axes")));
}

Result<std::vector<Value>> pool(const Step &step) {
  return combine(step, poolGroups(step, nullptr));
}

Result<std::vector<Value>> averagePool(const Step &step) {
  std::vector<size_t> padding;
  Groups groups = poolGroups(step, &padding);
  bool counts = step.op.i64("count_padding") != 0;
  Elements elements(step.operand(0));
  Limits limits(step, static_cast<Real>(largest(groups)), elements.lowBit());
  Value result = step.inexact(step.dtype);
  for (size_t o = 0; o < groups.size(); ++o) {
    size_t count = groups[o].size() + (counts ? padding[o] : 0);
    MidRad mean =
        limits.arithmetic.div(limits.accumulated(sumOf(elements, groups[o])),
                              {static_cast<Real>(count), 0});
    result.bounded[o] = roundedTo(step.numerics, step.dtype, mean);
  }
  return one(std::move(result));
}

// ---- decisions ----

/// Whether `y` beats `best`; NaN wins over numbers.
bool beats(bool low, bool last, const MidRad &y, const MidRad &best) {
  if (std::isnan(best.v))
    return last && std::isnan(y.v);
  if (std::isnan(y.v))
    return true;
  return (low ? y.v < best.v : y.v > best.v) || (last && y.v == best.v);
}

/// Whether an element may be the winner of its group.
bool mayWin(bool low, const MidRad &y, const MidRad &best) {
  if (isAnything(y) || isAnything(best) || std::isinf(y.e) ||
      std::isinf(best.e))
    return true;
  if (std::isnan(y.v) || std::isnan(best.v))
    return std::isnan(y.v) && std::isnan(best.v);
  Real distance = low ? y.v - best.v : best.v - y.v;
  return distance <= y.e + best.e;
}

struct Candidates {
  std::vector<MidRad> elements;
  Groups groups;
  std::vector<size_t> best; ///< position in the group
  bool low;
};

Result<std::vector<Value>> argReduce(const Step &step) {
  Numbers x(step.operand(0), false);
  bool last = step.op.i64("last") != 0;
  auto all = std::make_shared<Candidates>();
  all->low = step.op.string("kind") == "min";
  all->groups = reduceGroups(step, {step.op.i64("axis")});
  Value result = step.exact(step.dtype);
  for (size_t o = 0; o < all->groups.size(); ++o) {
    const auto &group = all->groups[o];
    size_t best = 0;
    for (size_t i = 1; i < group.size(); ++i)
      if (beats(all->low, last, x[group[i]], x[group[best]]))
        best = i;
    all->best.push_back(best);
    result.bits[o] = best;
  }
  if (x.certain())
    return one(std::move(result));
  for (size_t i = 0; i < step.operand(0).count(); ++i)
    all->elements.push_back(x[i]);
  result.exact = false;
  for (size_t best : all->best)
    result.bounded.push_back(anyNumber(static_cast<Real>(best)));
  result.accepts = [all](size_t o, int64_t got) {
    const auto &group = all->groups[o];
    return got >= 0 && static_cast<size_t>(got) < group.size() &&
           mayWin(all->low, all->elements[group[static_cast<size_t>(got)]],
                  all->elements[group[all->best[o]]]);
  };
  return one(std::move(result));
}

} // namespace

void addReductionRules(Rules &rules) {
  rules["reduce"] = reduce;
  rules["pool"] = pool;
  rules["avg_pool"] = averagePool;
  rules["arg_reduce"] = argReduce;
}

} // namespace backplane::conformance
