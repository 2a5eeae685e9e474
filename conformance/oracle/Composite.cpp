// SPDX-License-Identifier: Apache-2.0
//
// Activations, softmax and norms: running error analysis of the formula that
// the op table gives, in the precision declared for the inside of composites.
#include "Sums.h"
#include "UlpTable.h"
#include "sdk/graph/Element.h"

#include <numbers>

namespace backplane::conformance {

namespace {

/// A monotone function with the limit of its table entry.
template <typename F>
Bounded call(const Arithmetic &m, std::string_view op, F f, const Bounded &x) {
  Bounded y = monotone(f, x);
  return m.rounded(y.v, y.e, ulpsOf(op, m.limits, m.strict));
}

Bounded exponential(const Arithmetic &m, const Bounded &x) {
  return call(m, "exp", [](Real z) { return std::exp(z); }, x);
}

Real largerOf(Real z, Real bound) {
  return std::isnan(z) ? z : std::max(z, bound);
}

Bounded clampTo(const Bounded &x, Real low, Real high) {
  if (isAnything(x) || std::isnan(x.v))
    return x;
  return monotone([=](Real z) { return std::min(largerOf(z, low), high); }, x);
}

Bounded logistic(const Arithmetic &m, const Bounded &x) {
  Bounded y = monotone(
      [](Real z) {
        Real e = std::exp(-std::fabs(z));
        return z < 0 ? e / (1 + e) : 1 / (1 + e);
      },
      x);
  // exp(-x) and the sum may overflow to a result of 0 where it is tiny.
  Bounded rounded = m.rounded(y.v, y.e, ulpsOf("sigmoid", m.limits, m.strict));
  if (!std::isnan(y.v) && std::fabs(y.v) < 4 / m.max)
    rounded.e += std::fabs(y.v);
  return rounded;
}

Bounded gelu(const Arithmetic &m, const Bounded &x, bool byTanh) {
  Bounded inner;
  if (byTanh) {
    Bounded cubic = m.mul(m.mul(x, x), x);
    Bounded sum = m.add(x, m.mul(cubic, m.constant(0.044715L)));
    Real factor = std::sqrt(2 / std::numbers::pi_v<Real>);
    inner = call(
        m, "tanh", [](Real z) { return std::tanh(z); },
        m.mul(sum, m.constant(factor)));
  } else {
    Bounded scaled = m.mul(x, m.constant(std::sqrt(Real(0.5))));
    inner = call(m, "erf", [](Real z) { return std::erf(z); }, scaled);
  }
  return m.mul(m.mul(x, {0.5L, 0}), m.add(inner, {1, 0}));
}

Bounded softplus(const Arithmetic &m, const Bounded &x) {
  // monotone in x as a whole, with the roundings of exp and log1p.
  Bounded y = monotone(
      [](Real z) {
        return largerOf(z, 0) + std::log1p(std::exp(-std::fabs(z)));
      },
      x);
  Real ulps = ulpsOf("exp", m.limits, m.strict) +
              ulpsOf("log1p", m.limits, m.strict) + 0.5L;
  return m.rounded(y.v, y.e, ulps);
}

Bounded scaledClamp(const Arithmetic &m, const Bounded &x, Real alpha,
                    Real beta) {
  return clampTo(m.add(m.mul(x, m.constant(alpha)), m.constant(beta)), 0, 1);
}

/// x on one side of zero and `other` on the other.
Bounded piecewise(const Bounded &x, bool positive, const Bounded &other) {
  if (std::isnan(x.v))
    return x;
  if (isCertain(x) || std::fabs(x.v) > x.e)
    return positive ? x : other;
  return hull(x, other);
}

Bounded activation(const Step &step, const Arithmetic &m, const Bounded &x) {
  const std::string &op = step.op.name;
  auto alpha = static_cast<Real>(step.op.f64("alpha"));
  if (op == "sigmoid")
    return logistic(m, x);
  if (op == "silu")
    return m.mul(x, logistic(m, x));
  if (op == "softplus")
    return softplus(m, x);
  if (op == "hard_sigmoid")
    return scaledClamp(m, x, alpha, static_cast<Real>(step.op.f64("beta")));
  if (op == "hard_swish")
    return m.mul(x, scaledClamp(m, x, Real(1) / 6, 0.5L));
  if (op == "leaky_relu")
    return piecewise(x, x.v >= 0, m.mul(x, m.constant(alpha)));
  if (op == "elu") {
    Bounded below = call(m, "expm1", [](Real z) { return std::expm1(z); }, x);
    return piecewise(x, x.v > 0, m.mul(below, m.constant(alpha)));
  }
  return gelu(m, x, step.op.string("approximate") == "tanh");
}

Result<std::vector<Value>> activate(const Step &step) {
  Numbers x(step.operand(0), true);
  Arithmetic m = step.arithmetic(step.dtype);
  Value result = step.inexact(step.dtype);
  for (size_t i = 0; i < result.bounded.size(); ++i)
    result.bounded[i] =
        roundedTo(step.numerics, step.dtype, activation(step, m, x[i]));
  return one(std::move(result));
}

/// relu and clamp: no rounding.
Result<std::vector<Value>> clamp(const Step &step) {
  bool isRelu = step.op.name == "relu";
  auto bound = [&](double value) {
    return static_cast<Real>(
        decodeElement(step.dtype, encodeElement(step.dtype, value), 0));
  };
  Real low = bound(isRelu ? 0 : step.op.f64("low"));
  Real high = bound(isRelu ? HUGE_VAL : step.op.f64("high"));
  Numbers x(step.operand(0), false);
  Value result = step.inexact(step.dtype);
  for (size_t i = 0; i < result.bounded.size(); ++i) {
    Bounded y = x[i];
    bool minusZero = y.v == 0 && isCertain(y) && low == 0;
    result.bounded[i] = minusZero ? Bounded{low, 0} : clampTo(y, low, high);
  }
  settle(result);
  return one(std::move(result));
}

// ---- along an axis ----

/// Index of element `k` of a line: base + k * stride.
struct Lines {
  Lines(const Sizes &dims, size_t axis) {
    size = static_cast<size_t>(dims[axis]);
    stride = static_cast<size_t>(stridesOf(dims)[axis]);
    count = size == 0 ? 0 : countOf(dims) / size;
  }
  size_t base(size_t line) const {
    return line / stride * stride * size + line % stride;
  }
  size_t size, stride, count;
};

/// The bound of a sum of bounded terms in any order.
Bounded sumOf(const Arithmetic &m, const std::vector<Bounded> &terms) {
  Real v = 0, e = 0, magnitude = 0;
  for (const Bounded &x : terms) {
    v += x.v;
    e += x.e;
    magnitude += std::fabs(x.v) + x.e;
  }
  if (!std::isfinite(v))
    return {v, 0};
  Real n = static_cast<Real>(terms.empty() ? 0 : terms.size() - 1);
  e += n * (m.u * magnitude + m.eta);
  return magnitude > m.max ? anyNumber(v) : Bounded{v, e};
}

/// The shift by the maximum cancels whatever its own error is, so it is taken
/// as it stands.
void softmaxLine(const Step &step, const Arithmetic &m, const Numbers &x,
                 const Lines &lines, size_t base, Value &result) {
  bool isLog = step.op.name == "log_softmax";
  Real top = -infinity;
  for (size_t k = 0; k < lines.size; ++k) {
    Real v = x[base + k * lines.stride].v;
    top = std::isnan(v) ? v : std::isnan(top) ? top : std::max(top, v);
  }
  std::vector<Bounded> low, e;
  for (size_t k = 0; k < lines.size; ++k) {
    low.push_back(m.sub(x[base + k * lines.stride], {top, 0}));
    e.push_back(exponential(m, low.back()));
  }
  Bounded sum = sumOf(m, e);
  Bounded logSum = isLog
                       ? call(
                             m, "log", [](Real z) { return std::log(z); }, sum)
                       : Bounded();
  for (size_t k = 0; k < lines.size; ++k) {
    Bounded y = isLog ? m.sub(low[k], logSum) : m.div(e[k], sum);
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

Result<std::vector<Value>> layerNorm(const Step &step) {
  Numbers x(step.operand(0), true), scale(step.operand(1), true),
      bias(step.operand(2), true);
  Arithmetic m = step.arithmetic(step.dtype);
  Value result = step.inexact(step.dtype);
  size_t size = step.operand(1).count();
  Bounded number{static_cast<Real>(size), 0};
  Bounded epsilon = m.constant(static_cast<Real>(step.op.f64("epsilon")));
  std::vector<Bounded> terms(size), squares(size);
  for (size_t base = 0; size && base < result.bounded.size(); base += size) {
    for (size_t k = 0; k < size; ++k)
      terms[k] = x[base + k];
    Bounded mean = m.div(sumOf(m, terms), number);
    for (size_t k = 0; k < size; ++k) {
      terms[k] = m.sub(terms[k], mean);
      squares[k] = m.mul(terms[k], terms[k]);
    }
    Bounded variance = m.div(sumOf(m, squares), number);
    Bounded deviation = m.sqrt(m.add(variance, epsilon));
    for (size_t k = 0; k < size; ++k) {
      // A factor 1 / deviation in place of the quotient rounds once more.
      Bounded normal = m.div(terms[k], deviation);
      normal = m.rounded(normal.v, normal.e, 1);
      Bounded y = m.add(m.mul(normal, scale[k]), bias[k]);
      result.bounded[base + k] = roundedTo(step.numerics, step.dtype, y);
    }
  }
  return one(std::move(result));
}

/// Either (x - mean) / deviation * scale + bias, or x * factor + offset with
/// both of them computed before: the larger of the two bounds.
Result<std::vector<Value>> batchNorm(const Step &step) {
  Numbers x(step.operand(0), true), scale(step.operand(1), true),
      bias(step.operand(2), true), mean(step.operand(3), true),
      variance(step.operand(4), true);
  Arithmetic m = step.arithmetic(step.dtype);
  Value result = step.inexact(step.dtype);
  Bounded epsilon = m.constant(static_cast<Real>(step.op.f64("epsilon")));
  Lines lines(step.dims, 1);
  for (size_t c = 0; c < lines.size; ++c) {
    Bounded factor = m.div(scale[c], m.sqrt(m.add(variance[c], epsilon)));
    factor = m.rounded(factor.v, factor.e, 1);
    Bounded offset = m.sub(bias[c], m.mul(mean[c], factor));
    for (size_t line = 0; line < lines.count; ++line) {
      size_t i = lines.base(line) + c * lines.stride;
      Bounded folded = m.add(m.mul(x[i], factor), offset);
      Bounded direct = m.add(m.mul(m.sub(x[i], mean[c]), factor), bias[c]);
      folded.e = std::isnan(direct.e) ? direct.e : std::max(folded.e, direct.e);
      result.bounded[i] = roundedTo(step.numerics, step.dtype, folded);
    }
  }
  return one(std::move(result));
}

} // namespace

void addCompositeRules(Rules &rules) {
  for (const char *name : {"sigmoid", "silu", "hard_swish", "softplus",
                           "leaky_relu", "elu", "hard_sigmoid", "gelu"})
    rules[name] = activate;
  rules["relu"] = rules["clamp"] = clamp;
  rules["softmax"] = rules["log_softmax"] = softmax;
  rules["layer_norm"] = layerNorm;
  rules["batch_norm"] = batchNorm;
}

} // namespace backplane::conformance
