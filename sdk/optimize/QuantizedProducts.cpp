// SPDX-License-Identifier: Apache-2.0
//
// Contractions of dequantised bytes. The sum of (s x)(t w) is s t times the sum
// of x w, for integers x and w less their zero points, one scale s of all of x
// and one t per output channel of w. The sum of integers is exact, and one
// rounding of the scales takes the place of one per factor.
#include "sdk/fusion/Fusion.h"
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
  Value integers; ///< i32
  Value scales;   ///< of the same shape
};

/// Whether the value is a byte everywhere: a zero point.
bool isZeroPoint(Value value) {
  if (auto splat = dyn_cast_or_null<IntegerAttr>(splatOf(value)))
    return splat.getValue().sge(-128) && splat.getValue().sle(255);
  while (isa_and_nonnull<BroadcastOp, ReshapeOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return isByteWidening(value.getDefiningOp());
}

bool fitsNineBits(Value integers) {
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

std::optional<Product> match(Operation *op) {
  Product product{op, {}, {}, 0, {}, 0, 0};
  auto axis = channelAxis(op);
  if (!axis || !sumsFit(op->getOperand(1), *axis) ||
      !isConstant(op->getOperand(1)))
    return std::nullopt;
  product.resultAxis =
      isa<ConvOp>(op)
          ? 1
          : cast<RankedTensorType>(op->getResult(0).getType()).getRank() - 1;
  product.order = op->getOperand(1).getDefiningOp<TransposeOp>();
  product.weightAxis =
      product.order ? product.order.getPermutation()[*axis] : *axis;
  auto x = readDequantized(op->getOperand(0));
  auto w =
      readDequantized(product.order ? product.order.getX() : op->getOperand(1));
  auto scale =
      x ? dyn_cast_or_null<FloatAttr>(splatOf(x->scales)) : FloatAttr();
  if (!w || !scale || !scale.getValue().isFinite() ||
      !isConstantAlongAxis(w->scales, product.weightAxis))
    return std::nullopt;
  product.x = *x;
  product.w = *w;
  product.scale = scale.getValue().convertToFloat();
  return product;
}

class Rewrite {
public:
  Rewrite(PatternRewriter &rewriter, const Product &product)
      : rewriter(rewriter), loc(product.contraction->getLoc()),
        product(product) {}

  /// The contraction of the integers.
  Value multiply() {
    Type word = rewriter.getI32Type();
    Value weight = product.w.integers;
    if (TransposeOp order = product.order)
      weight =
          TransposeOp::create(rewriter, loc, withElement(order.getType(), word),
                              weight, order.getPermutation());
    Operation *made = rewriter.clone(*product.contraction);
    made->setOperands({product.x.integers, weight});
    Value sums = made->getResult(0);
    sums.setType(withElement(sums.getType(), word));
    return sums;
  }

  /// The scale of each output channel, as wide as the result.
  Value scales() {
    Value own =
        constantAlongAxis(rewriter, product.w.scales, product.weightAxis);
    auto type = cast<RankedTensorType>(own.getType());
    DimsAttr dims = dimsAttr(type);
    Value common =
        ConstantOp::create(rewriter, loc, type,
                           DenseElementsAttr::get(type, APFloat(product.scale)),
                           TypeAttr::get(type.getElementType()), dims);
    Value both = MulOp::create(rewriter, loc, type, own, common);
    Type whole = product.contraction->getResult(0).getType();
    return BroadcastOp::create(rewriter, loc, whole, both, dimsAttr(whole),
                               {product.resultAxis});
  }

  Value scaled(Value sums) {
    Type type = product.contraction->getResult(0).getType();
    Value numbers = CastOp::create(rewriter, loc, type, sums,
                                   TypeAttr::get(rewriter.getF32Type()));
    return MulOp::create(rewriter, loc, type, numbers, scales());
  }

private:
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
    rewriter.replaceOp(op, rewrite.scaled(rewrite.multiply()));
    return success();
  }
};

struct QuantizedProductsPass
    : bp::impl::QuantizedProductsPassBase<QuantizedProductsPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<QuantizedProduct>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
