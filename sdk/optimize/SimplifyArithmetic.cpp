// SPDX-License-Identifier: Apache-2.0
#include "sdk/optimize/Patterns.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace bp;

Attribute bp::splatOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    SplatElementsAttr elements;
    if (matchPattern(op, m_Constant(&elements)))
      return elements.getSplatValue<Attribute>();
    if (!isa<BroadcastOp, ReshapeOp, TransposeOp>(op))
      return {};
    value = op->getOperand(0);
  }
  return {};
}

bool bp::isFloat(Value value) {
  return isa<FloatType>(getElementTypeOrSelf(value.getType()));
}

namespace {

/// Whether the value is this number everywhere. For floats the sign of zero
/// counts.
bool isSplat(Value value, double number) {
  Attribute splat = splatOf(value);
  if (auto real = dyn_cast_or_null<FloatAttr>(splat)) {
    APFloat expected(number);
    bool inexact;
    expected.convert(real.getValue().getSemantics(),
                     APFloat::rmNearestTiesToEven, &inexact);
    return real.getValue().bitwiseIsEqual(expected);
  }
  if (auto integer = dyn_cast_or_null<IntegerAttr>(splat))
    return !std::signbit(number) && std::isfinite(number) &&
           integer.getValue() == uint64_t(number);
  return false;
}

/// Whether op(x, c) is x for every x, bit for bit but for NaN payloads. x + 0
/// is not: it turns -0 into +0.
bool isNeutralRight(Operation *op, Value c) {
  double infinity = std::numeric_limits<double>::infinity();
  if (isa<MulOp, DivOp, PowOp>(op))
    return isSplat(c, 1);
  if (isa<AddOp>(op))
    return isSplat(c, isFloat(c) ? -0.0 : 0);
  if (isa<SubOp>(op))
    return isSplat(c, 0);
  if (isa<MinOp>(op))
    return isFloat(c) && isSplat(c, infinity);
  if (isa<MaxOp>(op))
    return isFloat(c) && isSplat(c, -infinity);
  if (isa<OrOp, XorOp>(op))
    return isSplat(c, 0);
  return false;
}

struct NeutralOperand : RewritePattern {
  explicit NeutralOperand(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const final {
    if (!isa<MulOp, DivOp, PowOp, AddOp, SubOp, MinOp, MaxOp, OrOp, XorOp>(op))
      return failure();
    bool commutes = !isa<DivOp, PowOp, SubOp>(op);
    if (isNeutralRight(op, op->getOperand(1)))
      rewriter.replaceOp(op, op->getOperand(0));
    else if (commutes && isNeutralRight(op, op->getOperand(0)))
      rewriter.replaceOp(op, op->getOperand(1));
    else
      return failure();
    return success();
  }
};

/// -(-x) and not(not x).
template <typename Op>
LogicalResult involution(Op op, PatternRewriter &rewriter) {
  auto inner = op.getX().template getDefiningOp<Op>();
  if (!inner)
    return failure();
  rewriter.replaceOp(op, inner.getX());
  return success();
}

LogicalResult selectOfConstant(SelectOp op, PatternRewriter &rewriter) {
  if (op.getA() == op.getB()) {
    rewriter.replaceOp(op, op.getA());
    return success();
  }
  auto flag = dyn_cast_or_null<IntegerAttr>(splatOf(op.getCondition()));
  if (!flag)
    return failure();
  rewriter.replaceOp(op, flag.getValue().isZero() ? op.getB() : op.getA());
  return success();
}

/// Whether every value of `from` is a value of `to`.
bool isExact(Type from, Type to) {
  using backplane::DType;
  auto source = *toDType(from), target = *toDType(to);
  bool hasZeros = target != DType::F8E4M3FNUZ && target != DType::F8E5M2FNUZ &&
                  target != DType::F8E8M0FNU;
  if (source == target || source == DType::Bool)
    return source == target || target != DType::F8E8M0FNU;
  if (auto a = dyn_cast<FloatType>(from)) {
    auto b = dyn_cast<FloatType>(to);
    return b && hasZeros &&
           APFloat::isRepresentableBy(a.getFloatSemantics(),
                                      b.getFloatSemantics());
  }
  unsigned width = backplane::bitWidth(source);
  bool isSigned = backplane::isSignedInteger(source);
  if (auto b = dyn_cast<FloatType>(to)) // half's range is the narrow one
    return width - isSigned <= b.getFPMantissaWidth() && width < 16;
  if (target == DType::Bool)
    return false;
  bool toSigned = backplane::isSignedInteger(target);
  unsigned wide = backplane::bitWidth(target);
  return isSigned == toSigned ? width <= wide : !isSigned && width < wide;
}

LogicalResult castOfCast(CastOp op, PatternRewriter &rewriter) {
  auto inner = op.getX().getDefiningOp<CastOp>();
  if (!inner ||
      !isExact(getElementTypeOrSelf(inner.getX().getType()), inner.getDtype()))
    return failure();
  rewriter.replaceOpWithNewOp<CastOp>(op, op.getType(), inner.getX(),
                                      op.getDtypeAttr());
  return success();
}

LogicalResult castToSame(CastOp op, PatternRewriter &rewriter) {
  if (op.getX().getType() != op.getType())
    return failure();
  rewriter.replaceOp(op, op.getX());
  return success();
}

} // namespace

void bp::addArithmeticPatterns(RewritePatternSet &patterns) {
  patterns.add<NeutralOperand>(patterns.getContext())
      .add(involution<NegOp>)
      .add(involution<NotOp>)
      .add(selectOfConstant)
      .add(castOfCast)
      .add(castToSame);
}
