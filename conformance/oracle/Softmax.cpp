// SPDX-License-Identifier: Apache-2.0
//
// Softmax, its logarithm, the logarithm of the sum, and what is built of them:
// attention and rotary position embedding.
#include "Running.h"

#include "sdk/graph/Rounding.h"

namespace backplane::conformance {

MidRad sumOf(const Arithmetic &m, const std::vector<MidRad> &terms) {
  Real v = 0, e = 0, magnitude = 0;
  for (const MidRad &x : terms) {
    v += x.v;
    e += x.e;
    magnitude += std::fabs(x.v) + x.e;
  }
  if (!std::isfinite(v))
    return {v, 0};
  Real n = static_cast<Real>(terms.empty() ? 0 : terms.size() - 1);
  e += n * (m.sumU * magnitude + m.eta);
  e += m.sumU < m.u ? m.u * (std::fabs(v) + e) : 0;
  return magnitude > m.max ? anyNumber(v) : MidRad{v, e};
}

Real topOf(const std::vector<MidRad> &terms) {
  Real top = -infinity;
  for (const MidRad &x : terms)
    top = std::isnan(x.v) ? x.v : largerOf(top, x.v);
  return top;
}

namespace {

MidRad logarithm(const Arithmetic &m, const MidRad &x) {
  return call(m, "log", [](Real z) { return std::log(z); }, x);
}

/// exp(x - top) of all terms.
std::vector<MidRad> powersOf(const Arithmetic &m,
                             const std::vector<MidRad> &terms, Real top) {
  std::vector<MidRad> powers;
  for (const MidRad &x : terms)
    powers.push_back(exponential(m, m.sub(x, {top, 0})));
  return powers;
}

/// A share of a sum of numbers that are not negative lies in [0, 1], whatever
/// their errors are.
MidRad shareOf(const Arithmetic &m, const MidRad &power, const MidRad &sum) {
  MidRad share = m.div(power, sum);
  bool isKnown = std::isfinite(share.e) || !std::isfinite(power.v) ||
                 !std::isfinite(sum.v) || isAnything(power) || isAnything(sum);
  if (isKnown || sum.v < 1)
    return share;
  Real v = power.v / sum.v;
  return {v, 8 * m.u + std::max(v, 1 - v)};
}

void softmaxLine(const Step &step, const Arithmetic &m, const Numbers &x,
                 const Lines &lines, size_t base, Value &result) {
  std::vector<MidRad> terms;
  for (size_t k = 0; k < lines.size; ++k)
    terms.push_back(x[base + k * lines.stride]);
  bool isLog = step.op.name == "log_softmax";
  Real top = topOf(terms);
  std::vector<MidRad> powers = powersOf(m, terms, top);
  MidRad sum = sumOf(m, powers);
  for (size_t k = 0; k < lines.size; ++k) {
    MidRad y = isLog ? m.sub(m.sub(terms[k], {top, 0}), logarithm(m, sum))
                     : shareOf(m, powers[k], sum);
    result.bounded[base + k * lines.stride] =
        roundedTo(step.numerics, step.dtype, y);
  }
}

Result<std::vector<Value>> softmax(const Step &step) {
  Numbers x(step.operand(0), true);
  Arithmetic m = step.arithmetic(step.dtype);
  Value result = step.inexact(step.dtype);
  Lines lines(step.dims, static_cast<size_t>(step.op.i64("axis")));
  for (size_t line = 0; line < lines.count; ++line)
    softmaxLine(step, m, x, lines, lines.base(line), result);
  return one(std::move(result));
}

Result<std::vector<Value>> logSumExp(const Step &step) {
  Numbers x(step.operand(0), true);
  Arithmetic m = step.arithmetic(step.dtype);
  Groups groups = reduceGroups(step, step.op.i64s("axes"));
  Value result = step.inexact(step.dtype);
  for (size_t o = 0; o < groups.size(); ++o) {
    std::vector<MidRad> terms;
    for (size_t i : groups[o])
      terms.push_back(x[i]);
    Real top = topOf(terms);
    MidRad y{top, 0};
    if (std::isfinite(top))
      y = m.add(logarithm(m, sumOf(m, powersOf(m, terms, top))), y);
    result.bounded[o] = roundedTo(step.numerics, step.dtype, y);
  }
  return one(std::move(result));
}

// ---- attention ----

/// The operands of one attention, with sizes as in the op table.
struct Attention {
  explicit Attention(const Step &step)
      : step(step), m(step.arithmetic(step.dtype)), q(step.operand(0), true),
        k(step.operand(1), true), v(step.operand(2), true),
        sizes(step.operand(0).dims), keys(step.operand(1).dims),
        values(step.operand(2).dims) {
    if (step.operands.size() > 3)
      mask.emplace(step.operand(3), true);
  }
  size_t dim(const Sizes &dims, size_t axis) const {
    return static_cast<size_t>(dims[axis]);
  }
  /// Head of k and v that a head of q looks at, in all batches.
  size_t shared(size_t batch, size_t head) const {
    size_t perHead = dim(sizes, 1) / std::max<size_t>(dim(keys, 1), 1);
    return batch * dim(keys, 1) + head / perHead;
  }
  size_t maskAt(size_t batch, size_t head, size_t row, size_t column) const;
  MidRad score(size_t batch, size_t head, size_t row, size_t column) const;
  std::vector<MidRad> weights(size_t batch, size_t head, size_t row) const;

