// SPDX-License-Identifier: Apache-2.0
//
// Float.cpp: arithmetic of f32 and f64, correctly rounded.
#include "Lanes.h"
#include "Rounded.h"

#include <cmath>

namespace emulator {
namespace {

template <bool Ftz, class T> T in(T value) {
  if constexpr (Ftz)
    return flush(value);
  else
    return value;
}
template <bool Ftz, bool Sat, class T> T out(T value) {
  value = in<Ftz>(value);
  if constexpr (Sat)
    return value >= 0 ? std::min(value, T(1)) : T(0); // NaN becomes 0
  return value;
}

template <class T, bool Ftz, bool Sat> struct Add {
  T operator()(T a, T b) const {
    return out<Ftz, Sat>(in<Ftz>(a) + in<Ftz>(b));
  }
};
template <class T, bool Ftz, bool Sat> struct Sub {
  T operator()(T a, T b) const {
    return out<Ftz, Sat>(in<Ftz>(a) - in<Ftz>(b));
  }
};
template <class T, bool Ftz, bool Sat> struct Mul {
  T operator()(T a, T b) const {
    return out<Ftz, Sat>(in<Ftz>(a) * in<Ftz>(b));
  }
};
template <class T, bool Ftz, bool Sat> struct Fma {
  T operator()(T a, T b, T c) const {
    return out<Ftz, Sat>(std::fma(in<Ftz>(a), in<Ftz>(b), in<Ftz>(c)));
  }
};
template <class T, bool Ftz, bool Sat> struct Div {
  T operator()(T a, T b) const {
    return out<Ftz, Sat>(in<Ftz>(a) / in<Ftz>(b));
  }
};

// The common case, with the instruction of the processor where it has one.
template <class T, bool Vector>
__attribute__((always_inline)) inline void
fmaLoop(T *to, const T *a, const T *b, const T *c, uint32_t mask) {
  if (mask == kAll) {
    BP_EACH_LANE to[i] = std::fma(a[i], b[i], c[i]);
    return;
  }
  for (uint32_t i = 0; i < kLanes; ++i)
    if (mask >> i & 1)
      to[i] = std::fma(a[i], b[i], c[i]);
}
#if defined(__x86_64__)
template <class T>
__attribute__((target("avx2,fma"))) void fmaWide(Warp &warp, const Inst &inst) {
  fmaLoop<T, true>(warp.values<T>(inst, 0), warp.values<T>(inst, 1),
                   warp.values<T>(inst, 2), warp.values<T>(inst, 3), warp.mask);
}
bool hasFma() {
  static const bool has =
      __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2");
  return has;
}
#endif
template <class T> void fmaPlain(Warp &warp, const Inst &inst) {
  fmaLoop<T, false>(warp.values<T>(inst, 0), warp.values<T>(inst, 1),
                    warp.values<T>(inst, 2), warp.values<T>(inst, 3),
                    warp.mask);
}
template <class T> Handler plainFma() {
#if defined(__x86_64__)
  if (hasFma())
    return fmaWide<T>;
#endif
  return fmaPlain<T>;
}

// Any operation in any rounding mode.
template <class T> void directed(Warp &warp, const Inst &inst) {
  const T *operands[3] = {};
  for (uint32_t k = 0; k < 3; ++k)
    operands[k] =
        warp.values<T>(inst, inst.sources > k ? 1 + k : 1); // unused ones: any
  const bool ftz = inst.b & 0x100, sat = inst.b & 0x200;
  T flushed[3][kLanes];
  for (uint32_t k = 0; ftz && k < inst.sources; ++k) {
    for (uint32_t i = 0; i < kLanes; ++i)
      flushed[k][i] = flushIf(operands[k][i], true);
    operands[k] = flushed[k];
  }
  T value[kLanes];
  rounded(Arithmetic(inst.a & 0xff), Rounding(inst.b & 0xff), warp.mask, value,
          operands[0], operands[1], operands[2]);
  store(warp, warp.values<T>(inst, 0), [&](uint32_t i) {
    T result = flushIf(value[i], ftz);
    return sat ? (result >= 0 ? std::min(result, T(1)) : T(0)) : result;
  });
}

template <template <class, bool, bool> class F, class T>
Handler nearest2(bool ftz, bool sat) {
  if (ftz)
    return sat ? lanes2<T, T, T, F<T, true, true>>
               : lanes2<T, T, T, F<T, true, false>>;
  return sat ? lanes2<T, T, T, F<T, false, true>>
             : lanes2<T, T, T, F<T, false, false>>;
}

template <class T> Handler nearest(Arithmetic operation, bool ftz, bool sat) {
  switch (operation) {
  case Arithmetic::Add:
    return nearest2<Add, T>(ftz, sat);
  case Arithmetic::Sub:
    return nearest2<Sub, T>(ftz, sat);
  case Arithmetic::Mul:
    return nearest2<Mul, T>(ftz, sat);
  case Arithmetic::Div:
    return nearest2<Div, T>(ftz, sat);
  case Arithmetic::Fma:
    return !ftz && !sat ? plainFma<T>() : directed<T>;
  case Arithmetic::Sqrt:
    return directed<T>;
  }
  return nullptr;
}

bool arithmetic(Decoder &d, Arithmetic operation, uint32_t operands) {
  bool ftz = d.take("ftz"), sat = d.take("sat");
  Rounding mode = d.takeRounding(Rounding::Nearest);
  Type type = d.takeType();
  if (mode == Rounding::NearestAway || (type == Type::F64 && (ftz || sat)))
    d.bad("these modifiers do not go together");
  d.result(d.operand(0), type);
  if (d.is("rcp"))
    d.sourceReg(d.builder.constant(type == Type::F32
                                       ? std::bit_cast<uint32_t>(1.0f)
                                       : std::bit_cast<uint64_t>(1.0),
                                   bytesOf(type)));
  for (uint32_t i = 1; i <= operands; ++i)
    d.source(d.operand(i), type);
  d.inst.a = uint32_t(operation);
  d.inst.b = uint32_t(mode) | (ftz ? 0x100 : 0) | (sat ? 0x200 : 0);
  bool isMad = operation == Arithmetic::Fma || operation == Arithmetic::Mul;
  if (isMad) {
    d.inst.flags |= kMultiplyAdd;
    d.inst.c = 1;
  }
  Handler handler = nullptr;
  if (mode != Rounding::Nearest)
    handler = type == Type::F32   ? directed<float>
              : type == Type::F64 ? directed<double>
                                  : nullptr;
  else if (type == Type::F32)
    handler = nearest<float>(operation, ftz, sat);
  else if (type == Type::F64)
    handler = operation == Arithmetic::Fma    ? plainFma<double>()
              : operation == Arithmetic::Sqrt ? directed<double>
              : operation == Arithmetic::Add
                  ? lanes2<double, double, double, Add<double, false, false>>
              : operation == Arithmetic::Sub
                  ? lanes2<double, double, double, Sub<double, false, false>>
              : operation == Arithmetic::Mul
                  ? lanes2<double, double, double, Mul<double, false, false>>
                  : lanes2<double, double, double, Div<double, false, false>>;
  d.finish(handler, Class::Float);
  return true;
}

// Minimum and maximum: of a NaN and a number the number; with .NaN the NaN. The
// zeros have an order: -0 is below +0.
template <class T> bool below(T a, T b) {
  return a < b || (a == b && std::signbit(a) && !std::signbit(b));
}
template <class T> struct Extreme {
  static T choose(T a, T b, bool isMax, bool nan, bool magnitude) {
    constexpr T canonical = sizeof(T) == 4
                                ? T(std::bit_cast<float>(0x7fffffffu))
                                : std::numeric_limits<T>::quiet_NaN();
    if (isNan(a) || isNan(b)) {
      if (nan || (isNan(a) && isNan(b)))
        return canonical;
      T number = isNan(a) ? b : a;
      return magnitude ? std::fabs(number) : number;
    }
    // .xorsign.abs: the larger magnitude, the product of the signs.
    T left = magnitude ? std::fabs(a) : a, right = magnitude ? std::fabs(b) : b;
    T result = below(left, right) == isMax ? right : left;
    return magnitude && std::signbit(a) != std::signbit(b) ? -result : result;
  }
};

template <class T> void extreme(Warp &warp, const Inst &inst) {
  const bool isMax = inst.a & 1, nan = inst.a & 2, ftz = inst.a & 4,
             magnitude = inst.a & 8;
  auto clean = [ftz](T value) { return flushIf(value, ftz); };
  const T *a = warp.values<T>(inst, 1), *b = warp.values<T>(inst, 2);
  const T *c = inst.sources > 2 ? warp.values<T>(inst, 3) : nullptr;
  store(warp, warp.values<T>(inst, 0), [=](uint32_t i) {
    T result =
        Extreme<T>::choose(clean(a[i]), clean(b[i]), isMax, nan, magnitude);
    return c ? Extreme<T>::choose(result, clean(c[i]), isMax, nan, magnitude)
             : result;
  });
}

bool minOrMax(Decoder &d) {
  d.inst.a =
      uint32_t(d.is("max")) | (d.take("NaN") ? 2 : 0) | (d.take("ftz") ? 4 : 0);
  if (d.take("xorsign")) {
    d.take("abs");
    d.inst.a |= 8;
  }
  Type type = d.takeType();
  d.result(d.operand(0), type);
  for (size_t i = 1; i < d.count(); ++i)
    d.source(d.operand(i), type);
  if (d.count() > 3)
    d.needs(100);
  d.finish(type == Type::F32   ? extreme<float>
           : type == Type::F64 ? extreme<double>
                               : nullptr,
           Class::Float);
  return true;
}

bool signs(Decoder &d) {
  bool ftz = d.take("ftz");
  Type type = d.takeType();
  d.result(d.operand(0), type);
  d.source(d.operand(1), type);
  bool isAbs = d.is("abs");
  Handler handler = nullptr;
  if (type == Type::F32 && ftz)
    handler =
        isAbs ? unary<float, float>([](float a) { return std::fabs(flush(a)); })
              : unary<float, float>([](float a) { return -flush(a); });
  else if (type == Type::F32)
    handler = isAbs ? unary<float, float>([](float a) { return std::fabs(a); })
                    : unary<float, float>([](float a) { return -a; });
  else if (type == Type::F64)
    handler = isAbs
                  ? unary<double, double>([](double a) { return std::fabs(a); })
                  : unary<double, double>([](double a) { return -a; });
  d.finish(handler, Class::Float);
  return true;
}

bool decodeCopysign(Decoder &d) {
  Type type = d.takeType();
  d.result(d.operand(0), type);
  d.source(d.operand(1), type);
  d.source(d.operand(2), type);
  // The first operand gives the sign.
  d.finish(type == Type::F32
               ? binary<float, float, float>(
                     [](float a, float b) { return std::copysign(b, a); })
           : type == Type::F64
               ? binary<double, double, double>(
                     [](double a, double b) { return std::copysign(b, a); })
               : nullptr,
           Class::Float);
  return true;
}

template <class T> bool property(uint32_t which, T value) {
  switch (which) {
  case 0:
    return std::isfinite(value);
  case 1:
    return std::isinf(value);
  case 2:
    return !isNan(value);
  case 3:
    return isNan(value);
  case 4:
    return std::isnormal(value);
  default:
    return std::fpclassify(value) == FP_SUBNORMAL;
  }
}
template <class T> void test(Warp &warp, const Inst &inst) {
  const T *a = warp.values<T>(inst, 1);
  uint32_t bits = 0;
  for (uint32_t i = 0; i < kLanes; ++i)
    bits |= uint32_t(property(inst.a, a[i])) << i;
  setPredicate(warp, warp.predicate(inst, 0), bits);
}
bool decodeTest(Decoder &d) {
  constexpr const char *names[] = {"finite",     "infinite", "number",
                                   "notanumber", "normal",   "subnormal"};
  bool found = false;
  for (uint32_t i = 0; i < 6; ++i)
    if (d.take(names[i]))
      d.inst.a = i, found = true;
  if (!found)
    d.bad("expected a property such as .finite");
  Type type = d.takeType();
  d.result(d.operand(0), Type::Pred);
  d.source(d.operand(1), type);
  d.finish(type == Type::F32 ? test<float> : test<double>, Class::Float);
  return true;
}

// Two floats in 64 bits.
void directedPair(Warp &warp, const Inst &inst) {
  const bool ftz = inst.b & 0x100;
  const uint32_t active = warp.mask;
  float *to = warp.values<float>(inst, 0);
  float result[2][kLanes];
  for (uint32_t part = 0; part < 2; ++part) {
    float operands[3][kLanes] = {};
    for (uint32_t k = 0; k < inst.sources; ++k)
      for (uint32_t i = 0; i < kLanes; ++i)
        operands[k][i] =
            flushIf(warp.values<float>(inst, 1 + k)[2 * i + part], ftz);
    rounded(Arithmetic(inst.a), Rounding(inst.b & 0xff), active, result[part],
            operands[0], operands[1], operands[2]);
  }
  for (uint32_t i = 0; i < kLanes; ++i)
    for (uint32_t part = 0; part < 2; ++part)
      if (active >> i & 1)
        to[2 * i + part] = flushIf(result[part][i], ftz);
}

bool decodePair(Decoder &d) {
  constexpr std::pair<const char *, Arithmetic> operations[] = {
      {"add", Arithmetic::Add},
      {"sub", Arithmetic::Sub},
      {"mul", Arithmetic::Mul},
      {"fma", Arithmetic::Fma}};
  for (auto [name, operation] : operations) {
    if (!d.is(name))
      continue;
    d.needs(100);
    bool ftz = d.take("ftz");
    d.inst.a = uint32_t(operation);
    d.inst.b = uint32_t(d.takeRounding(Rounding::Nearest)) | (ftz ? 0x100 : 0);
    Type type = d.takeType();
    bool isFma = operation == Arithmetic::Fma;
    if (isFma || operation == Arithmetic::Mul) {
      d.inst.flags |= kMultiplyAdd;
      d.inst.c = 2;
    }
    d.result(d.operand(0), type);
    for (size_t i = 1; i <= (isFma ? 3 : 2); ++i)
      d.source(d.operand(i), type);
    d.finish(directedPair, Class::Float);
    return true;
  }
  return false;
}

bool ofFloats(const Decoder &d) { return d.has("f32") || d.has("f64"); }

} // namespace

bool decodeFloat(Decoder &d) {
  if (d.is("testp"))
    return decodeTest(d);
  if (d.is("copysign"))
    return decodeCopysign(d);
  if (d.has("f32x2"))
    return decodePair(d);
  // Mixed ones, as add.f32.f16, are of another family.
  if (!ofFloats(d) || d.has("f16") || d.has("bf16") || d.has("approx"))
    return false;
  if (d.is("add"))
    return arithmetic(d, Arithmetic::Add, 2);
  if (d.is("sub"))
    return arithmetic(d, Arithmetic::Sub, 2);
  if (d.is("mul"))
    return arithmetic(d, Arithmetic::Mul, 2);
  if (d.is("fma") || d.is("mad"))
    return arithmetic(d, Arithmetic::Fma, 3);
  if (d.is("div") && !d.has("full"))
    return arithmetic(d, Arithmetic::Div, 2);
  if (d.is("rcp"))
    return arithmetic(d, Arithmetic::Div, 1);
  if (d.is("sqrt"))
    return arithmetic(d, Arithmetic::Sqrt, 1);
  if (d.is("min") || d.is("max"))
    return minOrMax(d);
  if (d.is("abs") || d.is("neg"))
    return signs(d);
  return false;
}

} // namespace emulator
