// SPDX-License-Identifier: Apache-2.0
//
// Convert.cpp: cvt. A number goes through one of three carriers that hold it
// exactly: int64_t, uint64_t or double.
#include "Lanes.h"
#include "Rounded.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace emulator {
namespace {

struct Conversion {
  Type to, from;
  Rounding rounding;
  bool ftz, sat, integral; // integral: to a whole number of the same format
  bool relu;
};

// The conversions of a kernel are few; an Inst has their bits.
uint32_t pack(const Conversion &c) {
  return uint32_t(c.to) | uint32_t(c.from) << 8 | uint32_t(c.rounding) << 16 |
         uint32_t(c.ftz) << 24 | uint32_t(c.sat) << 25 |
         uint32_t(c.integral) << 26 | uint32_t(c.relu) << 27;
}
Conversion unpack(uint32_t bits) {
  return {Type(bits & 0xff),           Type(bits >> 8 & 0xff),
          Rounding(bits >> 16 & 0xff), (bits & 1u << 24) != 0,
          (bits & 1u << 25) != 0,      (bits & 1u << 26) != 0,
          (bits & 1u << 27) != 0};
}

uint64_t loadBits(const uint8_t *from, uint32_t width) {
  uint64_t bits = 0;
  std::memcpy(&bits, from, width);
  return bits;
}

// The value of a float type, as a double.
double floatValue(Type type, uint64_t bits, bool ftz) {
  switch (type) {
  case Type::F16:
    return halfToFloat(uint16_t(bits));
  case Type::BF16:
    return bfloatToFloat(uint16_t(bits));
  case Type::F32:
    return flushIf(std::bit_cast<float>(uint32_t(bits)), ftz);
  case Type::E4M3:
    return valueOf(kE4m3, uint32_t(bits & 0xff));
  case Type::E5M2:
    return valueOf(kE5m2, uint32_t(bits & 0xff));
  default:
    return std::bit_cast<double>(bits);
  }
}

double whole(Rounding rounding, double value) {
  switch (rounding) {
  case Rounding::Nearest:
    return std::nearbyint(value);
  case Rounding::NearestAway:
    return std::round(value);
  case Rounding::Zero:
    return std::trunc(value);
  case Rounding::Down:
    return std::floor(value);
  case Rounding::Up:
    return std::ceil(value);
  }
  return value;
}

// A float to an integer saturates.
template <class T> T saturate(double value) {
  constexpr T low = std::numeric_limits<T>::min();
  constexpr T high = std::numeric_limits<T>::max();
  if (value <= double(low))
    return low;
  // The highest of 64 bits is no double; its successor is.
  if (value >= std::ldexp(1.0, int(8 * sizeof(T)) - (low < 0)))
    return high;
  return T(value);
}

// A NaN becomes 0; from or to 64 bits the top bit alone.
uint64_t integerOf(Type type, Type from, double value) {
  if (isNan(value))
    return from == Type::F64 || bytesOf(type) == 8
               ? uint64_t(1) << (8 * bytesOf(type) - 1)
               : 0;
  return byWidth(bytesOf(type), [=](auto zero) {
    using Unsigned = decltype(zero);
    using Signed = std::make_signed_t<Unsigned>;
    return isSigned(type) ? uint64_t(int64_t(saturate<Signed>(value)))
                          : uint64_t(saturate<Unsigned>(value));
  });
}

uint64_t floatBits(const Conversion &c, double value) {
  if (c.sat)
    value = value >= 0 ? std::min(value, 1.0) : 0.0;
  if (c.relu)
    value = isNan(value) ? value : value > 0 ? value : 0.0;
  switch (c.to) {
  case Type::F16:
    return roundTo(kHalf, value, c.rounding);
  case Type::BF16:
    return roundTo(kBfloat, value, c.rounding);
  case Type::TF32:
    return uint64_t(roundTo(kTf32, value, c.rounding)) << 13;
  case Type::F32: {
    if (isNan(value))
      return 0x7fffffff;
    float narrow = narrowed(c.rounding, value);
    return std::bit_cast<uint32_t>(flushIf(narrow, c.ftz));
  }
  default:
    return std::bit_cast<uint64_t>(value);
  }
}

// An integer that saturates into a narrower one.
uint64_t saturateInteger(const Conversion &c, uint64_t bits) {
  __int128 value = isSigned(c.from) ? __int128(int64_t(bits)) : __int128(bits);
  int width = int(8 * bytesOf(c.to));
  __int128 one = 1;
  __int128 low = isSigned(c.to) ? -(one << (width - 1)) : 0;
  __int128 high = (one << (width - isSigned(c.to))) - 1;
  return uint64_t(value < low ? low : value > high ? high : value);
}

// Extended by the sign or by zeros from the width of the type.
uint64_t extend(Type type, uint64_t bits) {
  uint32_t unused = 64 - 8 * bytesOf(type);
  return isSigned(type) ? uint64_t(int64_t(bits << unused) >> unused)
                        : bits << unused >> unused;
}

uint64_t integerToFloat(const Conversion &c, uint64_t bits) {
  bool isNegative = isSigned(c.from);
  if (c.to == Type::F64) {
    double value = isNegative ? doubleOf(c.rounding, int64_t(bits))
                              : doubleOf(c.rounding, bits);
    return std::bit_cast<uint64_t>(value);
  }
  if (c.to == Type::F32) {
    float value = isNegative ? floatOf(c.rounding, int64_t(bits))
                             : floatOf(c.rounding, bits);
    return std::bit_cast<uint32_t>(c.sat ? std::clamp(value, 0.0f, 1.0f)
                                         : value);
  }
  // A double holds 53 bits; what is cut off marks the last of them.
  double value = isNegative ? doubleOf(Rounding::Zero, int64_t(bits))
                            : doubleOf(Rounding::Zero, bits);
  __int128 exact = isNegative ? __int128(int64_t(bits)) : __int128(bits);
  if (__int128(value) != exact)
    value = std::bit_cast<double>(std::bit_cast<uint64_t>(value) | 1);
  return floatBits(c, value);
}

bool isFloatFormat(Type type) { return isFloat(type) || type == Type::TF32; }

uint64_t convertOne(const Conversion &c, uint64_t bits) {
  if (!isFloatFormat(c.from)) {
    bits = extend(c.from, bits);
    if (isFloatFormat(c.to))
      return integerToFloat(c, bits);
    return extend(c.to, c.sat ? saturateInteger(c, bits) : bits);
  }
  double value = floatValue(c.from, bits, c.ftz);
  if (!isFloatFormat(c.to))
    return extend(c.to, integerOf(c.to, c.from, whole(c.rounding, value)));
  if (c.integral)
    value = std::copysign(whole(c.rounding, value), value);
  return floatBits(c, value);
}

void convert(Warp &warp, const Inst &inst) {
  const Conversion c = unpack(inst.a);
  const Reg &to = warp.reg(inst, 0), &from = warp.reg(inst, 1);
  uint8_t *target = warp.at<uint8_t>(to);
  const uint8_t *source = warp.at<uint8_t>(from);
  for (uint32_t i = 0; i < kLanes; ++i) {
    if (!(warp.mask >> i & 1))
      continue;
    uint64_t bits =
        convertOne(c, loadBits(source + size_t(i) * from.width, from.width));
    std::memcpy(target + size_t(i) * to.width, &bits, to.width);
  }
}

// Two floats into one register: the first operand is the upper half.
void convertPair(Warp &warp, const Inst &inst) {
  const Conversion c = unpack(inst.a);
  const float *high = warp.values<float>(inst, 1);
  const float *low = warp.values<float>(inst, 2);
  const Format &format = c.to == Type::F16      ? kHalf
                         : c.to == Type::BF16   ? kBfloat
                         : c.to == Type::E4M3x2 ? kE4m3
                                                : kE5m2;
  bool isByte = c.to == Type::E4M3x2 || c.to == Type::E5M2x2;
  auto one = [&](double value) {
    if (c.relu && !isNan(value))
      value = value > 0 ? value : 0.0;
    return roundTo(format, value, c.rounding, c.sat);
  };
  for (uint32_t i = 0; i < kLanes; ++i) {
    if (!(warp.mask >> i & 1))
      continue;
    if (isByte)
      warp.values<uint16_t>(inst, 0)[i] =
          uint16_t(one(high[i]) << 8 | one(low[i]));
    else
      warp.values<uint32_t>(inst, 0)[i] = one(high[i]) << 16 | one(low[i]);
  }
}

// Two bytes of a narrow format to two f16.
void widenPair(Warp &warp, const Inst &inst) {
  const Conversion c = unpack(inst.a);
  const Format &format = c.from == Type::E4M3x2 ? kE4m3 : kE5m2;
  const uint16_t *from = warp.values<uint16_t>(inst, 1);
  auto one = [&](uint32_t pattern) {
    double value = valueOf(format, pattern & 0xff);
    if (c.relu && !isNan(value))
      value = value > 0 ? value : 0.0;
    return roundTo(kHalf, value, Rounding::Nearest);
  };
  store(warp, warp.values<uint32_t>(inst, 0),
        [&](uint32_t i) { return one(from[i] >> 8) << 16 | one(from[i]); });
}

// Two f16 to two bytes of a narrow format.
void narrowPair(Warp &warp, const Inst &inst) {
  const Conversion c = unpack(inst.a);
  const Format &format = c.to == Type::E4M3x2 ? kE4m3 : kE5m2;
  const uint32_t *from = warp.values<uint32_t>(inst, 1);
  auto one = [&](uint16_t bits) {
    double value = halfToFloat(bits);
    if (c.relu && !isNan(value))
      value = value > 0 ? value : 0.0;
    return roundTo(format, value, Rounding::Nearest, true);
  };
  store(warp, warp.values<uint16_t>(inst, 0), [&](uint32_t i) {
    return uint16_t(one(uint16_t(from[i] >> 16)) << 8 | one(uint16_t(from[i])));
  });
}

bool decodePair(Decoder &d, Conversion c) {
  bool fromBytes = c.from == Type::E4M3x2 || c.from == Type::E5M2x2;
  bool toBytes = c.to == Type::E4M3x2 || c.to == Type::E5M2x2;
  if (fromBytes || toBytes)
    d.needs(89);
  if (c.from == Type::F32 && d.count() == 3) {
    d.result(d.operand(0), c.to);
    d.source(d.operand(1), Type::F32);
    d.source(d.operand(2), Type::F32);
    c.to = c.to == Type::F16x2    ? Type::F16
           : c.to == Type::BF16x2 ? Type::BF16
                                  : c.to;
    if (toBytes && !c.sat)
      d.bad("expected .satfinite");
    d.inst.a = pack(c);
    d.finish(convertPair, Class::Convert);
    return true;
  }
  d.result(d.operand(0), c.to);
  d.source(d.operand(1), c.from);
  d.inst.a = pack(c);
  Handler handler = nullptr;
  if (fromBytes && c.to == Type::F16x2)
    handler = widenPair;
  else if (toBytes && c.from == Type::F16x2)
    handler = narrowPair;
  d.finish(handler, Class::Convert);
  return true;
}

// Whole numbers of f32, by loops of their own.
Handler quickWhole(const Conversion &c) {
  if (c.from != Type::F32 || c.sat || c.ftz || c.relu)
    return nullptr;
  bool cuts = c.rounding == Rounding::Zero;
  if (c.to == Type::S32 && cuts)
    return unary<int32_t, float>(
        [](float a) { return isNan(a) ? 0 : saturate<int32_t>(double(a)); });
  if (c.to == Type::F32 && cuts)
    return unary<float, float>([](float a) { return std::trunc(a); });
  if (c.to == Type::F32 && c.rounding == Rounding::Nearest)
    return unary<float, float>([](float a) { return std::nearbyint(a); });
  return nullptr;
}

// The conversions that are most common, by loops of their own.
Handler quick(const Conversion &c, uint32_t toWidth, uint32_t fromWidth) {
  if (toWidth != bytesOf(c.to) || fromWidth != bytesOf(c.from))
    return nullptr;
  if (c.integral)
    return quickWhole(c);
  if (c.sat || c.ftz || c.relu || c.rounding != Rounding::Nearest)
    return nullptr;
  if (c.to == Type::F32 && c.from == Type::S32)
    return unary<float, int32_t>([](int32_t a) { return float(a); });
  if (c.to == Type::F32 && c.from == Type::U32)
    return unary<float, uint32_t>([](uint32_t a) { return float(a); });
  if (c.to == Type::F32 && c.from == Type::F16)
    return unary<float, uint16_t>([](uint16_t a) { return halfToFloat(a); });
  if (c.to == Type::F16 && c.from == Type::F32)
    return unary<uint16_t, float>([](float a) { return floatToHalf(a); });
  if (c.to == Type::F32 && c.from == Type::BF16)
    return unary<float, uint16_t>([](uint16_t a) { return bfloatToFloat(a); });
  if (c.to == Type::BF16 && c.from == Type::F32)
    return unary<uint16_t, float>([](float a) { return floatToBfloat(a); });
  if (c.to == Type::F64 && c.from == Type::F32)
    return unary<double, float>([](float a) { return double(a); });
  if (c.from == Type::U32 && bytesOf(c.to) == 8 && !isFloat(c.to))
    return unary<uint64_t, uint32_t>([](uint32_t a) { return uint64_t(a); });
  if (c.from == Type::S32 && bytesOf(c.to) == 8 && !isFloat(c.to))
    return unary<int64_t, int32_t>([](int32_t a) { return int64_t(a); });
  if (bytesOf(c.from) == 8 && bytesOf(c.to) == 4 && !isFloat(c.to) &&
      !isFloat(c.from))
    return unary<uint32_t, uint64_t>([](uint64_t a) { return uint32_t(a); });
  return nullptr;
}

Type unsignedOf(Type type) {
  switch (type) {
  case Type::B8:
    return Type::U8;
  case Type::B16:
    return Type::U16;
  case Type::B32:
    return Type::U32;
  case Type::B64:
    return Type::U64;
  default:
    return type;
  }
}

} // namespace

