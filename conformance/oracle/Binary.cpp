// SPDX-License-Identifier: Apache-2.0
//
// Elementwise ops of two operands.
#include "UlpTable.h"
#include "Value.h"

namespace backplane::conformance {

namespace {

Real lower(Real a, Real b) {
  if (std::isnan(a) || std::isnan(b))
    return notANumber;
  return a < b || (a == b && std::signbit(a)) ? a : b;
}

Real higher(Real a, Real b) {
  if (std::isnan(a) || std::isnan(b))
    return notANumber;
  return a > b || (a == b && !std::signbit(a)) ? a : b;
}

/// Correctly rounded a OP b of f64, and what the rounding left off.
MidRad rounded64(char op, double a, double b) {
  if (op == '*') {
    double p = a * b;
    return {p, std::isfinite(p) ? std::fabs(Real(std::fma(a, b, -p))) : 0};
  }
  double s = a + b;
  if (!std::isfinite(s))
    return {s, 0};
  double part = s - a;
  double rest = (a - (s - part)) + (b - part);
  return {s, std::fabs(Real(rest))};
}

/// The same for any float dtype: rounding to 64 bits first is harmless for
/// formats of at most 31.
MidRad roundedOf(char op, DType dtype, Real a, Real b) {
  if (op == '-')
    b = -b;
  if (dtype == DType::F64)
    return rounded64(op, static_cast<double>(a), static_cast<double>(b));
  Real y = op == '*' ? a * b : a + b;
  Real v = decode(dtype, encode(dtype, y));
  return std::isfinite(v) ? MidRad{v, std::fabs(y - v)} : MidRad{y, 0};
}

/// a OP b in full, without the rounding of the result.
MidRad unrounded(char op, const MidRad &a, const MidRad &b) {
  Arithmetic wide(DType::F64, {});
  wide.u = 0x1p-63L;
  wide.eta = 0;
  wide.max = std::numeric_limits<Real>::max();
  return op == '*'   ? wide.mul(a, b)
         : op == '-' ? wide.sub(a, b)
                     : wide.add(a, b);
}

/// All integers that a OP b may be, one of them uncertain; anything where they
/// may wrap or where intervals say nothing.
MidRad interval(const std::string &op, DType dtype, const MidRad &a,
                const MidRad &b) {
  if (!std::isfinite(a.e) || !std::isfinite(b.e))
    return anything();
  auto apply = [&](Real x, Real y) {
    return op == "add"   ? x + y
           : op == "sub" ? x - y
           : op == "mul" ? x * y
           : op == "min" ? lower(x, y)
                         : higher(x, y);
  };
  Real v = apply(a.v, b.v), low = v, high = v;
  for (Real x : {a.low(), a.high()})
    for (Real y : {b.low(), b.high()}) {
      low = lower(low, apply(x, y));
      high = higher(high, apply(x, y));
    }
  int width = static_cast<int>(bitWidth(dtype)) - isSignedInteger(dtype);
  bool wraps = high >= std::ldexp(Real(1), std::min(width, 62)) ||
               low < (isSignedInteger(dtype) ? -std::ldexp(Real(1), width) : 0);
  return wraps ? anything() : MidRad{v, std::max(v - low, high - v)};
}

/// The same for truth values.
MidRad truth(const std::string &op, const MidRad &a, const MidRad &b) {
  bool x = a.v != 0, y = b.v != 0;
  Real v = op == "and" ? x && y : op == "or" ? x || y : x != y;
  auto decides = [&](const MidRad &in) {
    return op != "xor" && isCertain(in) && (in.v != 0) == (op == "or");
  };
  bool certain = decides(a) || decides(b) || (isCertain(a) && isCertain(b));
  return {v, certain ? Real(0) : Real(1)};
}

/// Each element of the result from those of the operands.
template <typename F>
Result<std::vector<Value>> each(const Step &step, DType dtype, F f) {
  Numbers a(step.operand(0), false), b(step.operand(1), false);
  Value result = step.inexact(dtype);
  for (size_t i = 0; i < result.bounded.size(); ++i)
    result.bounded[i] = f(a[i], b[i]);
  settle(result);
  return one(std::move(result));
}

Result<std::vector<Value>> uncertain(const Step &step) {
  const std::string &op = step.op.name;
  bool isLogic = op == "and" || op == "or" || op == "xor";
  if (op == "div" || op == "rem" || (isLogic && step.dtype != DType::Bool))
    return unimplemented(op + " of uncertain integers");
  return each(step, step.dtype, [&](const MidRad &a, const MidRad &b) {
    return isLogic ? truth(op, a, b) : interval(op, step.dtype, a, b);
  });
}

Result<std::vector<Value>> integers(const Step &step) {
  const Value &a = step.operand(0), &b = step.operand(1);
  if (!a.exact || !b.exact)
    return uncertain(step);
  const std::string &op = step.op.name;
  Value result = step.exact(step.dtype);
  bool isSigned = isSignedInteger(step.dtype);
  for (size_t i = 0; i < result.bits.size(); ++i) {
    auto x = static_cast<uint64_t>(integerOf(step.dtype, a.bits[i]));
    auto y = static_cast<uint64_t>(integerOf(step.dtype, b.bits[i]));
    auto sx = static_cast<int64_t>(x), sy = static_cast<int64_t>(y);
    bool less = isSigned ? sx < sy : x < y;
    uint64_t z = 0;
    if (op == "add")
      z = x + y;
    else if (op == "sub")
      z = x - y;
    else if (op == "mul")
      z = x * y;
    else if (op == "min" || op == "max")
      z = less == (op == "min") ? x : y;
    else if (op == "and")
      z = x & y;
    else if (op == "or")
      z = x | y;
    else if (op == "xor")
      z = x ^ y;
    else if (y == 0)
      return Status(BP_STATUS_OUT_OF_RANGE, "a division by zero");
    else if (isSigned && sy == -1)
      z = op == "div" ? 0 - x : 0;
    else if (op == "div")
      z = isSigned ? static_cast<uint64_t>(sx / sy) : x / y;
    else
      z = isSigned ? static_cast<uint64_t>(sx % sy) : x % y;
    result.bits[i] = bitsOf(step.dtype, static_cast<int64_t>(z));
  }
  return one(std::move(result));
}

Result<std::vector<Value>> shift(const Step &step) {
  const Value &a = step.operand(0), &b = step.operand(1);
  if (!a.exact || !b.exact)
    return unimplemented("a shift of uncertain integers");
  unsigned width = bitWidth(step.dtype);
  bool isLeft = step.op.name == "shl";
  Value result = step.exact(step.dtype);
  for (size_t i = 0; i < result.bits.size(); ++i) {
    int64_t x = integerOf(step.dtype, a.bits[i]);
    uint64_t by = bitsOf(step.dtype, integerOf(step.dtype, b.bits[i]));
    uint64_t y = 0;
    if (isLeft)
      y = by < width ? static_cast<uint64_t>(x) << by : 0;
    else if (isSignedInteger(step.dtype))
      y = static_cast<uint64_t>(x >> std::min<uint64_t>(by, 63));
    else
      y = by < width ? a.bits[i] >> by : 0;
    result.bits[i] = bitsOf(step.dtype, static_cast<int64_t>(y));
  }
  return one(std::move(result));
}

/// f(x, y), and what a target that flushes subnormal operands may give instead.
template <typename F>
MidRad withFlushedInputs(const Step &step, MidRad x, MidRad y, F f) {
  Real normal = smallest(formatOf(step.dtype), true);
  auto flushes = [&](const MidRad &in) {
    return step.numerics.flushesInput && in.v != 0 &&
           std::fabs(in.v) - in.e < normal;
  };
  MidRad result = f(x, y);
  MidRad zeroX{std::copysign(Real(0), x.v), 0};
  MidRad zeroY{std::copysign(Real(0), y.v), 0};
  if (flushes(x))
    result = hull(result, f(zeroX, y));
  if (flushes(y))
    result = hull(result, f(x, zeroY));
  if (flushes(x) && flushes(y))
    result = hull(result, f(zeroX, zeroY));
  return result;
}

/// add, sub, mul of floats: correctly rounded.
Result<std::vector<Value>> arithmetic(const Step &step) {
  if (!isFloat(step.dtype))
    return integers(step);
  char op = step.op.name == "add" ? '+' : step.op.name == "sub" ? '-' : '*';
  bool contracts = step.numerics.contracts && op != '*';
  Numbers a(step.operand(0), contracts), b(step.operand(1), contracts);
  const Numerics &numerics = step.numerics;
  bool loose =
      numerics.roundsToZero || numerics.flushesInput || numerics.flushesOutput;
  Value result = step.exact(step.dtype);
  result.exact = !loose && a.certain() && b.certain() &&
                 step.operand(0).exact && step.operand(1).exact;
  bool alwaysExact = !loose && step.operand(0).exact && step.operand(1).exact;
  Numbers ownA(step.operand(0), false), ownB(step.operand(1), false);
  alwaysExact &= ownA.certain() && ownB.certain() && result.exact;
  result.bounded.resize(result.bits.size());
  for (size_t i = 0; i < result.bits.size(); ++i) {
    MidRad x = a[i], y = b[i];
    if (alwaysExact) {
      MidRad z = roundedOf(op, step.dtype, x.v, y.v);
      result.bounded[i] = z;
      result.bits[i] = encode(step.dtype, z.v);
      continue;
    }
    MidRad z =
        withFlushedInputs(step, x, y, [&](const MidRad &p, const MidRad &q) {
          return unrounded(op, p, q);
        });
    result.bounded[i] = roundedTo(numerics, step.dtype, z);
  }
  if (!result.exact)
    result.bits.clear();
  return one(std::move(result));
}

MidRad extreme(bool low, const MidRad &a, const MidRad &b) {
  if (std::isnan(a.v) || std::isnan(b.v))
    return {notANumber, 0};
  if (isAnything(a) || isAnything(b))
    return anything();
  Real v = low ? lower(a.v, b.v) : higher(a.v, b.v);
  if (std::isinf(a.e) || std::isinf(b.e))
    return anyNumber(v);
  Real bottom = low ? lower(a.low(), b.low()) : higher(a.low(), b.low());
  Real top = low ? lower(a.high(), b.high()) : higher(a.high(), b.high());
  return {v, std::isinf(v) ? 0 : std::max(v - bottom, top - v)};
}

Result<std::vector<Value>> minMax(const Step &step) {
  if (!isFloat(step.dtype))
    return integers(step);
  return each(step, step.dtype, [&](const MidRad &a, const MidRad &b) {
    return extreme(step.op.name == "min", a, b);
  });
}

/// f, with the error that its op may have.
template <typename F>
Result<std::vector<Value>> withinUlps(const Step &step, F f) {
  Numbers a(step.operand(0), true), b(step.operand(1), true);
  Real ulps = ulpsOf(step.op.name, step.dtype, step.declaration.strict);
  Value result = step.inexact(step.dtype);
  for (size_t i = 0; i < result.bounded.size(); ++i)
    result.bounded[i] = roundedTo(step.numerics, step.dtype,
                                  withFlushedInputs(step, a[i], b[i], f), ulps);
  return one(std::move(result));
}

Result<std::vector<Value>> divide(const Step &step) {
  if (!isFloat(step.dtype))
    return integers(step);
  Arithmetic wide(DType::F64, {});
  wide.u = 0x1p-63L;
  wide.eta = 0;
  wide.max = std::numeric_limits<Real>::max();
  return withinUlps(
      step, [&](const MidRad &x, const MidRad &y) { return wide.div(x, y); });
}

Result<std::vector<Value>> remainder(const Step &step) {
  if (!isFloat(step.dtype))
    return integers(step);
  return each(step, step.dtype, [](const MidRad &x, const MidRad &y) {
    if (isCertain(x) && isCertain(y))
      return MidRad{std::fmod(x.v, y.v), 0};
    return MidRad{0, mayBeZero(y) ? notANumber : y.high()};
  });
}

/// pow is monotone in each operand where a > 0: the corners bound it.
MidRad power(const MidRad &a, const MidRad &b) {
  Real v = std::pow(a.v, b.v);
  if (isCertain(a) && isCertain(b))
    return {v, 0};
  if (!std::isfinite(a.e) || !std::isfinite(b.e) || a.low() <= 0)
    return anything();
  MidRad y{v, 0};
  for (Real x : {a.low(), a.high()})
    for (Real z : {b.low(), b.high()})
      y.e = std::max(y.e, std::fabs(std::pow(x, z) - v));
  return y;
}

Result<std::vector<Value>> pow(const Step &step) {
  return withinUlps(step, power);
}

template <typename T> bool relation(const std::string &direction, T a, T b) {
  if (direction == "eq")
    return a == b;
  if (direction == "ne")
    return a != b;
  if (direction == "lt")
    return a < b;
  if (direction == "le")
    return a <= b;
  return direction == "gt" ? a > b : a >= b;
}

Result<std::vector<Value>> compare(const Step &step) {
  std::string direction = step.op.string("direction");
  return each(step, DType::Bool, [&](const MidRad &p, const MidRad &q) {
    bool holds = relation(direction, p.v, q.v);
    bool open = !(isCertain(p) && isCertain(q)) && !std::isnan(p.v) &&
                !std::isnan(q.v) && !(std::fabs(p.v - q.v) > p.e + q.e);
    return MidRad{holds ? Real(1) : Real(0), open ? Real(1) : Real(0)};
  });
}

} // namespace

void addBinaryRules(Rules &rules) {
  for (const char *name : {"add", "sub", "mul"})
    rules[name] = arithmetic;
  for (const char *name : {"and", "or", "xor"})
    rules[name] = integers;
  rules["shl"] = rules["shr"] = shift;
  rules["min"] = rules["max"] = minMax;
  rules["div"] = divide;
  rules["rem"] = remainder;
  rules["pow"] = pow;
  rules["compare"] = compare;
}

} // namespace backplane::conformance
