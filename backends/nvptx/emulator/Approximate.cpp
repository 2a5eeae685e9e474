// SPDX-License-Identifier: Apache-2.0
//
// Approximate.cpp: the functions that a GPU computes approximately. Here each
// is the exact value rounded once, which is within every bound that the ISA
// states; the bits of a GPU differ within these bounds.
#include "Lanes.h"

#include <cmath>

namespace emulator {
namespace {

enum class Approximate : uint32_t {
  Rcp,
  Sqrt,
  Rsqrt,
  Sin,
  Cos,
  Lg2,
  Ex2,
  Tanh,
  Div,
  FullDiv,
};

double exact(Approximate function, double a, double b) {
  switch (function) {
  case Approximate::Rcp:
    return 1.0 / a;
  case Approximate::Sqrt:
    return std::sqrt(a);
  case Approximate::Rsqrt:
    return 1.0 / std::sqrt(a);
  case Approximate::Sin:
    return std::sin(a);
  case Approximate::Cos:
    return std::cos(a);
  case Approximate::Lg2:
    return std::log2(a);
  case Approximate::Ex2:
    return std::exp2(a);
  case Approximate::Tanh:
    return std::tanh(a);
  case Approximate::Div:
    // Between 2^126 and 2^128 the divisor gives zero.
    if (std::fabs(b) > 0x1p126 && std::fabs(b) < 0x1p128)
      return std::isinf(a) ? NAN : std::copysign(0.0, a) * (b < 0 ? -1 : 1);
    return a / b;
  case Approximate::FullDiv:
    return a / b;
  }
  return NAN;
}

template <class T> T canonical(double value) { return T(value); }
template <> float canonical<float>(double value) {
  return isNan(value) ? std::bit_cast<float>(0x7fffffffu) : float(value);
}

template <class T> void approximate(Warp &warp, const Inst &inst) {
  const auto function = Approximate(inst.a);
  const bool ftz = inst.b;
  const T *a = warp.values<T>(inst, 1);
  const T *b = inst.sources > 1 ? warp.values<T>(inst, 2) : a;
  auto clean = [ftz](T value) { return flushIf(value, ftz); };
  T *to = warp.values<T>(inst, 0);
  for (uint32_t i = 0; i < kLanes; ++i)
    if (warp.mask >> i & 1)
      to[i] = clean(canonical<T>(exact(function, clean(a[i]), clean(b[i]))));
}

template <class T> void approximateHalf(Warp &warp, const Inst &inst) {
  const T *a = warp.values<T>(inst, 1);
  T *to = warp.values<T>(inst, 0);
  uint32_t parts = inst.c; // of the 32 bits of a lane, or 1 of 16 bits
  for (uint32_t i = 0; i < kLanes; ++i)
    if (warp.mask >> i & 1)
      for (uint32_t k = 0; k < parts; ++k)
        to[i * parts + k].bits = uint16_t(roundTo(
            T::format, exact(Approximate(inst.a), a[i * parts + k].value(), 0),
            Rounding::Nearest));
}

bool named(const Decoder &d, Approximate &function) {
  struct Row {
    const char *name;
    Approximate function;
  };
  constexpr Row rows[] = {
      {"rcp", Approximate::Rcp},     {"sqrt", Approximate::Sqrt},
      {"rsqrt", Approximate::Rsqrt}, {"sin", Approximate::Sin},
      {"cos", Approximate::Cos},     {"lg2", Approximate::Lg2},
      {"ex2", Approximate::Ex2},     {"tanh", Approximate::Tanh},
      {"div", Approximate::Div}};
  for (const Row &row : rows)
    if (d.is(row.name)) {
      function = row.function;
      return true;
    }
  return false;
}

} // namespace

bool decodeApproximate(Decoder &d) {
  Approximate function = Approximate::Rcp;
  if (!named(d, function) || (!d.has("approx") && !d.has("full")))
    return false;
  if (d.take("full"))
    function = Approximate::FullDiv;
  d.take("approx");
  d.inst.b = d.take("ftz");
  d.inst.a = uint32_t(function);
  Type type = d.takeType();
  d.result(d.operand(0), type);
  d.source(d.operand(1), type);
  if (d.is("div"))
    d.source(d.operand(2), type);
  d.inst.c = bytesOf(type) / 2;
  Handler handler = nullptr;
  switch (type) {
  case Type::F32:
    handler = approximate<float>;
    break;
  case Type::F64:
    handler = d.is("rcp") || d.is("rsqrt") ? approximate<double> : nullptr;
    break;
  case Type::F16:
  case Type::F16x2:
    handler = d.is("ex2") || d.is("tanh") ? approximateHalf<half> : nullptr;
    break;
  case Type::BF16:
  case Type::BF16x2:
    d.needs(90);
    handler = d.is("ex2") || d.is("tanh") ? approximateHalf<bfloat> : nullptr;
    break;
  default:
    break;
  }
  // Only multiply-adds are counted by c.
  d.finish(handler, Class::Float);
  return true;
}

} // namespace emulator
