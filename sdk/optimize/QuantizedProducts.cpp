// SPDX-License-Identifier: Apache-2.0
//
// Contractions of dequantised bytes. The sum of (s x)(t w) is s t times the sum
// of x w, for integers x and w less their zero points, one scale s of all of x
// and one t per output channel of w. The sum of integers is exact, and one
// rounding of the scales takes the place of one per factor. Where x is anything
// else the weight stays bytes that are widened where they are multiplied.
#include "sdk/layout/Layout.h"
#include "sdk/optimize/Constants.h"
#include "sdk/optimize/Passes.h"
#include "sdk/optimize/Patterns.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace bp {
#define GEN_PASS_DEF_QUANTIZEDPRODUCTSPASS
#include "sdk/optimize/Passes.h.inc"
} // namespace bp

using namespace mlir;
using namespace bp;

namespace {

/// More products than this could leave an i32: 2^31 / 2^16.
constexpr int64_t kMaxProducts = 1 << 15;

/// A tensor of f32 that is integers of nine bits times scales.
struct Dequantized {
  Value integers; ///< i32, or bytes
  Value scales;   ///< of the same shape
};

/// What is widened from bytes to the value, whatever its shape; or null.
CastOp wideningOf(Value value) {
  while (isa_and_nonnull<BroadcastOp, ReshapeOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  auto cast = value.getDefiningOp<CastOp>();
  return cast && isByteWidening(cast) ? cast : CastOp();
}

/// Whether the value is a byte everywhere: a zero point.
bool isZeroPoint(Value value) {
  if (auto splat = dyn_cast_or_null<IntegerAttr>(splatOf(value)))
    return splat.getValue().sge(-128) && splat.getValue().sle(255);
  return bool(wideningOf(value));
}

bool isOfBytes(Value value) {
  return getElementTypeOrSelf(value.getType()).isInteger(8);
}

bool fitsNineBits(Value integers) {
  if (isOfBytes(integers))
    return true;
  auto difference = integers.getDefiningOp<SubOp>();
  return difference ? isByteWidening(difference.getA().getDefiningOp()) &&
                          isZeroPoint(difference.getB())
                    : isByteWidening(integers.getDefiningOp());
}

std::optional<Dequantized> readDequantized(Value value) {
  auto product = value.getDefiningOp<MulOp>();
  if (!product || !getElementTypeOrSelf(value.getType()).isF32())
    return std::nullopt;
  for (unsigned side : {0u, 1u}) {
    auto cast = product->getOperand(side).getDefiningOp<CastOp>();
    if (cast && fitsNineBits(cast.getX()))
      return Dequantized{cast.getX(), product->getOperand(1 - side)};
  }
  return std::nullopt;
}

/// A contraction of an image or rows with a weight.
struct Product {
  Operation *contraction;
  Dequantized x, w;
  float scale;        ///< of x
  TransposeOp order;  ///< of the weight; null: as it is
  int64_t weightAxis; ///< output channels of the weight before `order`
  int64_t resultAxis; ///< and of the result
};

/// The axis of the second operand that output channels are.
std::optional<int64_t> channelAxis(Operation *op) {
  if (auto conv = dyn_cast<ConvOp>(op))
    return conv.getGroups() == 1 ? std::optional<int64_t>(0) : std::nullopt;
  auto matmul = dyn_cast<MatmulOp>(op);
  if (!matmul || cast<RankedTensorType>(matmul.getB().getType()).getRank() != 2)
    return std::nullopt;
  return matmul.getTransposeB() ? 0 : 1;
}

/// Whether sums of as many products as the weight has per channel fit.
bool sumsFit(Value weight, int64_t axis) {
  auto type = cast<RankedTensorType>(weight.getType());
  return type.hasStaticShape() && type.getDimSize(axis) > 0 &&
         type.getNumElements() / type.getDimSize(axis) <= kMaxProducts;
}

/// With `w` alone.
std::optional<Product> matchWeight(Operation *op) {
  Product product{op, {}, {}, 0, {}, 0, 0};
  auto axis = channelAxis(op);
  if (!axis || !isConstant(op->getOperand(1)))
    return std::nullopt;
  product.resultAxis =
      isa<ConvOp>(op)
          ? 1
          : cast<RankedTensorType>(op->getResult(0).getType()).getRank() - 1;
  product.order = op->getOperand(1).getDefiningOp<TransposeOp>();
  product.weightAxis =
      product.order ? product.order.getPermutation()[*axis] : *axis;
  auto w =
      readDequantized(product.order ? product.order.getX() : op->getOperand(1));
  if (!w || !isConstantAlongAxis(w->scales, product.weightAxis))
    return std::nullopt;
  product.w = *w;
  return product;
}

std::optional<Product> match(Operation *op) {
  std::optional<Product> product = matchWeight(op);
  auto x = product ? readDequantized(op->getOperand(0)) : std::nullopt;
  auto scale =
      x ? dyn_cast_or_null<FloatAttr>(splatOf(x->scales)) : FloatAttr();
  if (!scale || !scale.getValue().isFinite() ||
      !sumsFit(op->getOperand(1), *channelAxis(op)))
    return std::nullopt;
  product->x = *x;
  product->scale = scale.getValue().convertToFloat();
  return product;
}

/// The zero point of all elements; none where that is not known.
std::optional<int64_t> zeroPointOf(Value value) {
  if (CastOp widening = wideningOf(value))
    value = widening.getX();
  auto splat = dyn_cast_or_null<IntegerAttr>(splatOf(value));
  if (!splat)
    return std::nullopt;
  return splat.getType().isUnsignedInteger()
             ? int64_t(splat.getValue().getZExtValue())
             : splat.getValue().getSExtValue();
}

/// Integers that fit a byte: the bytes that they are, or what a cast to i8
/// makes bytes of. Null: they need more.
Value readBytes(Value integers) {
  if (isOfBytes(integers))
    return integers;
  auto difference = integers.getDefiningOp<SubOp>();
  auto cast = difference ? difference.getA().getDefiningOp<CastOp>()
                         : integers.getDefiningOp<CastOp>();
  if (!cast || !isByteWidening(cast))
    return {};
  auto zero = difference ? zeroPointOf(difference.getB()) : 0;
  if (zero == 0)
    return cast.getX();
  bool isUnsigned =
      getElementTypeOrSelf(cast.getX().getType()).isUnsignedInteger();
  return zero == 128 && isUnsigned ? integers : Value();
}

class Rewrite {
public:
  Rewrite(PatternRewriter &rewriter, const Product &product)
      : rewriter(rewriter), loc(product.contraction->getLoc()),
        product(product) {}

  /// The contraction of the integers.
  Value multiply() {
    Type word = rewriter.getI32Type();
    Value left = converted(product.x.integers, word),
          weight = converted(product.w.integers, word);
    if (TransposeOp order = product.order)
      weight =
          TransposeOp::create(rewriter, loc, withElement(order.getType(), word),
                              weight, order.getPermutation());
    Operation *made = rewriter.clone(*product.contraction);
    made->setOperands({left, weight});
    Value sums = made->getResult(0);
    sums.setType(withElement(sums.getType(), word));
    return converted(sums, rewriter.getF32Type());
  }

  /// The product with the bytes of the weight.
  Value multiplyBytes() {
    Value bytes = readBytes(product.w.integers);
    if (!isOfBytes(bytes))
      bytes = converted(bytes, rewriter.getI8Type());
    if (TransposeOp order = product.order)
      bytes = TransposeOp::create(
          rewriter, loc,
          withElement(order.getType(), getElementTypeOrSelf(bytes.getType())),
          bytes, order.getPermutation());
    Value wide = converted(bytes, rewriter.getF32Type());
    Operation *made = rewriter.clone(*product.contraction);
    made->setOperand(1, wide);
    return made->getResult(0);
  }

  /// The scale of each output channel of the weight.
  Value ownScales() {
    return constantAlongAxis(rewriter, product.w.scales, product.weightAxis);
  }
  /// The same with that of the first factor.
  Value commonScales() {
    Value own = ownScales();
    auto type = cast<RankedTensorType>(own.getType());
    DimsAttr dims = dimsAttr(type);
    Value common =
        ConstantOp::create(rewriter, loc, type,
                           DenseElementsAttr::get(type, APFloat(product.scale)),
                           TypeAttr::get(type.getElementType()), dims);
    return MulOp::create(rewriter, loc, type, own, common);
  }

  Value scaled(Value numbers, Value scales) {
    Type type = numbers.getType();
    Value whole = BroadcastOp::create(rewriter, loc, type, scales,
                                      dimsAttr(type), {product.resultAxis});
    return MulOp::create(rewriter, loc, type, numbers, whole);
  }

private:
  Value converted(Value value, Type element) {
    if (getElementTypeOrSelf(value.getType()) == element)
      return value;
    return CastOp::create(rewriter, loc, withElement(value.getType(), element),
                          value, TypeAttr::get(element));
  }
  static Type withElement(Type type, Type element) {
    return cast<RankedTensorType>(type).clone(element);
  }
  DimsAttr dimsAttr(Type type) {
    return DimsAttr::get(rewriter.getContext(), dimsOf(type));
  }

  PatternRewriter &rewriter;
  Location loc;
  const Product &product;
};

struct QuantizedProduct : RewritePattern {
  QuantizedProduct(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const final {
    auto product = match(op);
    if (!product)
      return failure();
    Rewrite rewrite(rewriter, *product);
    Value numbers = rewrite.multiply();
    rewriter.replaceOp(op, rewrite.scaled(numbers, rewrite.commonScales()));
    return success();
  }
};

LogicalResult weightOfBytes(MatmulOp op, PatternRewriter &rewriter) {
  auto product = matchWeight(op);
  if (!product || !readBytes(product->w.integers) || match(op))
    return failure();
  Rewrite rewrite(rewriter, *product);
  Value numbers = rewrite.multiplyBytes();
  rewriter.replaceOp(op, rewrite.scaled(numbers, rewrite.ownScales()));
  return success();
}

struct QuantizedProductsPass
    : bp::impl::QuantizedProductsPassBase<QuantizedProductsPass> {
  using QuantizedProductsPassBase::QuantizedProductsPassBase;
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<QuantizedProduct>(&getContext());
    if (keepWeights)
      patterns.add(weightOfBytes);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
