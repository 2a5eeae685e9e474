// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/NarrowFloats.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace backplane;

namespace {

bool isNarrow(Type type) { return type.isF16() || type.isBF16(); }

/// Integer arithmetic on 32 bits.
struct Bits {
  ImplicitLocOpBuilder b;

  Value constant(uint32_t value) {
    return arith::ConstantOp::create(
        b, b.getIntegerAttr(b.getI32Type(), int64_t(int32_t(value))));
  }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value sub(Value x, uint32_t y) {
    return arith::SubIOp::create(b, x, constant(y));
  }
  Value both(Value x, uint32_t y) {
    return arith::AndIOp::create(b, x, constant(y));
  }
  Value either(Value x, Value y) { return arith::OrIOp::create(b, x, y); }
  Value left(Value x, uint32_t n) {
    return arith::ShLIOp::create(b, x, constant(n));
  }
  Value right(Value x, uint32_t n) {
    return arith::ShRUIOp::create(b, x, constant(n));
  }
  Value less(Value x, uint32_t y) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, x, constant(y));
  }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, condition, x, y);
  }
  Value asFloat(Value x) {
    return arith::BitcastOp::create(b, b.getF32Type(), x);
  }
  Value asInteger(Value x) {
    return arith::BitcastOp::create(b, b.getI32Type(), x);
  }
  Value number(float value) {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
  }
};

/// The f32 that the low 16 bits of an i32 stand for as f16. Subnormal halves
/// are counted in units of 2^-24: no f32 on the way is subnormal.
Value fromHalf(Bits &m, Value half) {
  Value magnitude = m.both(half, 0x7fff);
  Value shifted = m.left(magnitude, 13);
  Value normal = m.add(shifted, m.constant(112u << 23));
  Value special = m.either(shifted, m.constant(0x7f800000));
  Value count = arith::SIToFPOp::create(m.b, m.b.getF32Type(), magnitude);
  Value tiny =
      m.asInteger(arith::MulFOp::create(m.b, count, m.number(0x1p-24f)));
  Value result = m.select(m.less(magnitude, 0x7c00), normal, special);
  result = m.select(m.less(magnitude, 0x400), tiny, result);
  return m.asFloat(m.either(result, m.left(m.both(half, 0x8000), 16)));
}

/// The f16 nearest to an f32, ties to even, in the low bits of an i32. For
/// results below 2^-14 the sum with 0.5 does the rounding.
Value toHalf(Bits &m, Value value) {
  Value bits = m.asInteger(value);
  Value magnitude = m.both(bits, 0x7fffffff);
  Value odd = m.both(m.right(magnitude, 13), 1);
  Value rounded = m.add(m.add(magnitude, m.constant(0xfff)), odd);
  Value normal = m.right(m.sub(rounded, 112u << 23), 13);
  Value sum = arith::AddFOp::create(m.b, m.asFloat(magnitude), m.number(0.5f));
  Value tiny = m.sub(m.asInteger(sum), 0x3f000000);
  Value nan =
      m.either(m.both(m.right(magnitude, 13), 0x3ff), m.constant(0x7e00));
  Value result = m.select(m.less(magnitude, 0x38800000), tiny, normal);
  result = m.select(m.less(magnitude, 0x477ff000), result, m.constant(0x7c00));
  result = m.select(m.less(magnitude, 0x7f800001), result, nan);
  return m.either(result, m.both(m.right(bits, 16), 0x8000));
}

struct WidenHalf : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::ExtFOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getIn().getType().isF16())
      return failure();
    Bits m{ImplicitLocOpBuilder(op.getLoc(), rewriter)};
    Value bits =
        arith::BitcastOp::create(m.b, rewriter.getI16Type(), op.getIn());
    Value wide = arith::ExtUIOp::create(m.b, rewriter.getI32Type(), bits);
    Value result = fromHalf(m, wide);
    if (!op.getType().isF32())
      result = arith::ExtFOp::create(m.b, op.getType(), result);
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct NarrowToHalf : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().isF16() || !op.getIn().getType().isF32())
      return failure();
    Bits m{ImplicitLocOpBuilder(op.getLoc(), rewriter)};
    Value bits = toHalf(m, op.getIn());
    Value low = arith::TruncIOp::create(m.b, rewriter.getI16Type(), bits);
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), low);
    return success();
  }
};

/// Negation and absolute value change the sign alone.
template <typename Op, bool clears> struct ChangeSign : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
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
};

/// Comparisons are those of the same numbers in f32.
struct WidenComparison : OpRewritePattern<arith::CmpFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::CmpFOp op,
                                PatternRewriter &rewriter) const override {
    if (!isNarrow(op.getLhs().getType()))
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value x = arith::ExtFOp::create(b, b.getF32Type(), op.getLhs());
    Value y = arith::ExtFOp::create(b, b.getF32Type(), op.getRhs());
    rewriter.replaceOpWithNewOp<arith::CmpFOp>(op, op.getPredicate(), x, y);
    return success();
  }
};

/// Integers of few bits, which canonicalisation converts at once.
template <typename Op> struct FromInteger : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (!isNarrow(op.getType()))
      return failure();
    Value wide =
        Op::create(rewriter, op.getLoc(), rewriter.getF32Type(), op.getIn());
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), wide);
    return success();
  }
};

template <typename Op> struct ToInteger : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (!isNarrow(op.getIn().getType()))
      return failure();
    Value wide = arith::ExtFOp::create(rewriter, op.getLoc(),
                                       rewriter.getF32Type(), op.getIn());
    rewriter.replaceOpWithNewOp<Op>(op, op.getType(), wide);
    return success();
  }
};

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
  patterns
      .add<WidenHalf, NarrowToHalf, WidenComparison,
           FromInteger<arith::SIToFPOp>, FromInteger<arith::UIToFPOp>,
           ToInteger<arith::FPToSIOp>, ToInteger<arith::FPToUIOp>,
           ChangeSign<arith::NegFOp, false>, ChangeSign<math::AbsFOp, true>>(
          module.getContext());
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
