// SPDX-License-Identifier: Apache-2.0
//
// The 8-bit float formats, by arithmetic on bits: no target needs instructions
// for them, and no IR below this point knows them.
#include "sdk/lower/Lowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

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
  int64_t leastNormal() const { return (rebias + 1) << 23; }
};

Format formatOf(Type type) {
  if (isa<Float8E5M2Type>(type))
    return {2, 127 - 15, 0x7c};
  return {3, 127 - 7, 0x7f};
}

/// Arithmetic on one element.
struct Bits {
  ImplicitLocOpBuilder &b;
  Type i32 = b.getI32Type(), f32 = b.getF32Type();

  Value number(int64_t value) {
    return arith::ConstantOp::create(
        b, b.getIntegerAttr(i32, APInt(32, uint64_t(value))));
  }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value both(Value x, Value y) { return arith::AndIOp::create(b, x, y); }
  Value either(Value x, Value y) { return arith::OrIOp::create(b, x, y); }
  Value up(Value x, int64_t n) {
    return arith::ShLIOp::create(b, x, number(n));
  }
  Value down(Value x, int64_t n) {
    return arith::ShRUIOp::create(b, x, number(n));
  }
  Value below(Value x, int64_t y) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, x, number(y));
  }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, condition, x, y);
  }
  Value asFloat(Value x) { return arith::BitcastOp::create(b, f32, x); }
  Value asBits(Value x) { return arith::BitcastOp::create(b, i32, x); }
};

} // namespace

Value lower::decodeF8(ImplicitLocOpBuilder &body, Value stored, Type type) {
  Format format = formatOf(type);
  Bits m{body};
  Value byte = arith::ExtUIOp::create(body, m.i32, stored);
  Value magnitude = m.both(byte, m.number(0x7f));
  // Exponent and fraction in place, but for the bias: a power of two, which
  // also takes what is below the normal numbers to where it belongs.
  Value scale = arith::ConstantOp::create(
      body, body.getF32FloatAttr(std::ldexp(1.0f, int(format.rebias))));
  Value number = arith::MulFOp::create(
      body, m.asFloat(m.up(magnitude, format.shift())), scale);
  Value special =
      m.either(m.number(0x7f800000), m.up(magnitude, format.shift()));
  Value bits =
      m.select(m.below(magnitude, format.infinity), m.asBits(number), special);
  Value sign = m.up(m.both(byte, m.number(0x80)), 24);
  return m.asFloat(m.either(bits, sign));
}

Value lower::encodeF8(ImplicitLocOpBuilder &body, Value computed, Type type) {
  Format format = formatOf(type);
  Bits m{body};
  Value bits = m.asBits(computed);
  Value magnitude = m.both(bits, m.number(0x7fffffff));
  // Half of the last place, less one unless the last bit is set, carries into
  // the bits that stay.
  Value last = m.both(m.down(magnitude, format.shift()), m.number(1));
  Value half = m.number((int64_t(1) << (format.shift() - 1)) - 1);
  Value rounded = m.add(m.add(magnitude, half), last);
  Value normal = m.add(m.down(rounded, format.shift()),
                       m.number(-(format.rebias << format.fraction)));
  // Below the normal numbers, a sum whose last place is that of the format.
  int64_t power = format.rebias + 1 - format.fraction + 23;
  Value base = m.number(power << 23);
  Value sum =
      arith::AddFOp::create(body, m.asFloat(magnitude), m.asFloat(base));
  Value small = arith::SubIOp::create(body, m.asBits(sum), base);
  Value code =
      m.select(m.below(magnitude, format.leastNormal()), small,
               arith::MinUIOp::create(body, normal, m.number(format.infinity)));
  Value isNumber = m.below(magnitude, 0x7f800001);
  code = m.select(isNumber, code, m.number(0x7f));
  Value sign = m.both(m.down(bits, 24), m.number(0x80));
  return arith::TruncIOp::create(body, body.getI8Type(), m.either(code, sign));
}
