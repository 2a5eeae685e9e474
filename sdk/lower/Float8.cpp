// SPDX-License-Identifier: Apache-2.0
//
// The floats of 4 and 8 bits, by arithmetic on bits: no target needs
// instructions for them, and no IR below this point knows them.
#include "sdk/lower/Lowering.h"
#include "sdk/lower/MathBuilder.h"

#include <cmath>

using namespace bp;
using namespace bp::lower;

namespace {

/// A format of sign, exponent and fraction as f32 sees it.
struct Format {
  int64_t fraction; ///< bits behind the point
  int64_t rebias;   ///< exponent bias of f32 less that of the format
  int64_t infinity; ///< first magnitude that is no finite number
  int64_t beyond;   ///< stands for what is too high
  int64_t nan;      ///< 0: there is none
  int64_t sign = 0x80;
  bool isFnuz = false; ///< NaN stands where others have -0

  int64_t shift() const { return 23 - fraction; }
  /// The f32 bits of the least normal number.
  int64_t minNormal() const { return (rebias + 1) << 23; }
  /// From the sign of the format to that of f32.
  int64_t signShift() const { return sign == 8 ? 28 : 24; }
};

Format formatOf(Type type) {
  if (isa<Float8E5M2Type>(type))
    return {2, 127 - 15, 0x7c, 0x7c, 0x7f};
  if (isa<Float8E4M3FNUZType>(type))
    return {3, 127 - 8, 0x80, 0x80, 0x80, 0x80, true};
  if (isa<Float8E5M2FNUZType>(type))
    return {2, 127 - 16, 0x80, 0x80, 0x80, 0x80, true};
  if (isa<Float4E2M1FNType>(type))
    return {1, 127 - 1, 8, 7, 0, 8};
  return {3, 127 - 7, 0x7f, 0x7f, 0x7f};
}

constexpr int64_t quietNan = 0x7fc00000;

/// f8e8m0fnu is the exponent of an f32; the least power is subnormal there.
Value decodePower(MathBuilder &m, Value byte) {
  Value bits = m.select(m.below(byte, 1), m.i(0x00400000), m.shl(byte, 23));
  return m.fromBits(m.select(m.below(byte, 0xff), bits, m.i(quietNan)));
}

/// Halfway between two powers is the higher one. Below the least power, where
/// f32 is subnormal, and for negative numbers nothing is rounded.
Value encodePower(ImplicitLocOpBuilder &body, MathBuilder &m, Value bits) {
  Value magnitude = m.andI(bits, m.i(0x7fffffff));
  Value normal = m.shr(m.addI(magnitude, m.i(0x00400000)), 23);
  Value small = m.select(m.below(magnitude, 0x00600000), m.i(0), m.i(1));
  Value code = m.select(m.below(magnitude, 0x00800000), small, normal);
  Value isNegative =
      arith::CmpIOp::create(body, arith::CmpIPredicate::slt, bits, m.i(0));
  code = m.select(isNegative, m.i(0), code);
  return m.select(m.below(magnitude, 0x7f800000), code, m.i(0xff));
}

/// The sign of formats with NaN in the place of -0.
Value withSign(MathBuilder &m, Value code, Value sign, const Format &format) {
  Value isZero = m.below(code, 1);
  Value isPlain = m.below(code, format.nan);
  Value kept = m.select(isZero, m.i(0), m.orI(code, sign));
  return m.select(isPlain, kept, m.i(format.nan));
}

} // namespace

Value lower::decodeFloat(ImplicitLocOpBuilder &body, Value stored, Type type) {
  Format format = formatOf(type);
  MathBuilder m(body, body.getF32Type());
  Value byte = arith::ExtUIOp::create(body, body.getI32Type(), stored);
  if (isa<Float8E8M0FNUType>(type))
    return decodePower(m, byte);
  Value magnitude = m.andI(byte, m.i(format.sign - 1));
  // Exponent and fraction in place, but for the bias: a power of two, which
  // also takes what is below the normal numbers to where it belongs.
  Value scale = m.f(std::ldexp(1.0, int(format.rebias)));
  Value number = m.mul(m.fromBits(m.shl(magnitude, format.shift())), scale);
  Value bits = m.bits(number);
  if (format.infinity < format.sign) {
    Value special = m.orI(m.i(0x7f800000), m.shl(magnitude, format.shift()));
    bits = m.select(m.below(magnitude, format.infinity), bits, special);
  }
  Value sign = m.shl(m.andI(byte, m.i(format.sign)), format.signShift());
  Value signedBits = m.orI(bits, sign);
  if (format.isFnuz) {
    Value isNan = arith::CmpIOp::create(body, arith::CmpIPredicate::eq, byte,
                                        m.i(format.nan));
    signedBits = m.select(isNan, m.i(quietNan), signedBits);
  }
  return m.fromBits(signedBits);
}

Value lower::encodeFloat(ImplicitLocOpBuilder &body, Value computed,
                         Type type) {
  Format format = formatOf(type);
  MathBuilder m(body, body.getF32Type());
  Value bits = m.bits(computed);
  Value magnitude = m.andI(bits, m.i(0x7fffffff));
  if (isa<Float8E8M0FNUType>(type))
    return arith::TruncIOp::create(body, body.getI8Type(),
                                   encodePower(body, m, bits));
  // Half of the last place, less one unless the last bit is set, carries into
  // the bits that stay.
  Value last = m.andI(m.shr(magnitude, format.shift()), m.i(1));
  Value half = m.i((int64_t(1) << (format.shift() - 1)) - 1);
  Value rounded = m.addI(m.addI(magnitude, half), last);
  Value normal = m.addI(m.shr(rounded, format.shift()),
                        m.i(-(format.rebias << format.fraction)));
  // Below the normal numbers, a sum whose last place is that of the format.
  int64_t power = format.rebias + 1 - format.fraction + 23;
  Value base = m.i(power << 23);
  Value sum = m.add(m.fromBits(magnitude), m.fromBits(base));
  Value small = m.subI(m.bits(sum), base);
  Value code =
      m.select(m.below(magnitude, format.minNormal()), small,
               arith::MinUIOp::create(body, normal, m.i(format.beyond)));
  Value isNumber = m.below(magnitude, 0x7f800001);
  code = m.select(isNumber, code, m.i(format.nan));
  Value sign = m.andI(m.shr(bits, format.signShift()), m.i(format.sign));
  if (format.nan == 0)
    sign = m.select(isNumber, sign, m.i(0));
  Value signedCode =
      format.isFnuz ? withSign(m, code, sign, format) : m.orI(code, sign);
  return arith::TruncIOp::create(body, body.getI8Type(), signedCode);
}
