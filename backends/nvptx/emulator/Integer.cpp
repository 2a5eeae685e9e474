// SPDX-License-Identifier: Apache-2.0
//
// Integer.cpp: integer arithmetic. Everything wraps; dividing by zero gives all
// ones, as GPUs do, and the remainder is the dividend.
#include "Lanes.h"

#include <limits>
#include <type_traits>

namespace emulator {
namespace {

template <class T> using Unsigned = std::make_unsigned_t<T>;

template <class T> struct WideOf;
template <> struct WideOf<int16_t> {
  using type = int32_t;
};
template <> struct WideOf<uint16_t> {
  using type = uint32_t;
};
template <> struct WideOf<int32_t> {
  using type = int64_t;
};
template <> struct WideOf<uint32_t> {
  using type = uint64_t;
};
template <> struct WideOf<int64_t> {
  using type = __int128;
};
template <> struct WideOf<uint64_t> {
  using type = unsigned __int128;
};
template <class T> using Wide = typename WideOf<T>::type;

template <class T> T wrapAdd(T a, T b) {
  return T(Unsigned<T>(Unsigned<T>(a) + Unsigned<T>(b)));
}
template <class T> T wrapSub(T a, T b) {
  return T(Unsigned<T>(Unsigned<T>(a) - Unsigned<T>(b)));
}
template <class T> T low(T a, T b) {
  return T(uint64_t(Unsigned<T>(a)) * uint64_t(Unsigned<T>(b)));
}
template <class T> T high(T a, T b) {
  return T((Wide<T>(a) * Wide<T>(b)) >> (8 * sizeof(T)));
}
template <class T> Wide<T> wide(T a, T b) { return Wide<T>(a) * Wide<T>(b); }

template <class T> T divide(T a, T b) {
  if (b == 0)
    return T(~T(0));
  if constexpr (std::is_signed_v<T>)
    if (b == -1)
      return wrapSub(T(0), a);
  return T(a / b);
}
template <class T> T remainder(T a, T b) {
  if (b == 0)
    return a;
  if constexpr (std::is_signed_v<T>)
    if (b == -1)
      return 0;
  return T(a % b);
}
template <class T> T distance(T a, T b) {
  return a > b ? wrapSub(a, b) : wrapSub(b, a);
}
int32_t saturated(int64_t value) {
  return int32_t(std::min<int64_t>(
      std::max<int64_t>(value, std::numeric_limits<int32_t>::min()),
      std::numeric_limits<int32_t>::max()));
}

Handler binaryHandler(const std::string &opcode, Type type) {
  return forInteger(type, [&](auto zero) -> Handler {
    using T = decltype(zero);
    if (opcode == "add")
      return binary<T, T, T>([](T a, T b) { return wrapAdd(a, b); });
    if (opcode == "sub")
      return binary<T, T, T>([](T a, T b) { return wrapSub(a, b); });
    if (opcode == "div")
      return binary<T, T, T>([](T a, T b) { return divide(a, b); });
    if (opcode == "rem")
      return binary<T, T, T>([](T a, T b) { return remainder(a, b); });
    if (opcode == "min")
      return binary<T, T, T>([](T a, T b) { return a < b ? a : b; });
    if (opcode == "max")
      return binary<T, T, T>([](T a, T b) { return a > b ? a : b; });
    return nullptr;
  });
}

template <class T> Handler mulHandler(Decoder &d) {
  if (d.take("lo"))
    return binary<T, T, T>([](T a, T b) { return low(a, b); });
  if (d.take("hi"))
    return binary<T, T, T>([](T a, T b) { return high(a, b); });
  return nullptr;
}

template <class T> Handler madHandler(Decoder &d) {
  if (d.take("lo"))
    return ternary<T, T, T, T>(
        [](T a, T b, T c) { return wrapAdd(low(a, b), c); });
  if (!d.take("hi"))
    return nullptr;
  if (d.take("sat"))
    return ternary<T, T, T, T>([](T a, T b, T c) {
      return T(saturated(int64_t(high(a, b)) + int64_t(c)));
    });
  return ternary<T, T, T, T>(
      [](T a, T b, T c) { return wrapAdd(high(a, b), c); });
}

bool multiply(Decoder &d) {
  bool adds = d.is("mad");
  bool isWide = d.take("wide");
  Type type = d.takeType();
  if (type == Type::F32 || type == Type::F64)
    d.bad("mad of floats is fma; the emulator takes it as fma only");
  constexpr auto twice = [](Type narrow) {
    switch (narrow) {
    case Type::S16:
      return Type::S32;
    case Type::U16:
      return Type::U32;
    case Type::S32:
      return Type::S64;
    default:
      return Type::U64;
    }
  };
  Type result = isWide ? twice(type) : type;
  d.result(d.operand(0), result);
  d.source(d.operand(1), type);
  d.source(d.operand(2), type);
  if (adds)
    d.source(d.operand(3), result);
  Handler handler = forInteger(type, [&](auto zero) -> Handler {
    using T = decltype(zero);
    if (!isWide)
      return adds ? madHandler<T>(d) : mulHandler<T>(d);
    if constexpr (sizeof(T) < 8) {
      using W = Wide<T>;
      if (adds)
        return ternary<W, T, T, W>(
            [](T a, T b, W c) { return wrapAdd(wide(a, b), c); });
      return binary<W, T, T>([](T a, T b) { return wide(a, b); });
    }
    return nullptr;
  });
  d.finish(handler, Class::Integer);
  return true;
}

// add.cc, addc, sub.cc, subc, mad.cc and madc: with a carry bit of each lane.
template <class T, bool Subtract, bool Product>
void carried(Warp &warp, const Inst &inst) {
  bool in = inst.a & 1, out = inst.a & 2, upper = inst.a & 4;
  T *to = warp.values<T>(inst, 0);
  uint32_t &carry = *warp.at<uint32_t>(out ? warp.reg(inst, 1)
                                           : warp.reg(inst, inst.results));
  const uint32_t before = carry;
  uint32_t base = inst.results + (in ? 1 : 0);
  const T *a = warp.values<T>(inst, base);
  const T *b = warp.values<T>(inst, base + 1);
  const T *c = Product ? warp.values<T>(inst, base + 2) : nullptr;
  for (uint32_t i = 0; i < kLanes; ++i) {
    if (!(warp.mask >> i & 1))
      continue;
    unsigned __int128 left = a[i], right = b[i];
    if constexpr (Product) {
      left = left * right;
      left = T(upper ? left >> (8 * sizeof(T)) : left);
      right = c[i];
    }
    unsigned bit = in ? before >> i & 1 : 0;
    unsigned __int128 sum = Subtract ? left - right - bit : left + right + bit;
    to[i] = T(sum);
    bool over = sum >> (8 * sizeof(T)) & 1;
    if (out)
      carry = (carry & ~(1u << i)) | uint32_t(over) << i;
  }
}

bool withCarry(Decoder &d) {
  bool in = d.is("addc") || d.is("subc") || d.is("madc");
  bool out = d.take("cc");
  bool product = d.is("mad") || d.is("madc");
  if (product)
    d.inst.a = d.take("hi") ? 4 : (d.take("lo"), 0);
  Type type = d.takeType();
  if (type == Type::S32 && (d.inst.a & 4))
    d.bad("the upper half of a signed product with carry is not supported");
  d.inst.a |= uint32_t(in) | uint32_t(out) << 1;
  d.result(d.operand(0), type);
  if (out)
    d.resultReg(d.builder.carry());
  if (in || !out)
    d.sourceReg(d.builder.carry());
  if (!in && !out)
    d.bad("expected .cc");
  d.source(d.operand(1), type);
  d.source(d.operand(2), type);
  if (product)
    d.source(d.operand(3), type);
  bool subtract = d.is("sub") || d.is("subc");
  Handler handler = bytesOf(type) == 8
                        ? (product    ? carried<uint64_t, false, true>
                           : subtract ? carried<uint64_t, true, false>
                                      : carried<uint64_t, false, false>)
                        : (product    ? carried<uint32_t, false, true>
                           : subtract ? carried<uint32_t, true, false>
                                      : carried<uint32_t, false, false>);
  d.finish(handler, Class::Integer);
  return true;
}

template <class T, class F> Handler packed(F) {
  struct Both {
    uint32_t operator()(uint32_t a, uint32_t b) const {
      return uint32_t(uint16_t(F{}(T(a), T(b)))) |
             uint32_t(uint16_t(F{}(T(a >> 16), T(b >> 16)))) << 16;
    }
  };
  return lanes2<uint32_t, uint32_t, uint32_t, Both>;
}

Handler packedHandler(const std::string &opcode, Type type) {
  if (opcode == "add")
    return packed<uint16_t>(
        [](uint16_t a, uint16_t b) { return uint16_t(a + b); });
  if (type == Type::U16x2)
    return opcode == "min" ? packed<uint16_t>([](uint16_t a, uint16_t b) {
      return a < b ? a : b;
    })
                           : packed<uint16_t>([](uint16_t a, uint16_t b) {
                               return a > b ? a : b;
                             });
  return opcode == "min" ? packed<int16_t>([](int16_t a, int16_t b) {
    return a < b ? a : b;
  })
                         : packed<int16_t>([](int16_t a, int16_t b) {
                             return a > b ? a : b;
                           });
}

// Whether the first type of the modifiers is one of integers.
bool ofIntegers(const Decoder &d) {
  for (const std::string &modifier : d.statement.modifiers)
    if (Type type = typeNamed(modifier); type != Type::None)
      return !isFloat(type) && type != Type::F16x2 && type != Type::BF16x2 &&
             type != Type::F32x2 && modifier != "pred";
  return false;
}

bool decodeBinary(Decoder &d) {
  Type type = d.takeType();
  d.result(d.operand(0), type);
  d.source(d.operand(1), type);
  d.source(d.operand(2), type);
  Handler handler = nullptr;
  if (type == Type::U16x2 || type == Type::S16x2) {
    d.needs(90);
    handler = packedHandler(d.statement.opcode, type);
  } else if (d.take("sat")) {
    if (type == Type::S32 && d.is("add"))
      handler = binary<int32_t, int32_t, int32_t>([](int32_t a, int32_t b) {
        return saturated(int64_t(a) + int64_t(b));
      });
    if (type == Type::S32 && d.is("sub"))
      handler = binary<int32_t, int32_t, int32_t>([](int32_t a, int32_t b) {
        return saturated(int64_t(a) - int64_t(b));
      });
  } else if (d.take("relu")) {
    d.needs(90);
    if (type == Type::S32)
      handler =
          d.is("min")
              ? binary<int32_t, int32_t, int32_t>([](int32_t a, int32_t b) {
                  return std::max(std::min(a, b), 0);
                })
              : binary<int32_t, int32_t, int32_t>([](int32_t a, int32_t b) {
                  return std::max(std::max(a, b), 0);
                });
  } else {
    handler = binaryHandler(d.statement.opcode, type);
  }
  d.finish(handler, Class::Integer);
  return true;
}

bool decodeUnary(Decoder &d) {
  Type type = d.takeType();
  d.result(d.operand(0), type);
  d.source(d.operand(1), type);
  d.finish(forInteger(type,
                      [&](auto zero) -> Handler {
                        using T = decltype(zero);
                        if (d.is("abs"))
                          return unary<T, T>(
                              [](T a) { return a < 0 ? wrapSub(T(0), a) : a; });
                        return unary<T, T>(
                            [](T a) { return wrapSub(T(0), a); });
                      }),
           Class::Integer);
  return true;
}

bool decodeSad(Decoder &d) {
  Type type = d.takeType();
  d.result(d.operand(0), type);
  for (size_t i = 1; i < 4; ++i)
    d.source(d.operand(i), type);
  d.finish(forInteger(type,
                      [&](auto zero) -> Handler {
                        using T = decltype(zero);
                        return ternary<T, T, T, T>([](T a, T b, T c) {
                          return wrapAdd(c, distance(a, b));
                        });
                      }),
           Class::Integer);
  return true;
}

template <class A, class B> struct Dot4 {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const {
    for (int i = 0; i < 4; ++i)
      c += uint32_t(int32_t(A(a >> 8 * i)) * int32_t(B(b >> 8 * i)));
    return c;
  }
};
template <class A, class B, bool High> struct Dot2 {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const {
    for (int i = 0; i < 2; ++i)
      c += uint32_t(int32_t(A(a >> 16 * i)) *
                    int32_t(B(b >> (8 * i + (High ? 16 : 0)))));
    return c;
  }
};
template <template <class, class> class F, class U, class S>
Handler dotHandler(bool firstSigned, bool secondSigned) {
  using W = uint32_t;
  if (firstSigned)
    return secondSigned ? lanes3<W, W, W, W, F<S, int8_t>>
                        : lanes3<W, W, W, W, F<S, uint8_t>>;
  return secondSigned ? lanes3<W, W, W, W, F<U, int8_t>>
                      : lanes3<W, W, W, W, F<U, uint8_t>>;
}
template <class A, class B> using Dot2Low = Dot2<A, B, false>;
template <class A, class B> using Dot2High = Dot2<A, B, true>;

bool decodeDot(Decoder &d) {
  bool four = d.is("dp4a");
  bool isHigh = !four && d.take("hi");
  if (!four && !isHigh && !d.take("lo"))
    d.bad("expected .lo or .hi");
  bool first = isSigned(d.takeType());
  bool second = isSigned(d.takeType());
  d.result(d.operand(0), Type::B32);
  for (size_t i = 1; i < 4; ++i)
    d.source(d.operand(i), Type::B32);
  Handler handler = four ? dotHandler<Dot4, uint8_t, int8_t>(first, second)
                    : isHigh
                        ? dotHandler<Dot2High, uint16_t, int16_t>(first, second)
                        : dotHandler<Dot2Low, uint16_t, int16_t>(first, second);
  d.inst.flags |= kMultiplyAdd;
  d.inst.c = four ? 4 : 2;
  d.finish(handler, Class::Integer);
  return true;
}

} // namespace

bool decodeInteger(Decoder &d) {
  if (d.is("dp4a") || d.is("dp2a"))
    return decodeDot(d);
  if (d.is("addc") || d.is("subc") || d.is("madc"))
    return withCarry(d);
  if (!ofIntegers(d))
    return false;
  bool adds = d.is("add") || d.is("sub") || d.is("mad");
  if (adds && d.has("cc"))
    return withCarry(d);
  if (d.is("mul") || d.is("mad"))
    return multiply(d);
  if (adds || d.is("div") || d.is("rem") || d.is("min") || d.is("max"))
    return decodeBinary(d);
  if (d.is("abs") || d.is("neg"))
    return decodeUnary(d);
  if (d.is("sad"))
    return decodeSad(d);
  return false;
}

} // namespace emulator
