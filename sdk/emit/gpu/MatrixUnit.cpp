// SPDX-License-Identifier: Apache-2.0
//
// What a unit does in its own way where it has one.
#include "sdk/emit/gpu/MatrixUnit.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <numbers>

using namespace mlir;

namespace backplane {

SmallVector<Value> packWords(ImplicitLocOpBuilder &b, ValueRange elements,
                             int64_t inWord) {
  SmallVector<Value> words;
  Type word = b.getI32Type();
  for (size_t i = 0; i < elements.size(); i += size_t(inWord)) {
    Value packed;
    for (int64_t part = 0; part < inWord; ++part) {
      Value bits = elements[i + size_t(part)];
      int64_t width = bits.getType().getIntOrFloatBitWidth();
      if (!bits.getType().isInteger())
        bits = arith::BitcastOp::create(b, b.getIntegerType(unsigned(width)),
                                        bits);
      bits = arith::ExtUIOp::create(b, word, bits);
      if (part > 0) {
        Value by = arith::ConstantOp::create(
            b, b.getI32IntegerAttr(int32_t(part * width)));
        bits = arith::ShLIOp::create(b, bits, by);
      }
      packed = packed ? arith::OrIOp::create(b, packed, bits) : bits;
    }
    words.push_back(packed);
  }
  return words;
}

Value MatrixUnit::pack(ImplicitLocOpBuilder &b, Type half, Value first,
                       Value second) const {
  Value halves[] = {arith::TruncFOp::create(b, half, first),
                    arith::TruncFOp::create(b, half, second)};
  return packWords(b, halves, 2).front();
}

std::pair<Value, Value> MatrixUnit::unpack(ImplicitLocOpBuilder &b, Type half,
                                           Value word) const {
  auto number = [&](Value bits) -> Value {
    bits = arith::TruncIOp::create(b, b.getI16Type(), bits);
    bits = arith::BitcastOp::create(b, half, bits);
    return arith::ExtFOp::create(b, b.getF32Type(), bits);
  };
  Value by = arith::ConstantOp::create(b, b.getI32IntegerAttr(16));
  Value high = arith::ShRUIOp::create(b, word, by);
  return {number(word), number(high)};
}

static Value number(ImplicitLocOpBuilder &b, double value) {
  return arith::ConstantOp::create(b, b.getF32FloatAttr(float(value)));
}

Value MatrixUnit::exp(ImplicitLocOpBuilder &b, Value x, double scale,
                      Value shift) const {
  return shiftBy(b, math::FmaOp::create(b, x, number(b, scale), shift));
}

Value MatrixUnit::shift(ImplicitLocOpBuilder &b, Value top, double scale,
                        int64_t exponent) const {
  return math::FmaOp::create(b, top, number(b, -scale),
                             number(b, double(exponent) * std::numbers::ln2));
}

Value MatrixUnit::shiftBy(ImplicitLocOpBuilder &b, Value difference) const {
  return math::ExpOp::create(b, difference);
}

} // namespace backplane
