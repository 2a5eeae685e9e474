// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/gpu/SoftmaxOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace backplane {

OpOperand *inputOf(linalg::GenericOp op, Value value) {
  if (auto widening = dyn_cast_or_null<arith::ExtFOp>(value.getDefiningOp()))
    value = widening.getIn();
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getOwner() != op.getBody() ||
      argument.getArgNumber() >= unsigned(op.getNumDpsInputs()))
    return nullptr;
  return op.getDpsInputOperand(argument.getArgNumber());
}

/// What is left of a number where any that is none becomes zero; null for
/// anything else.
static Value zeroedNan(Value value) {
  auto select = value.getDefiningOp<arith::SelectOp>();
  auto test = select ? select.getCondition().getDefiningOp<arith::CmpFOp>()
                     : arith::CmpFOp();
  if (!test || test.getPredicate() != arith::CmpFPredicate::UNO ||
      test.getLhs() != test.getRhs() ||
      !matchPattern(select.getTrueValue(), m_PosZeroFloat()))
    return {};
  Value tested = test.getLhs(), number = select.getFalseValue();
  auto widening = tested.getDefiningOp<arith::ExtFOp>();
  bool same = tested == number || (widening && widening.getIn() == number);
  return same ? number : Value();
}

Operation *yieldOf(linalg::GenericOp op, bool *zeroes) {
  Value yielded = op.getBody()->getTerminator()->getOperand(0);
  if (Value number = zeroes ? zeroedNan(yielded) : Value()) {
    *zeroes = true;
    yielded = number;
  }
  Operation *value = yielded.getDefiningOp();
  if (auto rounding = dyn_cast_or_null<arith::TruncFOp>(value))
    value = rounding.getIn().getDefiningOp();
  return value;
}

linalg::GenericOp behindReshapes(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
      return dyn_cast<linalg::GenericOp>(op);
    value = op->getOperand(0);
  }
  return nullptr;
}

bool startsWith(linalg::GenericOp op, bool (*test)(const APFloat &)) {
  auto fill = op.getDpsInits()[0].getDefiningOp<linalg::FillOp>();
  APFloat value(0.0f);
  return fill && matchPattern(fill.getInputs()[0], m_ConstantFloat(&value)) &&
         test(value);
}

} // namespace backplane
