// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/spirv/PlainFloats.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace backplane;

namespace {

struct Floats {
  ImplicitLocOpBuilder b;

  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, condition, x, y);
  }
  Value compare(arith::CmpFPredicate kind, Value x, Value y) {
    return arith::CmpFOp::create(b, kind, x, y);
  }
};

/// The upper half of the digits of an f64.
Value upperHalf(Floats &m, Value x) {
  Value factor =
      arith::ConstantOp::create(m.b, m.b.getF64FloatAttr(0x1p27 + 1));
  Value scaled = m.mul(factor, x);
  return m.sub(scaled, m.sub(scaled, x));
}

/// What x * y lost, by Dekker.
Value productError(Floats &m, Value x, Value y, Value product) {
  Value xHigh = upperHalf(m, x), yHigh = upperHalf(m, y);
  Value xLow = m.sub(x, xHigh), yLow = m.sub(y, yHigh);
  Value rest = m.sub(m.mul(xHigh, yHigh), product);
  rest = m.add(rest, m.mul(xHigh, yLow));
  rest = m.add(rest, m.mul(xLow, yHigh));
  return m.add(rest, m.mul(xLow, yLow));
}

/// What x + y lost, by Knuth.
Value sumError(Floats &m, Value x, Value y, Value sum) {
  Value second = m.sub(sum, x);
  Value first = m.sub(sum, second);
  return m.add(m.sub(x, first), m.sub(y, second));
}

/// The product of f32 is exact in f64; one of f64 is two f64.
LogicalResult spellFma(math::FmaOp op, PatternRewriter &rewriter) {
  Floats m{ImplicitLocOpBuilder(op.getLoc(), rewriter)};
  Value x = op.getA(), y = op.getB(), z = op.getC();
  if (op.getType().isF32()) {
    auto wide = [&](Value value) -> Value {
      return arith::ExtFOp::create(m.b, m.b.getF64Type(), value);
    };
    Value sum = m.add(m.mul(wide(x), wide(y)), wide(z));
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), sum);
    return success();
  }
  if (!op.getType().isF64())
    return failure();
  Value product = m.mul(x, y);
  Value sum = m.add(product, z);
  Value lost =
      m.add(productError(m, x, y, product), sumError(m, product, z, sum));
  Value result = m.add(sum, lost);
  // Infinities and what overflows within have no errors.
  Value valid = m.compare(arith::CmpFPredicate::OEQ, result, result);
  rewriter.replaceOp(op, m.select(valid, result, sum));
  return success();
}

/// NaN when one is NaN; -0 is less than +0.
template <typename Op, bool isMaximum>
LogicalResult spellExtreme(Op op, PatternRewriter &rewriter) {
  Type type = op.getType();
  if (!isa<FloatType>(type))
    return failure();
  Floats m{ImplicitLocOpBuilder(op.getLoc(), rewriter)};
  Value x = op.getLhs(), y = op.getRhs();
  Type bits = rewriter.getIntegerType(type.getIntOrFloatBitWidth());
  Value xBits = arith::BitcastOp::create(m.b, bits, x);
  Value yBits = arith::BitcastOp::create(m.b, bits, y);
  Value merged = isMaximum ? Value(arith::AndIOp::create(m.b, xBits, yBits))
                           : Value(arith::OrIOp::create(m.b, xBits, yBits));
  Value equal = arith::BitcastOp::create(m.b, type, merged);
  Value above = m.compare(arith::CmpFPredicate::OGT, x, y);
  Value below = m.compare(arith::CmpFPredicate::OLT, x, y);
  Value same = m.compare(arith::CmpFPredicate::OEQ, x, y);
  Value result = m.select(same, equal, m.add(x, y));
  result = m.select(above, isMaximum ? x : y, result);
  rewriter.replaceOp(op, m.select(below, isMaximum ? y : x, result));
  return success();
}

LogicalResult spellTrunc(math::TruncOp op, PatternRewriter &rewriter) {
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  Value magnitude = math::AbsFOp::create(b, op.getOperand());
  Value floor = math::FloorOp::create(b, magnitude);
  rewriter.replaceOpWithNewOp<math::CopySignOp>(op, floor, op.getOperand());
  return success();
}

/// Sums above 2^52 have no fractions; larger numbers have none themselves.
/// Lavapipe leaves an f64 above 2^24 as it is.
LogicalResult spellRound(math::RoundEvenOp op, PatternRewriter &rewriter) {
  if (!op.getType().isF64())
    return failure();
  Floats m{ImplicitLocOpBuilder(op.getLoc(), rewriter)};
  Value limit = arith::ConstantOp::create(m.b, m.b.getF64FloatAttr(0x1p52));
  Value magnitude = math::AbsFOp::create(m.b, op.getOperand());
  Value rounded = m.sub(m.add(magnitude, limit), limit);
  Value below = m.compare(arith::CmpFPredicate::OLT, magnitude, limit);
  rewriter.replaceOpWithNewOp<math::CopySignOp>(
      op, m.select(below, rounded, magnitude), op.getOperand());
  return success();
}

} // namespace

LogicalResult backplane::usePlainFloats(ModuleOp module) {
  RewritePatternSet patterns(module.getContext());
  patterns.add(spellFma)
      .add(spellTrunc)
      .add(spellRound)
      .add(spellExtreme<arith::MaximumFOp, true>)
      .add(spellExtreme<arith::MinimumFOp, false>);
  return applyPatternsGreedily(module, std::move(patterns));
}
