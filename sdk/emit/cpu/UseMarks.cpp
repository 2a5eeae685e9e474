// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/UseMarks.h"

#include "sdk/emit/common/CodePaths.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "sdk/lower/Marks.h"

using namespace mlir;

namespace {

/// The divisor of all lanes and all iterations of the loop around the division.
Value steadyDivisor(arith::DivFOp op) {
  auto repeated = op.getRhs().getDefiningOp<vector::BroadcastOp>();
  Value divisor = repeated ? repeated.getSource() : Value();
  bool steady = divisor && isa<FloatType>(divisor.getType()) &&
                divisor.getParentRegion() != op->getParentRegion();
  return steady ? divisor : Value();
}

Value reciprocalOf(ImplicitLocOpBuilder &builder, Value divisor) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfterValue(divisor);
  Value one = arith::ConstantOp::create(
      builder, builder.getFloatAttr(divisor.getType(), 1));
  return arith::DivFOp::create(builder, one, divisor);
}

void multiply(arith::DivFOp op, Value divisor) {
  ImplicitLocOpBuilder builder(op.getLoc(), op);
  Value whole = op.getLhs(), part = op.getRhs();
  Value factor = vector::BroadcastOp::create(builder, op.getType(),
                                             reciprocalOf(builder, divisor));
  Value near = arith::MulFOp::create(builder, whole, factor);
  Value away = arith::NegFOp::create(builder, near);
  Value rest = math::FmaOp::create(builder, away, part, whole);
  Value exact = math::FmaOp::create(builder, rest, factor, near);
  op.replaceAllUsesWith(exact);
  op.erase();
}

} // namespace

void backplane::multiplyShares(ModuleOp module) {
  module.walk([](arith::DivFOp op) {
    Value divisor =
        op->hasAttr(bp::lower::shareMark) && isa<VectorType>(op.getType())
            ? steadyDivisor(op)
            : Value();
    if (!divisor)
      return;
    backplane::tellPath(op.getLoc(), backplane::path::shares);
    multiply(op, divisor);
  });
}

void backplane::compareMaxima(ModuleOp module) {
  module.walk([](arith::MaximumFOp op) {
    if (!op->hasAttr(bp::lower::numbersMark))
      return;
    ImplicitLocOpBuilder builder(op.getLoc(), op);
    Value best = op.getLhs(), next = op.getRhs();
    Value above =
        arith::CmpFOp::create(builder, arith::CmpFPredicate::OGT, next, best);
    op.replaceAllUsesWith(
        arith::SelectOp::create(builder, above, next, best).getResult());
    op.erase();
  });
}
