// SPDX-License-Identifier: Apache-2.0
//
// The 8-bit float formats, by arithmetic on bits: no target needs instructions
// for them, and no IR below this point knows them.
#include "sdk/lower/Lowering.h"
#include "sdk/lower/MathBuilder.h"

#include <cmath>

using namespace bp;
using namespace bp::lower;

namespace {

/// A format as f32 sees it.
struct Format {
  int64_t fraction; ///< bits behind the point
  int64_t rebias;   ///< exponent bias of f32 less that of the format
  int64_t infinity; ///< first magnitude that is no finite number

  int64_t shift() const { return 23 - fraction; }
  /// The f32 bits of the least normal number.
  int64_t minNormal() const { return (rebias + 1) << 23; }
};

Format formatOf(Type type) {
  if (isa<Float8E5M2Type>(type))
    return {2, 127 - 15, 0x7c};
  return {3, 127 - 7, 0x7f};
}

} // namespace

Value lower::decodeF8(ImplicitLocOpBuilder &body, Value stored, Type type) {
  Format format = formatOf(type);
  MathBuilder m(body, body.getF32Type());
  Value byte = arith::ExtUIOp::create(body, body.getI32Type(), stored);
  Value magnitude = m.andI(byte, m.i(0x7f));
  // Exponent and fraction in place, but for the bias: a power of two, which
  // also takes what is below the normal numbers to where it belongs.
  Value scale = m.f(std::ldexp(1.0, int(format.rebias)));
  Value number = m.mul(m.fromBits(m.shl(magnitude, format.shift())), scale);
  Value special = m.orI(m.i(0x7f800000), m.shl(magnitude, format.shift()));
  Value bits =
      m.select(m.below(magnitude, format.infinity), m.bits(number), special);
  Value sign = m.shl(m.andI(byte, m.i(0x80)), 24);
  return m.fromBits(m.orI(bits, sign));
}

Value lower::encodeF8(ImplicitLocOpBuilder &body, Value computed, Type type) {
  Format format = formatOf(type);
  MathBuilder m(body, body.getF32Type());
  Value bits = m.bits(computed);
  Value magnitude = m.andI(bits, m.i(0x7fffffff));
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
               arith::MinUIOp::create(body, normal, m.i(format.infinity)));
  Value isNumber = m.below(magnitude, 0x7f800001);
  code = m.select(isNumber, code, m.i(0x7f));
  Value sign = m.andI(m.shr(bits, 24), m.i(0x80));
  return arith::TruncIOp::create(body, body.getI8Type(), m.orI(code, sign));
}