bool decodeConvert(Decoder &d) {
  if (!d.is("cvt"))
    return false;
  Conversion c = {};
  c.integral = d.has("rni") || d.has("rzi") || d.has("rmi") || d.has("rpi");
  c.rounding = d.takeRounding(Rounding::Nearest);
  c.ftz = d.take("ftz");
  c.sat = d.take("sat") || d.take("satfinite");
  c.relu = d.take("relu");
  c.to = unsignedOf(d.takeType());
  c.from = unsignedOf(d.takeType());
  auto isPair = [](Type type) {
    return type == Type::F16x2 || type == Type::BF16x2 ||
           type == Type::E4M3x2 || type == Type::E5M2x2;
  };
  if (isPair(c.to) || isPair(c.from))
    return decodePair(d, c);
  if (c.from == Type::None || c.to == Type::None)
    d.bad("expected two types");
  d.result(d.operand(0), c.to, true);
  d.source(d.operand(1), c.from, true);
  // .satfinite of tf32 is about infinities, not about 0 and 1.
  if (c.to == Type::TF32 && c.sat)
    d.bad("cvt.satfinite.tf32 is not supported");
  bool toInteger = !isFloatFormat(c.to) && isFloatFormat(c.from);
  if (toInteger && !c.integral)
    d.bad("a float to an integer needs .rni, .rzi, .rmi or .rpi");
  d.inst.a = pack(c);
  Handler handler = quick(c, d.results[0].width, d.sources[0].width);
  d.finish(handler ? handler : convert, Class::Convert);
  return true;
}

} // namespace emulator
