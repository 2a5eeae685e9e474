// SPDX-License-Identifier: Apache-2.0
//
// Reshapes are free, but a reshape between two ops keeps them in two loop
// nests. These patterns move reshapes behind elementwise ops and reductions.
#include "sdk/optimize/Patterns.h"

using namespace mlir;
using namespace bp;

namespace {

RankedTensorType withDims(MLIRContext *context, const backplane::Dims &dims,
                          Type like) {
  backplane::TensorType type{*toDType(getElementTypeOrSelf(like)), dims};
  return toType(context, type);
}

} // namespace

Value bp::reshape(PatternRewriter &rewriter, Location loc, Value value,
                  const backplane::Dims &dims) {
  MLIRContext *context = rewriter.getContext();
  RankedTensorType type = withDims(context, dims, value.getType());
  if (type == value.getType())
    return value;
  return ReshapeOp::create(rewriter, loc, type, value,
                           DimsAttr::get(context, dims));
}

namespace {

SmallVector<int64_t> wideAxes(const backplane::Dims &dims) {
  SmallVector<int64_t> axes;
  for (auto [i, dim] : llvm::enumerate(dims))
    if (!(dim == backplane::Dim(1)))
      axes.push_back(int64_t(i));
  return axes;
}

/// For each axis of `from` that is not 1 its axis in `to`, -1 for the others;
/// none when the shapes differ in more than axes of size 1.
std::optional<SmallVector<int64_t>> axisMap(const backplane::Dims &from,
                                            const backplane::Dims &to) {
  SmallVector<int64_t> a = wideAxes(from), b = wideAxes(to);
  if (a.size() != b.size())
    return std::nullopt;
  SmallVector<int64_t> map(from.size(), -1);
  for (auto [x, y] : llvm::zip(a, b)) {
    if (!(from[x] == to[y]))
      return std::nullopt;
    map[x] = y;
  }
  return map;
}

/// Moves an elementwise op before the reshape of its operand.
struct ElementwiseOfReshape : RewritePattern {
  explicit ElementwiseOfReshape(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const final {
    if (!op->hasTrait<Elementwise>() || op->getNumResults() != 1)
      return failure();
    ReshapeOp inner = computedReshape(op);
    if (!inner)
      return failure();
    backplane::Dims to = dimsOf(inner.getX().getType());
    backplane::Dims from = dimsOf(inner.getType());
    if (!llvm::all_of(op->getOperands(), [&](Value operand) {
          return converts(operand, from, to);
        }))
      return failure();
    OperationState state(op->getLoc(), op->getName());
    for (Value operand : op->getOperands())
      state.addOperands(convert(rewriter, operand, from, to));
    state.addAttributes(op->getAttrs());
    Type result = op->getResult(0).getType();
    state.addTypes(withDims(getContext(), to, result));
    Value moved = rewriter.create(state)->getResult(0);
    rewriter.replaceOp(op, reshape(rewriter, op->getLoc(), moved, from));
    return success();
  }

private:
  /// A reshape, used here only, of what another op computes. Images stay as
  /// they are: what follows a convolution with an axis of size 1 is faster in a
  /// loop nest of its own without that axis.
  static ReshapeOp computedReshape(Operation *op) {
    for (Value operand : op->getOperands()) {
      auto inner = operand.getDefiningOp<ReshapeOp>();
      Operation *source = inner ? inner.getX().getDefiningOp() : nullptr;
      if (source &&
          !isa<WeightOp, ConstantOp, BroadcastOp, IotaOp, ReshapeOp,
               VariableReadOp, ConvOp, ConvTransposeOp, PoolOp>(source) &&
          llvm::all_of(inner->getUsers(),
                       [&](Operation *user) { return user == op; }))
        return inner;
    }
    return {};
  }
  static bool converts(Value operand, const backplane::Dims &from,
                       const backplane::Dims &to) {
    if (auto inner = operand.getDefiningOp<ReshapeOp>();
        inner && dimsOf(inner.getX().getType()) == to)
      return true;
    if (splatOf(operand))
      return true;
    return operand.getDefiningOp<BroadcastOp>() && axisMap(from, to);
  }
  static Value convert(PatternRewriter &rewriter, Value operand,
                       const backplane::Dims &from, const backplane::Dims &to) {
    MLIRContext *context = rewriter.getContext();
    Location loc = operand.getLoc();
    if (auto inner = operand.getDefiningOp<ReshapeOp>();
        inner && dimsOf(inner.getX().getType()) == to)
      return inner.getX();
    RankedTensorType type = withDims(context, to, operand.getType());
    if (Attribute splat = splatOf(operand))
      return fill(rewriter, loc, type, splat);
    auto broadcast = operand.getDefiningOp<BroadcastOp>();
    SmallVector<int64_t> map = *axisMap(from, to), axes;
    backplane::Dims source = dimsOf(broadcast.getX().getType()), kept;
    for (auto [size, axis] : llvm::zip(source, broadcast.getAxes())) {
      if (map[axis] < 0)
        continue;
      kept.push_back(size);
      axes.push_back(map[axis]);
    }
    Value narrow = reshape(rewriter, loc, broadcast.getX(), kept);
    return BroadcastOp::create(rewriter, loc, type, narrow,
                               DimsAttr::get(context, to), axes);
  }
};

/// What is computed of a row's sum has no axis of size 1 for what was added up:
/// a reshape makes it behind the sum, and moves on. Rows of one element stay:
/// nothing is repeated along them, and what follows sees a softmax of one.
LogicalResult reduceBeforeElementwise(ReduceOp op, PatternRewriter &rewriter) {
  auto isElementwise = [](Operation *user) {
    return user->hasTrait<Elementwise>();
  };
  if (!op.getKeep() || op->use_empty() || op.getType() == op.getX().getType() ||
      !llvm::all_of(op->getUsers(), isElementwise))
    return failure();
  backplane::Dims kept = dimsOf(op.getType()), dims;
  for (auto [axis, size] : llvm::enumerate(kept))
    if (!llvm::is_contained(op.getAxes(), int64_t(axis)))
      dims.push_back(size);
  OperationState state(op.getLoc(), op->getName(), op->getOperands(),
                       withDims(op.getContext(), dims, op.getType()),
                       op->getAttrs());
  state.attributes.set(op.getKeepAttrName(), rewriter.getBoolAttr(false));
  Value sum = rewriter.create(state)->getResult(0);
  rewriter.replaceOp(op, reshape(rewriter, op.getLoc(), sum, kept));
  return success();
}

/// A broadcast of a reshape that only adds axes of size 1 needs no reshape.
LogicalResult broadcastOfReshape(BroadcastOp op, PatternRewriter &rewriter) {
  auto inner = op.getX().getDefiningOp<ReshapeOp>();
  if (!inner)
    return failure();
  backplane::Dims from = dimsOf(inner.getX().getType());
  backplane::Dims to = dimsOf(inner.getType());
  auto map = axisMap(from, to);
  if (!map || llvm::is_contained(*map, -1))
    return failure();
  SmallVector<int64_t> axes;
  for (int64_t axis : *map)
    axes.push_back(op.getAxes()[axis]);
  rewriter.replaceOpWithNewOp<BroadcastOp>(op, op.getType(), inner.getX(),
                                           op.getDims(), axes);
  return success();
}

} // namespace

void bp::addReshapePatterns(RewritePatternSet &patterns) {
  patterns.add<ElementwiseOfReshape>(patterns.getContext())
      .add(reduceBeforeElementwise)
      .add(broadcastOfReshape);
}
