// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/gpu/MatrixFactors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;

namespace backplane {

constexpr int64_t kPartsF16 = 2, kPartsBF16 = 3;
/// Parts of bf16 whose error, 2^-18 of a weight, is small beside what a result
/// of 16 bits is rounded by and what sums of so many columns may be off by.
constexpr int64_t kPartsOfMany = 2, kManyColumns = 256;

/// Whether all that is made of the sums has 16 bits.
static bool isShort(const GpuContraction &product) {
  return llvm::all_of(product.sums.results, [](Written result) {
    auto type = cast<ShapedType>(result.getSource().getType());
    return type.getElementTypeBitWidth() == 16;
  });
}

static int64_t partsOf(const GpuContraction &product, MatrixElement element) {
  if (element == MatrixElement::F16)
    return kPartsF16;
  linalg::GenericOp op = product.op;
  int64_t columns = sizeOf(op.getStaticLoopRanges(), product.k);
  bool many = !ShapedType::isDynamic(columns) && columns >= kManyColumns;
  return many && isShort(product) ? kPartsOfMany : kPartsBF16;
}

std::optional<AttentionFactors> findFactors(const GpuAttention &attention) {
  auto q = narrowFactor(attention.scores.a),
       k = narrowFactor(attention.scores.b);
  auto v = narrowFactor(attention.product.b);
  auto weights = narrowFactor(attention.product.a);
  if (!q || !k || !v)
    return std::nullopt;
  int64_t parts = weights ? 1 : partsOf(attention.product, v->element);
  if (!weights)
    weights = {attention.product.a.value, v->type, v->element};
  return AttentionFactors{*q, *k, *weights, *v, parts};
}

void scale(ImplicitLocOpBuilder &b, int64_t exponent,
           MutableArrayRef<Value> numbers) {
  if (exponent == 0)
    return;
  auto by = std::ldexp(1.0F, int(exponent));
  Value number = arith::ConstantOp::create(b, b.getF32FloatAttr(by));
  for (Value &value : numbers)
    value = arith::MulFOp::create(b, value, number);
}

SmallVector<Value> packWeights(ImplicitLocOpBuilder &b, const MatrixUnit &unit,
                               const AttentionFactors &factors, Value first,
                               Value second) {
  Type half = factors.weights.type;
  SmallVector<Value> words;
  for (int64_t part = 0; part < factors.parts; ++part) {
    words.push_back(unit.pack(b, half, first, second));
    if (part + 1 == factors.parts)
      break;
    auto [one, two] = unit.unpack(b, half, words.back());
    first = arith::SubFOp::create(b, first, one);
    second = arith::SubFOp::create(b, second, two);
  }
  return words;
}

int64_t countFor(int64_t size, int64_t step, int64_t most) {
  return ShapedType::isDynamic(size) ? most : sumsFor(size, step, most);
}

/* ---- What a unit does in its own way where it has one ---- */

Value MatrixUnit::pack(ImplicitLocOpBuilder &b, Type half, Value first,
                       Value second) const {
  auto bits = [&](Value value) -> Value {
    value = arith::TruncFOp::create(b, half, value);
    value = arith::BitcastOp::create(b, b.getI16Type(), value);
    return arith::ExtUIOp::create(b, b.getI32Type(), value);
  };
  Value by = arith::ConstantOp::create(b, b.getI32IntegerAttr(16));
  Value high = arith::ShLIOp::create(b, bits(second), by);
  return arith::OrIOp::create(b, bits(first), high);
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

Value MatrixUnit::exp(ImplicitLocOpBuilder &b, Value x, double scale,
                      int64_t exponent) const {
  auto times = [&](Value value, double by) -> Value {
    if (by == 1)
      return value;
    Value number = arith::ConstantOp::create(b, b.getF32FloatAttr(float(by)));
    return arith::MulFOp::create(b, value, number);
  };
  Value power = math::ExpOp::create(b, times(x, scale));
  return times(power, std::ldexp(1.0, int(exponent)));
}

} // namespace backplane
