// SPDX-License-Identifier: Apache-2.0
//
// The pass `bp-expand-math`.
#include "sdk/lower/Marks.h"
#include "sdk/lower/MathBuilder.h"
#include "sdk/lower/Passes.h"

#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace bp {
#define GEN_PASS_DEF_EXPANDMATHPASS
#include "sdk/lower/Passes.h.inc"
} // namespace bp

using namespace mlir;
using namespace bp::lower;

namespace {

bool isNarrow(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isF16() || element.isBF16();
}

bool isExpanded(Type type) {
  Type element = getElementTypeOrSelf(type);
  auto vector = dyn_cast<VectorType>(type);
  return (element.isF32() || element.isF64()) &&
         (vector || isa<FloatType>(type));
}

using Function = Value (*)(MathBuilder &, Value);

/// `ofNotPositive`: where the operand is marked as that.
template <typename Op, Function function, Function ofNotPositive = function>
struct ExpandUnary : OpRewritePattern<Op> {
  ExpandUnary(MLIRContext *context, bool scales)
      : OpRewritePattern<Op>(context), scales(scales) {}

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (!isExpanded(op.getType()))
      return failure();
    ImplicitLocOpBuilder builder(op.getLoc(), rewriter);
    MathBuilder m(builder, op.getType(), scales);
    Function expand = op->hasAttr(notPositiveMark) ? ofNotPositive : function;
    rewriter.replaceOp(op, expand(m, op.getOperand()));
    return success();
  }

  bool scales;
};

/// f16 and bf16 compute in f32.
template <typename Op>
LogicalResult widenMath(Op op, PatternRewriter &rewriter) {
  Type type = op.getType();
  if (!isNarrow(type))
    return failure();
  Type wide = Float32Type::get(op.getContext());
  if (auto vector = dyn_cast<VectorType>(type))
    wide = vector.clone(wide);
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(
        arith::ExtFOp::create(rewriter, op.getLoc(), wide, operand));
  auto result = Op::create(rewriter, op.getLoc(), wide, operands);
  result->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, type, result);
  return success();
}

/// Integers to bf16, of which few have exact code: through f32, which holds
/// those that are converted without rounding twice.
template <typename Op>
LogicalResult widenConversion(Op op, PatternRewriter &rewriter) {
  Type type = op.getType();
  if (!getElementTypeOrSelf(type).isBF16())
    return failure();
  Type wide = Float32Type::get(op.getContext());
  if (auto vector = dyn_cast<VectorType>(type))
    wide = vector.clone(wide);
  Value result = Op::create(rewriter, op.getLoc(), wide, op.getIn());
  rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, type, result);
  return success();
}

/// The value, when all elements are one known number.
std::optional<double> knownNumber(Value value) {
  APFloat number(0.0);
  if (!matchPattern(value, m_ConstantFloat(&number)))
    return std::nullopt;
  return number.convertToDouble();
}

/// Powers that are a product or a quotient, rounded at most twice.
Value simplePower(MathBuilder &m, Value x, double exponent) {
  if (exponent == 1)
    return x;
  if (exponent == 2)
    return m.mul(x, x);
  if (exponent == 3)
    return m.mul(m.mul(x, x), x);
  if (exponent == -1)
    return m.div(m.f(1), x);
  return {};
}

struct ExpandPow : OpRewritePattern<math::PowFOp> {
  ExpandPow(MLIRContext *context, bool scales)
      : OpRewritePattern(context), scales(scales) {}

  LogicalResult matchAndRewrite(math::PowFOp op,
                                PatternRewriter &rewriter) const override {
    if (!isExpanded(op.getType()))
      return failure();
    ImplicitLocOpBuilder builder(op.getLoc(), rewriter);
    MathBuilder m(builder, op.getType(), scales);
    Value result;
    if (std::optional<double> exponent = knownNumber(op.getRhs()))
      result = simplePower(m, op.getLhs(), *exponent);
    if (!result)
      result = expandPow(m, op.getLhs(), op.getRhs());
    rewriter.replaceOp(op, result);
    return success();
  }

  bool scales;
};

template <typename... Op> void addWidening(RewritePatternSet &patterns) {
  (patterns.add(widenMath<Op>), ...);
}

void addExpansions(RewritePatternSet &patterns, bool scales) {
  patterns.add<ExpandUnary<math::ExpOp, expandExp, expOfNotPositive>,
               ExpandUnary<math::ExpM1Op, expandExpM1>,
               ExpandUnary<math::TanhOp, expandTanh>,
               ExpandUnary<math::LogOp, expandLog>,
               ExpandUnary<math::Log1pOp, expandLog1p>,
               ExpandUnary<math::SinOp, expandSin>,
               ExpandUnary<math::CosOp, expandCos>,
               ExpandUnary<math::TanOp, expandTan>,
               ExpandUnary<math::AsinOp, expandAsin>,
               ExpandUnary<math::AcosOp, expandAcos>,
               ExpandUnary<math::AtanOp, expandAtan>,
               ExpandUnary<math::SinhOp, expandSinh>,
               ExpandUnary<math::CoshOp, expandCosh>,
               ExpandUnary<math::AsinhOp, expandAsinh>,
               ExpandUnary<math::AcoshOp, expandAcosh>,
               ExpandUnary<math::AtanhOp, expandAtanh>,
               ExpandUnary<math::ErfOp, expandErf>,
               ExpandUnary<math::RsqrtOp, expandRsqrt>, ExpandPow>(
      patterns.getContext(), scales);
}

/// All arithmetic but that in the bodies of named linalg ops, which are fixed.
SmallVector<Operation *> expandable(Operation *root) {
  SmallVector<Operation *> ops;
  root->walk([&](Operation *op) {
    Dialect *dialect = op->getDialect();
    auto loops = op->getParentOfType<linalg::LinalgOp>();
    bool isFixed = loops && !isa<linalg::GenericOp>(loops);
    if (isa_and_nonnull<arith::ArithDialect, math::MathDialect>(dialect) &&
        !isFixed)
      ops.push_back(op);
  });
  return ops;
}

struct ExpandMathPass : bp::impl::ExpandMathPassBase<ExpandMathPass> {
  using ExpandMathPassBase::ExpandMathPassBase;
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    addExpansions(patterns, scales);
    addWidening<math::ExpOp, math::ExpM1Op, math::TanhOp, math::LogOp,
                math::Log1pOp, math::SinOp, math::CosOp, math::TanOp,
                math::AsinOp, math::AcosOp, math::AtanOp, math::SinhOp,
                math::CoshOp, math::AsinhOp, math::AcoshOp, math::AtanhOp,
                math::ErfOp, math::RsqrtOp, math::PowFOp>(patterns);
    patterns.add(widenConversion<arith::SIToFPOp>)
        .add(widenConversion<arith::UIToFPOp>);
    arith::populateExpandBFloat16Patterns(patterns);
    SmallVector<Operation *> candidates = expandable(getOperation());
    GreedyRewriteConfig config;
    config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
    if (failed(
            applyOpPatternsGreedily(candidates, std::move(patterns), config)))
      signalPassFailure();
  }
};

} // namespace
