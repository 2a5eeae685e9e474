// SPDX-License-Identifier: Apache-2.0
//
// Bits.cpp: logic, shifts, counts and orders of bits.
#include "Lanes.h"

namespace emulator {
namespace {

template <class T> T shiftLeft(T a, uint32_t by) {
  return by < 8 * sizeof(T) ? T(a << by) : T(0);
}
// Of signed types the sign comes in, as often as one likes.
template <class T> T shiftRight(T a, uint32_t by) {
  constexpr uint32_t bits = 8 * sizeof(T);
  if constexpr (T(-1) < T(0))
    return T(a >> std::min(by, bits - 1));
  return by < bits ? T(a >> by) : T(0);
}

template <int Operation> void logicOfPredicates(Warp &warp, const Inst &inst) {
  uint32_t a = warp.predicate(inst, 1);
  uint32_t b = inst.sources > 1 ? warp.predicate(inst, 2) : 0;
  if (inst.a & 1)
    a = ~a;
  if (inst.a & 2)
    b = ~b;
  uint32_t value = Operation == 0   ? a & b
                   : Operation == 1 ? a | b
                   : Operation == 2 ? a ^ b
                                    : ~a;
  setPredicate(warp, warp.predicate(inst, 0), value);
}

bool logic(Decoder &d) {
  Type type = d.takeType();
  d.result(d.operand(0), type);
  d.source(d.operand(1), type);
  bool isNot = d.is("not") || d.is("cnot");
  if (!isNot)
    d.source(d.operand(2), type);
  if (type == Type::Pred) {
    d.inst.a = uint32_t(d.operand(1).negated) |
               (isNot ? 0 : uint32_t(d.operand(2).negated) << 1);
    d.finish(d.is("and")   ? logicOfPredicates<0>
             : d.is("or")  ? logicOfPredicates<1>
             : d.is("xor") ? logicOfPredicates<2>
                           : logicOfPredicates<3>,
             Class::Integer);
    return true;
  }
  d.finish(
      forUnsigned(type,
                  [&](auto zero) -> Handler {
                    using T = decltype(zero);
                    if (d.is("and"))
                      return binary<T, T, T>([](T a, T b) { return T(a & b); });
                    if (d.is("or"))
                      return binary<T, T, T>([](T a, T b) { return T(a | b); });
                    if (d.is("xor"))
                      return binary<T, T, T>([](T a, T b) { return T(a ^ b); });
                    if (d.is("not"))
                      return unary<T, T>([](T a) { return T(~a); });
                    return unary<T, T>([](T a) { return T(a == 0); });
                  }),
      Class::Integer);
  return true;
}

bool shift(Decoder &d) {
  bool left = d.is("shl");
  Type type = d.takeType();
  d.result(d.operand(0), type);
  d.source(d.operand(1), type);
  d.source(d.operand(2), Type::U32);
  d.finish(forInteger(type,
                      [&](auto zero) -> Handler {
                        using T = decltype(zero);
                        if (left)
                          return binary<T, T, uint32_t>(
                              [](T a, uint32_t b) { return shiftLeft(a, b); });
                        return binary<T, T, uint32_t>(
                            [](T a, uint32_t b) { return shiftRight(a, b); });
                      }),
           Class::Integer);
  return true;
}

template <bool Left, bool Wrap> struct Funnel {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const {
    uint32_t n = Wrap ? c & 31 : std::min(c, 32u);
    uint64_t both = uint64_t(b) << 32 | a;
    return Left ? uint32_t(both << n >> 32) : uint32_t(both >> n);
  }
};

bool funnel(Decoder &d) {
  bool left = d.take("l");
  bool wrap = d.take("wrap");
  if ((!left && !d.take("r")) || (!wrap && !d.take("clamp")))
    d.bad("expected .l or .r and .wrap or .clamp");
  d.takeType();
  d.result(d.operand(0), Type::B32);
  for (size_t i = 1; i < 4; ++i)
    d.source(d.operand(i), Type::B32);
  using W = uint32_t;
  d.finish(left ? (wrap ? lanes3<W, W, W, W, Funnel<true, true>>
                        : lanes3<W, W, W, W, Funnel<true, false>>)
                : (wrap ? lanes3<W, W, W, W, Funnel<false, true>>
                        : lanes3<W, W, W, W, Funnel<false, false>>),
           Class::Integer);
  return true;
}

template <class T> T reversed(T a) {
  T result = 0;
  for (size_t i = 0; i < 8 * sizeof(T); ++i)
    result = T(result << 1 | (a >> i & 1));
  return result;
}

// popc, clz, bfind: a number of bits, 32 bits wide.
bool countBits(Decoder &d) {
  bool shiftAmount = d.take("shiftamt");
  Type type = d.takeType();
  d.result(d.operand(0), Type::U32);
  d.source(d.operand(1), type);
  Handler handler = forInteger(type, [&](auto zero) -> Handler {
    using T = decltype(zero);
    if constexpr (sizeof(T) >= 4) {
      using U = std::make_unsigned_t<T>;
      constexpr uint32_t top = 8 * sizeof(T) - 1;
      if (d.is("popc"))
        return unary<uint32_t, T>(
            [](T a) { return uint32_t(std::popcount(U(a))); });
      if (d.is("clz"))
        return unary<uint32_t, T>(
            [](T a) { return uint32_t(std::countl_zero(U(a))); });
      auto find = [](T a) {
        U bits = a < 0 ? U(~U(a)) : U(a);
        return bits ? top - uint32_t(std::countl_zero(bits)) : kAll;
      };
      if (!shiftAmount)
        return unary<uint32_t, T>(find);
      return unary<uint32_t, T>([](T a) {
        U bits = a < 0 ? U(~U(a)) : U(a);
        return bits ? uint32_t(std::countl_zero(bits)) : kAll;
      });
    }
    return nullptr;
  });
  d.finish(handler, Class::Integer);
  return true;
}

bool reverseBits(Decoder &d) {
  Type type = d.takeType();
  d.result(d.operand(0), type);
  d.source(d.operand(1), type);
  d.finish(forUnsigned(type,
                       [&](auto zero) -> Handler {
                         using T = decltype(zero);
                         return unary<T, T>([](T a) { return reversed(a); });
                       }),
           Class::Integer);
  return true;
}

uint32_t maskOf(uint32_t bit) { return 0 - bit; }

void anyLogic(Warp &warp, const Inst &inst) {
  const uint32_t *a = warp.values<uint32_t>(inst, 1);
  const uint32_t *b = warp.values<uint32_t>(inst, 2);
  const uint32_t *c = warp.values<uint32_t>(inst, 3);
  const uint32_t table = inst.a;
  store(warp, warp.values<uint32_t>(inst, 0), [=](uint32_t i) {
    uint32_t value = 0;
    for (uint32_t k = 0; k < 8; ++k)
      value |= maskOf(table >> k & 1) & (k & 4 ? a[i] : ~a[i]) &
               (k & 2 ? b[i] : ~b[i]) & (k & 1 ? c[i] : ~c[i]);
    return value;
  });
}

bool decodeAnyLogic(Decoder &d) {
  d.takeType();
  d.result(d.operand(0), Type::B32);
  for (size_t i = 1; i < 4; ++i)
    d.source(d.operand(i), Type::B32);
  d.inst.a = uint32_t(d.immediate(d.operand(4)));
  d.finish(anyLogic, Class::Integer);
  return true;
}

// prmt: each byte of the result is one of the eight bytes of a and b, or its
// sign.
enum class Permute : uint32_t { Any, F4e, B4e, Rc8, Ecl, Ecr, Rc16 };

uint32_t selector(Permute mode, uint32_t c, uint32_t byte) {
  uint32_t n = c & 3;
  switch (mode) {
  case Permute::F4e:
    return n + byte;
  case Permute::B4e:
    return (n - byte) & 7;
  case Permute::Rc8:
    return n;
  case Permute::Ecl:
    return std::max(n, byte);
  case Permute::Ecr:
    return std::min(n, byte);
  case Permute::Rc16:
    return (n & 1) * 2 + (byte & 1);
  case Permute::Any:
    break;
  }
  return c >> (4 * byte) & 0xf;
}

void permute(Warp &warp, const Inst &inst) {
  const uint32_t *a = warp.values<uint32_t>(inst, 1);
  const uint32_t *b = warp.values<uint32_t>(inst, 2);
  const uint32_t *c = warp.values<uint32_t>(inst, 3);
  const auto mode = Permute(inst.a);
  store(warp, warp.values<uint32_t>(inst, 0), [=](uint32_t i) {
    uint64_t both = uint64_t(b[i]) << 32 | a[i];
    uint32_t value = 0;
    for (uint32_t byte = 0; byte < 4; ++byte) {
      uint32_t chosen = selector(mode, c[i], byte);
      auto bits = uint8_t(both >> (8 * (chosen & 7)));
      if (chosen & 8)
        bits = bits & 0x80 ? 0xff : 0;
      value |= uint32_t(bits) << (8 * byte);
    }
    return value;
  });
}

bool decodePermute(Decoder &d) {
  constexpr const char *names[] = {"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"};
  for (uint32_t i = 0; i < 6; ++i)
    if (d.take(names[i]))
      d.inst.a = i + 1;
  d.takeType();
  d.result(d.operand(0), Type::B32);
  for (size_t i = 1; i < 4; ++i)
    d.source(d.operand(i), Type::B32);
  d.finish(permute, Class::Integer);
  return true;
}

} // namespace

bool decodeBits(Decoder &d) {
  if (d.is("and") || d.is("or") || d.is("xor") || d.is("not") || d.is("cnot"))
    return logic(d);
  if (d.is("shl") || d.is("shr"))
    return shift(d);
  if (d.is("shf"))
    return funnel(d);
  if (d.is("popc") || d.is("clz") || d.is("bfind"))
    return countBits(d);
  if (d.is("brev"))
    return reverseBits(d);
  if (d.is("lop3"))
    return decodeAnyLogic(d);
  if (d.is("prmt"))
    return decodePermute(d);
  return decodeBitFields(d);
}

} // namespace emulator