  const Step &step;
  Arithmetic m;
  Numbers q, k, v;
  std::optional<Numbers> mask;
  std::optional<int64_t> causal;
  Sizes sizes, keys, values;
};

size_t Attention::maskAt(size_t batch, size_t head, size_t row,
                         size_t column) const {
  const Sizes &dims = step.operand(3).dims;
  size_t index = 0, at[] = {batch, head, row, column};
  for (size_t axis = 0; axis < 4; ++axis)
    index = index * dim(dims, axis) + (dims[axis] == 1 ? 0 : at[axis]);
  return index;
}

/// A target may scale q, k or both before it multiplies: three roundings of
/// each product more.
MidRad Attention::score(size_t batch, size_t head, size_t row,
                        size_t column) const {
  bool isHidden = causal && static_cast<int64_t>(column) >
                                static_cast<int64_t>(row) + *causal;
  if (isHidden)
    return {-infinity, 0};
  size_t depth = dim(sizes, 3);
  size_t left = ((batch * dim(sizes, 1) + head) * dim(sizes, 2) + row) * depth;
  size_t right = (shared(batch, head) * dim(keys, 2) + column) * depth;
  std::vector<MidRad> terms;
  Real magnitude = 0;
  for (size_t i = 0; i < depth; ++i) {
    terms.push_back(m.mul(q[left + i], k[right + i]));
    magnitude += std::fabs(terms.back().v) + terms.back().e;
  }
  auto scale = static_cast<Real>(step.op.f64("scale"));
  MidRad y = m.mul(sumOf(m, terms), m.constant(scale));
  y.e += std::isfinite(magnitude) ? 3 * m.u * magnitude * std::fabs(scale) : 0;
  if (auto cap = static_cast<Real>(step.op.f64("soft_cap")); cap != 0) {
    MidRad inner = m.div(y, m.constant(cap));
    y = m.mul(call(
                  m, "tanh", [](Real z) { return std::tanh(z); }, inner),
              m.constant(cap));
  }
  return mask ? m.add(y, (*mask)[maskAt(batch, head, row, column)]) : y;
}

/// Softmax of a row of scores, each as an element of v; 0 where all of it is
/// -infinity. A target may round before it divides: half a unit in the last
/// place of a number in another binade.
std::vector<MidRad> Attention::weights(size_t batch, size_t head,
                                       size_t row) const {
  std::vector<MidRad> scores;
  for (size_t column = 0; column < dim(keys, 2); ++column)
    scores.push_back(score(batch, head, row, column));
  Real top = topOf(scores);
  if (top == -infinity)
    return std::vector<MidRad>(scores.size());
  std::vector<MidRad> powers = powersOf(m, scores, top);
  MidRad sum = sumOf(m, powers);
  for (MidRad &power : powers) {
    power = shareOf(m, power, sum);
    if (isNarrowFloat(step.dtype))
      power = roundedTo(step.numerics, step.dtype, power, 1);
  }
  return powers;
}

Result<std::vector<Value>> attention(const Step &step) {
  Attention a(step);
  auto causal = step.sizes("causal");
  if (!causal)
    return causal.status();
  if (!causal->empty())
    a.causal = causal->front();
  Value result = step.inexact(step.dtype);
  size_t width = a.dim(a.values, 3), length = a.dim(a.keys, 2);
  for (size_t i = 0; width && i < result.bounded.size(); i += width) {
    size_t row = i / width % a.dim(a.sizes, 2);
    size_t heads = i / width / a.dim(a.sizes, 2);
    size_t head = heads % a.dim(a.sizes, 1), batch = heads / a.dim(a.sizes, 1);
    std::vector<MidRad> weights = a.weights(batch, head, row);
    size_t base = a.shared(batch, head) * length * width;
    for (size_t e = 0; e < width; ++e) {
      std::vector<MidRad> terms;
      for (size_t t = 0; t < length; ++t)
        terms.push_back(a.m.mul(weights[t], a.v[base + t * width + e]));
      result.bounded[i + e] =
          roundedTo(step.numerics, step.dtype, sumOf(a.m, terms));
    }
  }
  return one(std::move(result));
}

// ---- rotary ----

Result<std::vector<Value>> rotary(const Step &step) {
  Numbers x(step.operand(0), true), cosine(step.operand(1), true),
      sine(step.operand(2), true);
  Arithmetic m = step.arithmetic(step.dtype);
  Value result = step.inexact(step.dtype);
  bool isInterleaved = step.op.i64("interleaved") != 0;
  auto depth = static_cast<size_t>(step.dims[3]), half = depth / 2;
  auto rows = static_cast<size_t>(step.dims[2]);
  auto heads = static_cast<size_t>(step.dims[1]);
  for (size_t line = 0; depth && line < result.bounded.size() / depth; ++line) {
    size_t angle = (line / rows / heads * rows + line % rows) * half;
    for (size_t i = 0; i < half; ++i) {
      size_t first = line * depth + (isInterleaved ? 2 * i : i);
      size_t second = isInterleaved ? first + 1 : first + half;
      MidRad p = x[first], q = x[second], c = cosine[angle + i],
             s = sine[angle + i];
      result.bounded[first] =
          roundedTo(step.numerics, step.dtype, m.sub(m.mul(p, c), m.mul(q, s)));
      result.bounded[second] =
          roundedTo(step.numerics, step.dtype, m.add(m.mul(p, s), m.mul(q, c)));
    }
  }
  return one(std::move(result));
}

} // namespace

void addSoftmaxRules(Rules &rules) {
  rules["softmax"] = rules["log_softmax"] = softmax;
  rules["log_sum_exp"] = logSumExp;
  rules["attention"] = attention;
  rules["rotary"] = rotary;
}

} // namespace backplane::conformance
