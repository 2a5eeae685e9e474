// SPDX-License-Identifier: Apache-2.0
//
// Exporters write squares, cubes and roots as powers, of which each costs an
// exponential and a logarithm.
#include "sdk/optimize/Patterns.h"

#include <cmath>

using namespace mlir;
using namespace bp;

namespace {

/// Builds on values of one type.
class Powers {
public:
  Powers(PatternRewriter &rewriter, Location loc, Value x)
      : rewriter_(rewriter), loc_(loc), x_(x),
        type_(cast<RankedTensorType>(x.getType())) {}

  /// None of other exponents.
  std::optional<Value> run(double exponent) {
    if (exponent == 2)
      return binary<MulOp>(x_, x_);
    if (exponent == 3)
      return binary<MulOp>(binary<MulOp>(x_, x_), x_);
    if (exponent == -1)
      return binary<DivOp>(number(1), x_);
    if (exponent == 0.5)
      return withEdges(0, INFINITY, root());
    if (exponent == -0.5)
      return withEdges(INFINITY, 0, binary<DivOp>(number(1), root()));
    return std::nullopt;
  }

private:
  template <typename Op> Value binary(Value a, Value b) {
    return Op::create(rewriter_, loc_, type_, a, b);
  }
  Value number(double value) {
    return fill(rewriter_, loc_, type_,
                FloatAttr::get(type_.getElementType(), value));
  }
  Value root() { return SqrtOp::create(rewriter_, loc_, type_, x_); }
  /// Where roots and powers differ: the root of -0 is -0, that of -infinity is
  /// no number.
  Value withEdges(double ofZero, double ofMinusInfinity, Value otherwise) {
    Value value = where(0, ofZero, otherwise);
    return where(-INFINITY, ofMinusInfinity, value);
  }
  Value where(double is, double value, Value otherwise) {
    auto flags = type_.clone(rewriter_.getI1Type());
    Value equal = CompareOp::create(rewriter_, loc_, flags, x_, number(is),
                                    rewriter_.getStringAttr("eq"));
    return SelectOp::create(rewriter_, loc_, type_, equal, number(value),
                            otherwise);
  }

  PatternRewriter &rewriter_;
  Location loc_;
  Value x_;
  RankedTensorType type_;
};

Value convert(PatternRewriter &rewriter, PowOp op, Value value, Type element) {
  auto type = cast<RankedTensorType>(value.getType()).clone(element);
  return CastOp::create(rewriter, op.getLoc(), type, value,
                        TypeAttr::get(element));
}

/// What takes more than one rounding is computed in f32 at least.
LogicalResult powerOfNumber(PowOp op, PatternRewriter &rewriter) {
  auto exponent = dyn_cast_or_null<FloatAttr>(splatOf(op.getB()));
  if (!exponent)
    return failure();
  double number = exponent.getValueAsDouble();
  auto type = cast<RankedTensorType>(op.getType());
  bool isNarrow =
      type.getElementTypeBitWidth() < 32 && (number == 3 || number == -0.5);
  Value x = op.getA();
  if (isNarrow)
    x = convert(rewriter, op, x, rewriter.getF32Type());
  auto result = Powers(rewriter, op.getLoc(), x).run(number);
  if (!result)
    return failure();
  if (isNarrow)
    result = convert(rewriter, op, *result, type.getElementType());
  rewriter.replaceOp(op, *result);
  return success();
}

} // namespace

void bp::addPowerPatterns(RewritePatternSet &patterns) {
  patterns.add(powerOfNumber);
}
