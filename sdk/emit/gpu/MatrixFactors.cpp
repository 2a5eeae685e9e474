// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/gpu/MatrixFactors.h"

#include "sdk/emit/gpu/AttentionLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>

using namespace mlir;

namespace backplane {

constexpr int64_t kPartsF16 = 2, kPartsBF16 = 3;
/// Parts of bf16 whose error, 2^-18 of a weight, is small beside what a result
/// of 16 bits is rounded by and what sums of so many columns may be off by.
constexpr int64_t kPartsOfMany = 2, kManyColumns = 256;

/// Whether all that is made of the sums has 16 bits.
static bool isOfHalves(const GpuContraction &product) {
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
  return many && isOfHalves(product) ? kPartsOfMany : kPartsBF16;
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

void enterGroup(MatrixScope &scores, MatrixScope &sums) {
  scores.readBufferSizes();
  sums.readBufferSizes();
  scores.readSizes();
  sums.enterGroup(sums.plan.tileM(), sums.plan.tileN());
  enterScores(scores, sums);
  scores.findLane();
  sums.findLane();
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

} // namespace backplane
