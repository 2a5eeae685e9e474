// SPDX-License-Identifier: Apache-2.0
//
// Elementwise ops of one operand, and cast.
#include "UlpTable.h"
#include "Value.h"

namespace backplane::conformance {

namespace {

using Function = Real (*)(Real);

Real signOf(Real x) { return x > 0 ? 1 : x < 0 ? -1 : x; }

/// Steps of height `step`: an uncertain operand may land on the next one.
MidRad exactOf(const std::string &op, const MidRad &x) {
  if (op == "neg")
    return {-x.v, x.e};
  if (op == "abs") {
    MidRad y{std::fabs(x.v), x.e};
    return y;
  }
  if (op == "sign")
    return monotone(signOf, x);
  if (op == "floor")
    return monotone([](Real z) { return std::floor(z); }, x);
  if (op == "ceil")
    return monotone([](Real z) { return std::ceil(z); }, x);
  if (op == "round_even")
    return monotone([](Real z) { return std::rint(z); }, x);
  return monotone([](Real z) { return std::trunc(z); }, x);
}

Result<std::vector<Value>> exactUnary(const Step &step) {
  const Value &x = step.operand(0);
  Numbers in(x, false);
  const std::string &op = step.op.name;
  if (!in.certain()) {
    Value result = step.inexact(step.dtype);
    for (size_t i = 0; i < result.bounded.size(); ++i)
      result.bounded[i] = exactOf(op, in[i]);
    return one(std::move(result));
  }
  Value result = step.exact(step.dtype);
  for (size_t i = 0; i < result.bits.size(); ++i) {
    if (isFloat(step.dtype)) {
      Real y = exactOf(op, in[i]).v;
      result.bits[i] = encode(step.dtype, y);
      continue;
    }
    auto n = static_cast<uint64_t>(integerOf(step.dtype, x.bits[i]));
    bool negative = isSignedInteger(step.dtype) && static_cast<int64_t>(n) < 0;
    if (op == "neg" || (op == "abs" && negative))
      n = 0 - n;
    result.bits[i] = bitsOf(step.dtype, static_cast<int64_t>(n));
  }
  return one(std::move(result));
}

Result<std::vector<Value>> complement(const Step &step) {
  const Value &x = step.operand(0);
  if (!x.exact) {
    Value result = x;
    for (MidRad &b : result.bounded)
      b.v = 1 - b.v;
    return one(std::move(result));
  }
  Value result = step.exact(step.dtype);
  for (size_t i = 0; i < result.bits.size(); ++i)
    result.bits[i] = step.dtype == DType::Bool
                         ? x.bits[i] == 0
                         : bitsOf(step.dtype, static_cast<int64_t>(~x.bits[i]));
  return one(std::move(result));
}

Result<std::vector<Value>> isKind(const Step &step) {
  Numbers in(step.operand(0), false);
  bool nan = step.op.name == "is_nan";
  Value result = step.inexact(DType::Bool);
  for (size_t i = 0; i < result.bounded.size(); ++i) {
    MidRad x = in[i];
    Real holds = nan ? std::isnan(x.v) : std::isinf(x.v);
    bool open =
        !std::isnan(x.v) && (isAnything(x) || (!nan && std::isinf(x.e)));
    result.bounded[i] = {holds, open ? Real(1) : Real(0)};
  }
  settle(result);
  return one(std::move(result));
}

struct Named {
  std::string_view name;
  Function f;
};

#define BP_FUNCTION(name) {#name, [](Real x) { return std::name(x); }}
constexpr Named functions[] = {
    BP_FUNCTION(sqrt),
    BP_FUNCTION(exp),
    BP_FUNCTION(log),
    BP_FUNCTION(log1p),
    BP_FUNCTION(expm1),
    BP_FUNCTION(sin),
    BP_FUNCTION(cos),
    BP_FUNCTION(tan),
    BP_FUNCTION(atan),
    BP_FUNCTION(tanh),
    BP_FUNCTION(erf),
    BP_FUNCTION(asin),
    BP_FUNCTION(acos),
    BP_FUNCTION(sinh),
    BP_FUNCTION(cosh),
    BP_FUNCTION(asinh),
    BP_FUNCTION(acosh),
    BP_FUNCTION(atanh),
    {"rsqrt", [](Real x) { return 1 / std::sqrt(x); }},
    {"recip", [](Real x) { return 1 / x; }},
};
#undef BP_FUNCTION

/// f over the interval, by what is known of its shape.
MidRad overInterval(std::string_view op, Function f, const MidRad &x) {
  if (isCertain(x))
    return {f(x.v), 0};
  if (!std::isfinite(x.v) || !std::isfinite(x.e))
    return anything();
  if (op == "sin" || op == "cos") // |f'| <= 1
    return {f(x.v), std::min(x.e, Real(2))};
  if (op == "tan") {
    Real c = std::fabs(std::cos(x.v)) - x.e;
    return c > 0 ? MidRad{f(x.v), x.e / (c * c)} : anyNumber(0);
  }
  if (op == "recip" && mayBeZero(x))
    return anyNumber(0);
  MidRad y = monotone(f, x);
  if (op == "cosh" && mayBeZero(x))
    y.e = std::max(y.e, y.v - 1);
  return y;
}

/// What a target that flushes subnormal operands may give instead.
MidRad withFlushedInput(const Step &step, Function f, const MidRad &x,
                        MidRad y) {
  Real normal = smallest(formatOf(step.dtype), true);
  if (!step.numerics.flushesInput || x.v == 0 ||
      !(std::fabs(x.v) - x.e < normal))
    return y;
  return hull(y, {f(std::copysign(Real(0), x.v)), 0});
}

Result<std::vector<Value>> function(const Step &step) {
  Function f = nullptr;
  for (const Named &named : functions)
    if (named.name == step.op.name)
      f = named.f;
  Numbers in(step.operand(0), true);
  Real ulps = ulpsOf(step.op.name, step.dtype, step.declaration.strict);
  Value result = step.inexact(step.dtype);
  for (size_t i = 0; i < result.bounded.size(); ++i) {
    MidRad x = in[i];
    MidRad y = overInterval(step.op.name, f, x);
    y = withFlushedInput(step, f, x, y);
    result.bounded[i] = roundedTo(step.numerics, step.dtype, y, ulps);
  }
  return one(std::move(result));
}

// ---- cast ----

/// Lowest and highest of an integer type.
std::pair<Real, Real> rangeOf(DType type) {
  int width = static_cast<int>(bitWidth(type));
  if (isSignedInteger(type))
    return {-std::ldexp(Real(1), width - 1),
            std::ldexp(Real(1), width - 1) - 1};
  return {0, std::ldexp(Real(1), width) - 1};
}

Real truncated(DType to, Real x) {
  auto [low, high] = rangeOf(to);
  return std::isnan(x) ? 0 : std::min(std::max(std::trunc(x), low), high);
}

uint64_t castBits(DType from, DType to, uint64_t bits) {
  if (to == DType::Bool)
    return isFloat(from) ? decode(from, bits) != 0 : bits != 0;
  if (isFloat(to))
    return encode(to, numberOf(from, bits));
  if (isFloat(from))
    return elementBits(to, truncated(to, decode(from, bits)));
  return bitsOf(to, integerOf(from, bits));
}

MidRad castMidRad(const Step &step, DType from, const MidRad &x) {
  DType to = step.dtype;
  if (to == DType::Bool)
    return {x.v != 0 ? Real(1) : Real(0),
            isCertain(x) || !mayBeZero(x) ? Real(0) : Real(1)};
  if (isFloat(to))
    return roundedTo(step.numerics, to, x);
  if (!isFloat(from))
    return x;
  if (!std::isnan(x.v) && isAnything(x))
    return anyNumber(0);
  return monotone([to](Real z) { return truncated(to, z); }, x);
}

Result<std::vector<Value>> cast(const Step &step) {
  const Value &x = step.operand(0);
  bool fromFloat = isFloat(x.dtype);
  Numbers in(x, fromFloat && isFloat(step.dtype));
  if (!in.certain()) {
    Value result = step.inexact(step.dtype);
    for (size_t i = 0; i < result.bounded.size(); ++i)
      result.bounded[i] = castMidRad(step, x.dtype, in[i]);
    if (!x.exact)
      return one(std::move(result));
    result.exact = true;
    result.bits.resize(x.bits.size());
    for (size_t i = 0; i < x.bits.size(); ++i)
      result.bits[i] = castBits(x.dtype, step.dtype, x.bits[i]);
    return one(std::move(result));
  }
  Value result = step.exact(step.dtype);
  for (size_t i = 0; i < result.bits.size(); ++i)
    result.bits[i] = castBits(x.dtype, step.dtype, x.bits[i]);
  return one(std::move(result));
}

} // namespace

void addUnaryRules(Rules &rules) {
  for (const char *name :
       {"neg", "abs", "sign", "floor", "ceil", "round_even", "trunc"})
    rules[name] = exactUnary;
  rules["not"] = complement;
  rules["is_nan"] = rules["is_inf"] = isKind;
  rules["cast"] = cast;
  for (const Named &named : functions)
    rules[named.name] = function;
}

} // namespace backplane::conformance
