// SPDX-License-Identifier: Apache-2.0
//
// Half.cpp: arithmetic of f16 and bf16, alone and in pairs, rounded once to
// nearest even. Sums and products are exact in f64 or f32 before that.
#include "Lanes.h"

#include <cmath>

namespace emulator {
namespace {

enum class Op : uint32_t { Add, Sub, Mul, Fma, Min, Max, Neg, Abs };
enum : uint32_t { kFtz = 1, kSat = 2, kRelu = 4, kNan = 8, kMagnitude = 16 };

// Through f32 rounded to odd, which leaves the second rounding right.
template <class T> T rounded(double value) {
  auto narrow = float(value);
  auto bits = std::bit_cast<uint32_t>(narrow);
  if (double(narrow) != value && !isNan(value)) {
    bits -= std::fabs(double(narrow)) > std::fabs(value);
    bits |= 1;
  }
  return T::from(std::bit_cast<float>(bits));
}

// f32 has enough bits to add and to multiply without rounding twice.
template <class T> T addOrMul(Op op, float a, float b) {
  return T::from(op == Op::Add ? a + b : op == Op::Sub ? a - b : a * b);
}

template <class T> T fused(T a, T b, T c) {
  return rounded<T>(
      addToOdd(double(a.value()) * double(b.value()), double(c.value())));
}

template <class T> T extreme(T a, T b, bool isMax, uint32_t modifiers) {
  float left = a.value(), right = b.value();
  bool nan = modifiers & kNan;
  if (isNan(left) || isNan(right)) {
    if (nan || (isNan(left) && isNan(right)))
      return {0x7fff};
    return isNan(left) ? b : a;
  }
  uint16_t sign = 0;
  if (modifiers & kMagnitude) {
    sign = uint16_t((a.bits ^ b.bits) & 0x8000);
    a.bits &= 0x7fff, b.bits &= 0x7fff;
    left = std::fabs(left), right = std::fabs(right);
  }
  bool isBelow = left < right ||
                 (left == right && std::signbit(left) && !std::signbit(right));
  T result = isBelow == isMax ? b : a;
  result.bits |= sign;
  return result;
}

// Subnormals of f16 to zero, when .ftz is there.
template <class T> T flushed(T value, bool ftz) {
  constexpr uint16_t exponent = uint16_t(T::format.largest + 1);
  return ftz && !(value.bits & exponent) ? T{uint16_t(value.bits & 0x8000)}
                                         : value;
}

template <class T> T compute(Op op, uint32_t modifiers, T a, T b, T c) {
  bool ftz = modifiers & kFtz;
  a = flushed(a, ftz), b = flushed(b, ftz), c = flushed(c, ftz);
  T result{};
  switch (op) {
  case Op::Add:
  case Op::Sub:
  case Op::Mul:
    result = addOrMul<T>(op, a.value(), b.value());
    break;
  case Op::Fma:
    result = fused(a, b, c);
    break;
  case Op::Min:
  case Op::Max:
    result = extreme(a, b, op == Op::Max, modifiers);
    break;
  case Op::Neg:
    result = {uint16_t(a.bits ^ 0x8000)};
    break;
  case Op::Abs:
    result = {uint16_t(a.bits & 0x7fff)};
    break;
  }
  result = flushed(result, ftz);
  float value = result.value();
  if (modifiers & kSat)
    return value >= 0 ? (value > 1 ? T::from(1) : result) : T{0};
  // .relu keeps NaNs, in the canonical form.
  if ((modifiers & kRelu) && value < 0)
    return {0};
  if ((modifiers & kRelu) && (result.bits == 0x8000))
    return {0};
  return result;
}

template <class T> void halves(Warp &warp, const Inst &inst) {
  const uint32_t parts = inst.b;
  const auto op = Op(inst.a & 0xff);
  const uint32_t modifiers = inst.a >> 8;
  const T *a = warp.values<T>(inst, 1);
  const T *b = inst.sources > 1 ? warp.values<T>(inst, 2) : a;
  const T *c = inst.sources > 2 ? warp.values<T>(inst, 3) : a;
  T *to = warp.values<T>(inst, 0);
  for (uint32_t i = 0; i < kLanes; ++i)
    if (warp.mask >> i & 1)
      for (uint32_t k = i * parts; k < (i + 1) * parts; ++k)
        to[k] = compute(op, modifiers, a[k], b[k], c[k]);
}

bool named(const Decoder &d, Op &op, uint32_t &operands) {
  struct Row {
    const char *name;
    Op op;
    uint32_t operands;
  };
  constexpr Row rows[] = {{"add", Op::Add, 2}, {"sub", Op::Sub, 2},
                          {"mul", Op::Mul, 2}, {"fma", Op::Fma, 3},
                          {"min", Op::Min, 2}, {"max", Op::Max, 2},
                          {"neg", Op::Neg, 1}, {"abs", Op::Abs, 1}};
  for (const Row &row : rows)
    if (d.is(row.name)) {
      op = row.op;
      operands = row.operands;
      return true;
    }
  return false;
}

uint32_t modifiersOf(Decoder &d) {
  uint32_t modifiers = 0;
  modifiers |= d.take("ftz") ? kFtz : 0;
  modifiers |= d.take("sat") ? kSat : 0;
  modifiers |= d.take("relu") ? kRelu : 0;
  modifiers |= d.take("NaN") ? kNan : 0;
  if (d.take("xorsign")) {
    d.take("abs");
    modifiers |= kMagnitude;
  }
  return modifiers;
}

} // namespace

bool decodeHalf(Decoder &d) {
  Op op = Op::Add;
  uint32_t operands = 0;
  bool single = d.has("f16") || d.has("bf16");
  bool twice = d.has("f16x2") || d.has("bf16x2");
  if ((!single && !twice) || !named(d, op, operands))
    return false;
  bool isHalf = d.has("f16") || d.has("f16x2");
  uint32_t modifiers = modifiersOf(d);
  if (d.takeRounding(Rounding::Nearest) != Rounding::Nearest)
    d.bad("only rounding to nearest is there for these types");
  Type type = d.takeType();
  if (!isHalf && (op == Op::Add || op == Op::Sub || op == Op::Mul))
    d.needs(90);
  d.inst.a = uint32_t(op) | modifiers << 8;
  d.inst.b = twice ? 2 : 1;
  if (op == Op::Fma || op == Op::Mul) {
    d.inst.flags |= kMultiplyAdd;
    d.inst.c = d.inst.b;
  }
  d.result(d.operand(0), type);
  for (uint32_t i = 1; i <= operands; ++i)
    d.source(d.operand(i), type);
  d.finish(isHalf ? halves<half> : halves<bfloat>, Class::Float);
  return true;
}

} // namespace emulator
