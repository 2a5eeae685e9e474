// SPDX-License-Identifier: Apache-2.0
//
// Tensors that are known to have no elements. After these patterns no op but a
// constant gives one, and few ops read one: what is left to lower has elements,
// or sizes that only the call tells.
#include "sdk/optimize/Patterns.h"

using namespace mlir;
using namespace bp;

namespace {

bool isEmpty(Value value) {
  if (!isa<RankedTensorType>(value.getType()))
    return false;
  return llvm::is_contained(dimsOf(value.getType()), backplane::Dim(0));
}

bool anyEmpty(ValueRange values) { return llvm::any_of(values, isEmpty); }

Attribute numberOf(Type element, bool highest) {
  if (auto real = dyn_cast<FloatType>(element)) {
    const llvm::fltSemantics &format = real.getFloatSemantics();
    return FloatAttr::get(real, APFloat::getInf(format, !highest));
  }
  unsigned width = element.getIntOrFloatBitWidth();
  if (element.isUnsignedInteger())
    return IntegerAttr::get(element, highest ? APInt::getMaxValue(width)
                                             : APInt::getMinValue(width));
  return IntegerAttr::get(element, highest ? APInt::getSignedMaxValue(width)
                                           : APInt::getSignedMinValue(width));
}

Attribute zeroOf(Type element) {
  if (auto real = dyn_cast<FloatType>(element))
    return FloatAttr::get(real, 0.0);
  return IntegerAttr::get(element, 0);
}

/// What a combination of no elements gives.
Attribute neutralOf(StringRef kind, Type element) {
  if (kind == "min" || kind == "max")
    return numberOf(element, kind == "min");
  if (kind == "prod" && isa<FloatType>(element))
    return FloatAttr::get(element, 1.0);
  if (kind == "prod" || kind == "and")
    return IntegerAttr::get(element, APInt(element.getIntOrFloatBitWidth(), 1));
  return zeroOf(element);
}

/// An empty result is an empty constant.
struct EmptyResult : RewritePattern {
  explicit EmptyResult(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const final {
    if (op->getNumResults() == 0 || !isa<BpDialect>(op->getDialect()) ||
        isa<ConstantOp, ControlOp, VariableReadOp>(op) ||
        !llvm::all_of(op->getResults(), isEmpty))
      return failure();
    SmallVector<Value> values;
    for (Type type : op->getResultTypes())
      values.push_back(fill(rewriter, op->getLoc(),
                            cast<RankedTensorType>(type),
                            zeroOf(getElementTypeOrSelf(type))));
    rewriter.replaceOp(op, values);
    return success();
  }
};

/// A reduction or a window over nothing gives what nothing combines to.
template <typename Op>
LogicalResult nothingCombined(Op op, PatternRewriter &rewriter) {
  if (!isEmpty(op.getX()) || isEmpty(op.getResult()))
    return failure();
  auto type = cast<RankedTensorType>(op.getType());
  Type element = type.getElementType();
  rewriter.replaceOp(
      op, fill(rewriter, op.getLoc(), type, neutralOf(op.getKind(), element)));
  return success();
}

/// Sums of no products, and the index of no element.
struct ZeroOfNothing : RewritePattern {
  explicit ZeroOfNothing(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const final {
    if (!isa<MatmulOp, ConvOp, ConvTransposeOp, MatmulIntegerOp, ConvIntegerOp,
             ArgReduceOp>(op) ||
        isEmpty(op->getResult(0)) ||
        !anyEmpty(op->getOperands().take_front(isa<ArgReduceOp>(op) ? 1 : 2)))
      return failure();
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    rewriter.replaceOp(
        op, fill(rewriter, op->getLoc(), type, zeroOf(type.getElementType())));
    return success();
  }
};

/// Empty parts of a concat add nothing.
LogicalResult concatOfEmpty(ConcatOp op, PatternRewriter &rewriter) {
  if (isEmpty(op.getResult()) || !anyEmpty(op.getXs()))
    return failure();
  SmallVector<Value> parts;
  llvm::copy_if(op.getXs(), std::back_inserter(parts),
                [](Value part) { return !isEmpty(part); });
  if (parts.empty())
    return failure();
  rewriter.replaceOpWithNewOp<ConcatOp>(op, op.getType(), parts,
                                        op.getAxisAttr());
  return success();
}

/// Around nothing there is only what is added.
LogicalResult padOfEmpty(PadOp op, PatternRewriter &rewriter) {
  if (op.getMode() != "constant" || !isEmpty(op.getX()) ||
      isEmpty(op.getResult()))
    return failure();
  rewriter.replaceOpWithNewOp<BroadcastOp>(
      op, op.getType(), op.getValue(),
      DimsAttr::get(op.getContext(), dimsOf(op.getType())),
      ArrayRef<int64_t>());
  return success();
}

/// A scatter of nothing.
LogicalResult scatterOfEmpty(ScatterOp op, PatternRewriter &rewriter) {
  if (!isEmpty(op.getUpdates()))
    return failure();
  rewriter.replaceOp(op, op.getX());
  return success();
}

} // namespace

void bp::addEmptyPatterns(RewritePatternSet &patterns) {
  patterns.add<EmptyResult>(patterns.getContext())
      .add(nothingCombined<ReduceOp>)
      .add(nothingCombined<PoolOp>)
      .add<ZeroOfNothing>(patterns.getContext())
      .add(concatOfEmpty)
      .add(padOfEmpty)
      .add(scatterOfEmpty);
}
