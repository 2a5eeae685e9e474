// SPDX-License-Identifier: Apache-2.0
#include "sdk/layout/Layout.h"
#include "sdk/optimize/Constants.h"
#include "sdk/optimize/Passes.h"
#include "sdk/optimize/Patterns.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace bp {
#define GEN_PASS_DEF_FOLDSCALESPASS
#include "sdk/optimize/Passes.h.inc"
} // namespace bp

using namespace mlir;
using namespace bp;

namespace {

/// Narrower weights would lose digits by a second rounding.
bool isWideFloat(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isF32() || element.isF64();
}

/// The axis of the result of a contraction that its weight alone decides, and
/// the axis of the weight that it is; none when there is no constant weight.
struct Channel {
  int64_t resultAxis, weightAxis;
};
std::optional<Channel> channelOf(Operation *op) {
  if (!op || !isa<ConvOp, MatmulOp>(op) ||
      !isWideFloat(op->getOperand(1).getType()) ||
      isWeightOfBytes(op->getOperand(1).getDefiningOp()) ||
      !isConstant(op->getOperand(1)))
    return std::nullopt;
  if (isa<ConvOp>(op))
    return Channel{1, 0};
  auto matmul = dyn_cast<MatmulOp>(op);
  if (!matmul)
    return std::nullopt;
  auto weight = cast<RankedTensorType>(matmul.getB().getType());
  int64_t rank = cast<RankedTensorType>(matmul.getType()).getRank();
  if (weight.getRank() != 2)
    return std::nullopt;
  return Channel{rank - 1, matmul.getTransposeB() ? 0 : 1};
}

Value broadcastTo(PatternRewriter &rewriter, Location loc, Value vector,
                  Type type, int64_t axis) {
  return BroadcastOp::create(rewriter, loc, type, vector,
                             DimsAttr::get(rewriter.getContext(), dimsOf(type)),
                             {axis});
}

/// conv(x, w) * s -> conv(x, w * s), s per output channel.
LogicalResult scaleIntoWeight(MulOp op, PatternRewriter &rewriter) {
  for (unsigned side : {0u, 1u}) {
    Operation *root = op->getOperand(side).getDefiningOp();
    auto channel = channelOf(root);
    if (!channel || !root->hasOneUse())
      continue;
    Value other = op->getOperand(1 - side);
    if (!isConstantAlongAxis(other, channel->resultAxis))
      continue;
    Value scale = constantAlongAxis(rewriter, other, channel->resultAxis);
    Value weight = root->getOperand(1);
    Value factor = broadcastTo(rewriter, op.getLoc(), scale, weight.getType(),
                               channel->weightAxis);
    Value scaled =
        MulOp::create(rewriter, op.getLoc(), weight.getType(), weight, factor);
    rewriter.setInsertionPoint(op);
    Operation *copy = rewriter.clone(*root);
    copy->setOperand(1, scaled);
    rewriter.replaceOp(op, copy->getResults());
    return success();
  }
  return failure();
}

LogicalResult scaleTerms(MulOp op, Operation *root, Value scale, Value bias,
                         Channel channel, PatternRewriter &rewriter) {
  Location loc = op.getLoc();
  scale = constantAlongAxis(rewriter, scale, channel.resultAxis);
  bias = constantAlongAxis(rewriter, bias, channel.resultAxis);
  Value moved = MulOp::create(rewriter, loc, bias.getType(), bias, scale);
  Value factor =
      broadcastTo(rewriter, loc, scale, op.getType(), channel.resultAxis);
  Value offset =
      broadcastTo(rewriter, loc, moved, op.getType(), channel.resultAxis);
  Value product =
      MulOp::create(rewriter, loc, op.getType(), root->getResult(0), factor);
  rewriter.replaceOpWithNewOp<AddOp>(op, op.getType(), product, offset);
  return success();
}

/// (y + b) * s -> y * s + b * s, for scaleIntoWeight to go on with.
LogicalResult scaleOverBias(MulOp op, PatternRewriter &rewriter) {
  for (unsigned side : {0u, 1u}) {
    auto sum = op->getOperand(side).getDefiningOp<AddOp>();
    if (!sum || !sum->hasOneUse())
      continue;
    for (unsigned term : {0u, 1u}) {
      Operation *root = sum->getOperand(term).getDefiningOp();
      auto channel = channelOf(root);
      if (!channel || !root->hasOneUse())
        continue;
      Value scale = op->getOperand(1 - side);
      Value bias = sum->getOperand(1 - term);
      if (!isConstantAlongAxis(scale, channel->resultAxis) ||
          !isConstantAlongAxis(bias, channel->resultAxis))
        continue;
      return scaleTerms(op, root, scale, bias, *channel, rewriter);
    }
  }
  return failure();
}

/// (y + a) + b -> y + (a + b), both per channel after a contraction.
LogicalResult biasOfBias(AddOp op, PatternRewriter &rewriter) {
  auto inner = op.getA().getDefiningOp<AddOp>();
  if (!inner || !inner->hasOneUse())
    return failure();
  Operation *root = inner.getA().getDefiningOp();
  auto channel = channelOf(root);
  if (!channel)
    return failure();
  if (!isConstantAlongAxis(inner.getB(), channel->resultAxis) ||
      !isConstantAlongAxis(op.getB(), channel->resultAxis))
    return failure();
  Value a = constantAlongAxis(rewriter, inner.getB(), channel->resultAxis);
  Value b = constantAlongAxis(rewriter, op.getB(), channel->resultAxis);
  Value sum = AddOp::create(rewriter, op.getLoc(), a.getType(), a, b);
  Value offset = broadcastTo(rewriter, op.getLoc(), sum, op.getType(),
                             channel->resultAxis);
  rewriter.replaceOpWithNewOp<AddOp>(op, op.getType(), inner.getA(), offset);
  return success();
}

struct FoldScalesPass : bp::impl::FoldScalesPassBase<FoldScalesPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add(scaleIntoWeight).add(scaleOverBias).add(biasOfBias);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
