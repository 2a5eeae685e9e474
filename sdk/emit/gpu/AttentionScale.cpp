// SPDX-License-Identifier: Apache-2.0
//
// Numbers by which the operands of the scores are scaled.
#include "sdk/emit/gpu/Attention.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace backplane {

static Operation *yieldedBy(linalg::GenericOp op) {
  return op.getBody()->getTerminator()->getOperand(0).getDefiningOp();
}

/// The op of one operand that computes the elements of a tensor, behind what
/// only moves them; null where anything else reads what it makes.
static linalg::GenericOp sourceOf(Value tensor) {
  while (tensor.hasOneUse()) {
    Operation *op = tensor.getDefiningOp();
    auto generic = dyn_cast_or_null<linalg::GenericOp>(op);
    bool isOne = generic && generic.getNumDpsInputs() == 1 &&
                 generic.getNumReductionLoops() == 0;
    if (isOne && yieldedBy(generic))
      return generic;
    bool moves =
        isOne || isa_and_nonnull<linalg::TransposeOp, linalg::BroadcastOp,
                                 tensor::ExpandShapeOp, tensor::CollapseShapeOp,
                                 tensor::ExtractSliceOp, tensor::CastOp>(op);
    if (!moves)
      return nullptr;
    tensor = op->getOperand(0);
  }
  return nullptr;
}

static bool isWidenedHalf(Value value) {
  auto widening = value.getDefiningOp<arith::ExtFOp>();
  if (!widening)
    return false;
  Type from = widening.getIn().getType();
  return from.isF16() || from.isBF16();
}

/// The scale of a body that multiplies a widened half with a number, or divides
/// it by one, and does nothing else; the body does without it from then on.
static std::optional<ScoreScale> takeScale(linalg::GenericOp op) {
  Operation *scaling = yieldedBy(op);
  bool divides = isa_and_nonnull<arith::DivFOp>(scaling);
  if (!divides && !isa_and_nonnull<arith::MulFOp>(scaling))
    return std::nullopt;
  for (unsigned i : {0, 1}) {
    Value half = scaling->getOperand(i);
    TypedAttr number;
    if (!isWidenedHalf(half) || (divides && i == 1) ||
        !matchPattern(scaling->getOperand(1 - i), m_Constant(&number)))
      continue;
    op.getBody()->getTerminator()->setOperand(0, half);
    scaling->erase();
    return ScoreScale{number, divides};
  }
  return std::nullopt;
}

SmallVector<ScoreScale> takeScales(GpuAttention &attention) {
  SmallVector<ScoreScale> scales;
  for (OpOperand *input : attention.scores.op.getDpsInputOperands())
    if (linalg::GenericOp source = sourceOf(input->get()))
      if (auto scale = takeScale(source))
        scales.push_back(*scale);
  return scales;
}

Value scaled(ImplicitLocOpBuilder &b, const GpuAttention &attention,
             Value sum) {
  for (const ScoreScale &scale : attention.scales) {
    Value number = arith::ConstantOp::create(b, scale.number);
    sum = scale.divides ? arith::DivFOp::create(b, sum, number).getResult()
                        : arith::MulFOp::create(b, sum, number).getResult();
  }
  return sum;
}

} // namespace backplane
