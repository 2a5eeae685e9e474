// SPDX-License-Identifier: Apache-2.0
//
// Activations: running error analysis of the formula that the op table gives,
// in the precision declared for the inside of composites.
#include "Running.h"
#include "sdk/support/Element.h"

#include <numbers>

namespace backplane::conformance {

namespace {

MidRad clampTo(const MidRad &x, Real low, Real high) {
  if (isAnything(x) || std::isnan(x.v))
    return x;
  return monotone([=](Real z) { return std::min(largerOf(z, low), high); }, x);
}

MidRad logistic(const Arithmetic &m, const MidRad &x) {
  MidRad y = monotone(
      [](Real z) {
        Real e = std::exp(-std::fabs(z));
        return z < 0 ? e / (1 + e) : 1 / (1 + e);
      },
      x);
  // exp(-x) and the sum may overflow to a result of 0 where it is tiny.
  MidRad rounded = m.rounded(y.v, y.e, ulpsOf("sigmoid", m.limits, m.strict));
  if (!std::isnan(y.v) && std::fabs(y.v) < 4 / m.max)
    rounded.e += std::fabs(y.v);
  return rounded;
}

MidRad gelu(const Arithmetic &m, const MidRad &x, bool byTanh) {
  MidRad inner;
  if (byTanh) {
    MidRad cubic = m.mul(m.mul(x, x), x);
    MidRad sum = m.add(x, m.mul(cubic, m.constant(0.044715L)));
    Real factor = std::sqrt(2 / std::numbers::pi_v<Real>);
    inner = call(
        m, "tanh", [](Real z) { return std::tanh(z); },
        m.mul(sum, m.constant(factor)));
  } else {
    MidRad scaled = m.mul(x, m.constant(std::sqrt(Real(0.5))));
    inner = call(m, "erf", [](Real z) { return std::erf(z); }, scaled);
  }
  return m.mul(m.mul(x, {0.5L, 0}), m.add(inner, {1, 0}));
}

MidRad softplus(const Arithmetic &m, const MidRad &x) {
  // monotone in x as a whole, with the roundings of exp and log1p.
  MidRad y = monotone(
      [](Real z) {
        return largerOf(z, 0) + std::log1p(std::exp(-std::fabs(z)));
      },
      x);
  Real ulps = ulpsOf("exp", m.limits, m.strict) +
              ulpsOf("log1p", m.limits, m.strict) + 0.5L;
  return m.rounded(y.v, y.e, ulps);
}

MidRad scaledClamp(const Arithmetic &m, const MidRad &x, Real alpha,
                   Real beta) {
  return clampTo(m.add(m.mul(x, m.constant(alpha)), m.constant(beta)), 0, 1);
}

/// x / (1 + |x|), monotone; the sum and the quotient round.
MidRad softsign(const Arithmetic &m, const MidRad &x) {
  MidRad y = monotone([](Real z) { return z / (1 + std::fabs(z)); }, x);
  return m.rounded(y.v, y.e, ulpsOf("div", m.limits, m.strict) + 0.5L);
}

MidRad mish(const Arithmetic &m, const MidRad &x) {
  return m.mul(
      x, call(m, "tanh", [](Real z) { return std::tanh(z); }, softplus(m, x)));
}

MidRad expm1Of(const Arithmetic &m, const MidRad &x) {
  return call(m, "expm1", [](Real z) { return std::expm1(z); }, x);
}

/// x on one side of zero and `other` on the other.
MidRad piecewise(const MidRad &x, bool positive, const MidRad &other) {
  if (std::isnan(x.v))
    return x;
  if (isCertain(x) || std::fabs(x.v) > x.e)
    return positive ? x : other;
  return hull(x, other);
}

/// Activations with factors.
MidRad scaledActivation(const Step &step, const Arithmetic &m,
                        const MidRad &x) {
  const std::string &op = step.op.name;
  auto alpha = static_cast<Real>(step.op.f64("alpha"));
  if (op == "hard_sigmoid")
    return scaledClamp(m, x, alpha, static_cast<Real>(step.op.f64("beta")));
  if (op == "leaky_relu")
    return piecewise(x, x.v >= 0, m.mul(x, m.constant(alpha)));
  if (op == "celu") {
    MidRad power = expm1Of(m, m.div(x, m.constant(alpha)));
    return piecewise(x, x.v > 0, m.mul(power, m.constant(alpha)));
  }
  MidRad y = piecewise(x, x.v > 0, m.mul(expm1Of(m, x), m.constant(alpha)));
  if (op == "elu")
    return y;
  return m.mul(y, m.constant(static_cast<Real>(step.op.f64("gamma"))));
}

MidRad activation(const Step &step, const Arithmetic &m, const MidRad &x) {
  const std::string &op = step.op.name;
  if (op == "sigmoid")
    return logistic(m, x);
  if (op == "silu")
    return m.mul(x, logistic(m, x));
  if (op == "softplus")
    return softplus(m, x);
  if (op == "softsign")
    return softsign(m, x);
  if (op == "mish")
    return mish(m, x);
  if (op == "hard_swish")
    return m.mul(x, scaledClamp(m, x, Real(1) / 6, 0.5L));
  if (op == "gelu")
    return gelu(m, x, step.op.string("approximate") == "tanh");
  return scaledActivation(step, m, x);
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
    MidRad y = x[i];
    bool minusZero = y.v == 0 && isCertain(y) && low == 0;
    result.bounded[i] = minusZero ? MidRad{low, 0} : clampTo(y, low, high);
  }
  settle(result);
  return one(std::move(result));
}

Result<std::vector<Value>> preluOfIntegers(const Step &step) {
  const Value &x = step.operand(0), &slope = step.operand(1);
  if (!x.exact || !slope.exact)
    return unimplemented("prelu of uncertain integers");
  Value result = step.exact(step.dtype);
  for (size_t i = 0; i < result.bits.size(); ++i) {
    int64_t own = integerOf(step.dtype, x.bits[i]);
    auto product = static_cast<uint64_t>(own) *
                   static_cast<uint64_t>(integerOf(step.dtype, slope.bits[i]));
    bool isNegative = isSignedInteger(step.dtype) && own < 0;
    result.bits[i] = isNegative
                         ? bitsOf(step.dtype, static_cast<int64_t>(product))
                         : x.bits[i];
  }
  return one(std::move(result));
}

Result<std::vector<Value>> prelu(const Step &step) {
  if (!isFloat(step.dtype))
    return preluOfIntegers(step);
  Numbers x(step.operand(0), true), slope(step.operand(1), true);
  Arithmetic m = step.arithmetic(step.dtype);
  Value result = step.inexact(step.dtype);
  for (size_t i = 0; i < result.bounded.size(); ++i) {
    MidRad y = piecewise(x[i], x[i].v >= 0, m.mul(x[i], slope[i]));
    result.bounded[i] = roundedTo(step.numerics, step.dtype, y);
  }
  return one(std::move(result));
}

} // namespace

void addActivationRules(Rules &rules) {
  for (const char *name :
       {"sigmoid", "silu", "hard_swish", "softplus", "leaky_relu", "elu",
        "hard_sigmoid", "gelu", "selu", "celu", "mish", "softsign"})
    rules[name] = activate;
  rules["relu"] = rules["clamp"] = clamp;
  rules["prelu"] = prelu;
}

} // namespace backplane::conformance
