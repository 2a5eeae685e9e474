// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/spirv/NarrowFloats.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "sdk/lower/MathBuilder.h"

using namespace mlir;
using namespace backplane;
using bp::lower::MathBuilder;

namespace {

bool isNarrow(Type type) { return type.isF16() || type.isBF16(); }

/// The f32 that the low 16 bits of an i32 stand for as f16. Subnormal halves
/// are counted in units of 2^-24: no f32 on the way is subnormal.
Value fromHalf(ImplicitLocOpBuilder &b, Value half) {
  MathBuilder m(b, b.getF32Type());
  Value magnitude = m.andI(half, m.i(0x7fff));
  Value shifted = m.shl(magnitude, 13);
  Value normal = m.addI(shifted, m.i(112 << 23));
  Value special = m.orI(shifted, m.i(0x7f800000));
  Value count = arith::SIToFPOp::create(b, b.getF32Type(), magnitude);
  Value tiny = m.bits(m.mul(count, m.f(0x1p-24)));
  Value result = m.select(m.below(magnitude, 0x7c00), normal, special);
  result = m.select(m.below(magnitude, 0x400), tiny, result);
  return m.fromBits(m.orI(result, m.shl(m.andI(half, m.i(0x8000)), 16)));
}

/// The f16 nearest to an f32, ties to even, in the low bits of an i32. For
/// results below 2^-14 the sum with 0.5 does the rounding.
Value toHalf(ImplicitLocOpBuilder &b, Value value) {
  MathBuilder m(b, b.getF32Type());
  Value bits = m.bits(value);
  Value magnitude = m.andI(bits, m.i(0x7fffffff));
  Value odd = m.andI(m.shr(magnitude, 13), m.i(1));
  Value rounded = m.addI(m.addI(magnitude, m.i(0xfff)), odd);
  Value normal = m.shr(m.subI(rounded, m.i(112 << 23)), 13);
  Value sum = m.add(m.fromBits(magnitude), m.f(0.5));
  Value tiny = m.subI(m.bits(sum), m.i(0x3f000000));
  Value nan = m.orI(m.andI(m.shr(magnitude, 13), m.i(0x3ff)), m.i(0x7e00));
  Value result = m.select(m.below(magnitude, 0x38800000), tiny, normal);
  result = m.select(m.below(magnitude, 0x477ff000), result, m.i(0x7c00));
  result = m.select(m.below(magnitude, 0x7f800001), result, nan);
  return m.orI(result, m.andI(m.shr(bits, 16), m.i(0x8000)));
}

LogicalResult widenHalf(arith::ExtFOp op, PatternRewriter &rewriter) {
  if (!op.getIn().getType().isF16())
    return failure();
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  Value bits = arith::BitcastOp::create(b, rewriter.getI16Type(), op.getIn());
  Value wide = arith::ExtUIOp::create(b, rewriter.getI32Type(), bits);
  Value result = fromHalf(b, wide);
  if (!op.getType().isF32())
    result = arith::ExtFOp::create(b, op.getType(), result);
  rewriter.replaceOp(op, result);
  return success();
}

LogicalResult narrowToHalf(arith::TruncFOp op, PatternRewriter &rewriter) {
  if (!op.getType().isF16() || !op.getIn().getType().isF32())
    return failure();
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  Value bits = toHalf(b, op.getIn());
  Value low = arith::TruncIOp::create(b, rewriter.getI16Type(), bits);
  rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), low);
  return success();
}

/// Negation and absolute value change the sign alone.
template <typename Op, bool clears>
LogicalResult changeSign(Op op, PatternRewriter &rewriter) {
  if (!isNarrow(op.getType()))
    return failure();
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  Type i16 = b.getI16Type();
  Value bits = arith::BitcastOp::create(b, i16, op.getOperand());
  Value mask = arith::ConstantOp::create(
      b, b.getIntegerAttr(i16, clears ? 0x7fff : -0x8000));
  Value changed = clears ? Value(arith::AndIOp::create(b, bits, mask))
                         : Value(arith::XOrIOp::create(b, bits, mask));
  rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), changed);
  return success();
}

/// Comparisons are those of the same numbers in f32.
LogicalResult widenComparison(arith::CmpFOp op, PatternRewriter &rewriter) {
  if (!isNarrow(op.getLhs().getType()))
    return failure();
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  Value x = arith::ExtFOp::create(b, b.getF32Type(), op.getLhs());
  Value y = arith::ExtFOp::create(b, b.getF32Type(), op.getRhs());
  rewriter.replaceOpWithNewOp<arith::CmpFOp>(op, op.getPredicate(), x, y);
  return success();
}

/// Integers of few bits, which canonicalisation converts at once.
template <typename Op>
LogicalResult fromInteger(Op op, PatternRewriter &rewriter) {
  if (!isNarrow(op.getType()))
    return failure();
  Value wide =
      Op::create(rewriter, op.getLoc(), rewriter.getF32Type(), op.getIn());
  rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), wide);
  return success();
}

template <typename Op>
LogicalResult toInteger(Op op, PatternRewriter &rewriter) {
  if (!isNarrow(op.getIn().getType()))
    return failure();
  Value wide = arith::ExtFOp::create(rewriter, op.getLoc(),
                                     rewriter.getF32Type(), op.getIn());
  rewriter.replaceOpWithNewOp<Op>(op, op.getType(), wide);
  return success();
}

LogicalResult checkRest(ModuleOp module) {
  WalkResult result = module.walk([](Operation *op) {
    if (isa<arith::BitcastOp, arith::SelectOp, arith::ConstantOp>(op) ||
        !isa_and_nonnull<arith::ArithDialect, math::MathDialect>(
            op->getDialect()))
      return WalkResult::advance();
    auto narrow = [](Value value) { return isNarrow(value.getType()); };
    if (!llvm::any_of(op->getOperands(), narrow) &&
        !llvm::any_of(op->getResults(), narrow))
      return WalkResult::advance();
    op->emitOpError("computes in a 16-bit float, which the target only holds");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

} // namespace

LogicalResult backplane::holdNarrowFloatsAsBits(ModuleOp module) {
  RewritePatternSet patterns(module.getContext());
  patterns.add(widenHalf)
      .add(narrowToHalf)
      .add(widenComparison)
      .add(fromInteger<arith::SIToFPOp>)
      .add(fromInteger<arith::UIToFPOp>)
      .add(toInteger<arith::FPToSIOp>)
      .add(toInteger<arith::FPToUIOp>)
      .add(changeSign<arith::NegFOp, false>)
      .add(changeSign<math::AbsFOp, true>);
  arith::populateExpandBFloat16Patterns(patterns);
  if (failed(applyPatternsGreedily(module, std::move(patterns))) ||
      failed(checkRest(module)))
    return failure();
  Type i16 = IntegerType::get(module.getContext(), 16);
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](FloatType type) -> std::optional<Type> {
    return isNarrow(type) ? std::optional<Type>(i16) : std::nullopt;
  });
  replacer.addReplacement([&](FloatAttr value) -> std::optional<Attribute> {
    if (!isNarrow(value.getType()))
      return std::nullopt;
    return IntegerAttr::get(i16, value.getValue().bitcastToAPInt());
  });
  replacer.addReplacement(
      [&](DenseElementsAttr value) -> std::optional<Attribute> {
        if (!isNarrow(value.getElementType()))
          return std::nullopt;
        return value.bitcast(i16);
      });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
  module.walk([](arith::BitcastOp op) {
    if (op.getIn().getType() == op.getType()) {
      op.replaceAllUsesWith(op.getIn());
      op.erase();
    }
  });
  return success();
}
