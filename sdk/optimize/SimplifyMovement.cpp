// SPDX-License-Identifier: Apache-2.0
#include "sdk/optimize/Patterns.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace bp;

namespace {

/// x for an op whose result is its only tensor operand, element by element in
/// the same order.
template <typename Op>
LogicalResult sameType(Op op, PatternRewriter &rewriter) {
  if (op->getOperand(0).getType() != op->getResult(0).getType())
    return failure();
  rewriter.replaceOp(op, op->getOperand(0));
  return success();
}

/// As sameType, where equal types alone do not show that nothing moves.
struct IdentityMove : RewritePattern {
  explicit IdentityMove(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const final {
    if (!movesNothing(op))
      return failure();
    rewriter.replaceOp(op, op->getOperand(0));
    return success();
  }

private:
  static bool allZero(DimsAttr dims) {
    return llvm::all_of(dims.getDims(), [](const backplane::Dim &dim) {
      return dim == backplane::Dim(0);
    });
  }
  static bool movesNothing(Operation *op) {
    if (auto transpose = dyn_cast<TransposeOp>(op))
      return isIdentityPermutation(transpose.getPermutation());
    if (auto slice = dyn_cast<SliceOp>(op))
      return op->getOperand(0).getType() == op->getResult(0).getType() &&
             allZero(slice.getStarts()) &&
             llvm::all_of(slice.getStrides(), [](int64_t s) { return s == 1; });
    if (auto pad = dyn_cast<PadOp>(op))
      return allZero(pad.getLow()) && allZero(pad.getHigh());
    if (auto reverse = dyn_cast<ReverseOp>(op))
      return reverse.getAxes().empty();
    if (auto reduce = dyn_cast<ReduceOp>(op))
      return reduce.getAxes().empty();
    return isa<ConcatOp>(op) && op->getNumOperands() == 1;
  }
};

LogicalResult reshapeOfReshape(ReshapeOp op, PatternRewriter &rewriter) {
  auto inner = op.getX().getDefiningOp<ReshapeOp>();
  if (!inner)
    return failure();
  rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), inner.getX(),
                                         op.getDims());
  return success();
}

LogicalResult transposeOfTranspose(TransposeOp op, PatternRewriter &rewriter) {
  auto inner = op.getX().getDefiningOp<TransposeOp>();
  if (!inner)
    return failure();
  SmallVector<int64_t> permutation;
  for (int64_t axis : op.getPermutation())
    permutation.push_back(inner.getPermutation()[axis]);
  rewriter.replaceOpWithNewOp<TransposeOp>(op, op.getType(), inner.getX(),
                                           permutation);
  return success();
}

/// A transpose that moves axes of size 1 only is a reshape, which is free.
LogicalResult transposeOfUnits(TransposeOp op, PatternRewriter &rewriter) {
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(op.getX().getType()).getShape();
  int64_t last = -1;
  for (int64_t axis : op.getPermutation()) {
    if (shape[axis] == 1)
      continue;
    if (axis < last)
      return failure();
    last = axis;
  }
  rewriter.replaceOpWithNewOp<ReshapeOp>(
      op, op.getType(), op.getX(),
      DimsAttr::get(op.getContext(), dimsOf(op.getType())));
  return success();
}

/// The axes of `from` that each axis of `to` merges; none where a reshape does
/// anything else.
std::optional<SmallVector<SmallVector<int64_t>>>
mergedAxes(const backplane::Dims &from, const backplane::Dims &to) {
  SmallVector<SmallVector<int64_t>> groups(to.size());
  size_t next = 0;
  for (auto [axis, size] : llvm::enumerate(to)) {
    backplane::Dim product(1);
    do {
      if (next == from.size())
        return std::nullopt;
      product = product * from[next];
      groups[axis].push_back(int64_t(next++));
    } while (!(product == size));
  }
  return next == from.size() ? std::optional(groups) : std::nullopt;
}

/// Whether the value becomes a reshape, directly or scaled by a number.
bool isReshaped(Value value) {
  if (!value.hasOneUse())
    return false;
  Operation *user = *value.user_begin();
  bool scales = isa<MulOp, DivOp>(user) &&
                (splatOf(user->getOperand(0)) || splatOf(user->getOperand(1)));
  return isa<ReshapeOp>(user) || (scales && isReshaped(user->getResult(0)));
}

/// A transpose of merged axes that are split again is one of the axes before:
/// the reshape goes behind it, to meet the other one.
LogicalResult transposeOfMerge(TransposeOp op, PatternRewriter &rewriter) {
  auto merge = op.getX().getDefiningOp<ReshapeOp>();
  if (!merge || !isReshaped(op.getResult()))
    return failure();
  backplane::Dims from = dimsOf(merge.getX().getType()), dims;
  backplane::Dims to = dimsOf(merge.getType());
  auto groups = mergedAxes(from, to);
  if (!groups || from.size() <= to.size())
    return failure();
  SmallVector<int64_t> permutation;
  for (int64_t axis : op.getPermutation())
    llvm::append_range(permutation, (*groups)[axis]);
  for (int64_t axis : permutation)
    dims.push_back(from[axis]);
  auto type = toType(op.getContext(),
                     backplane::TensorType{
                         *toDType(getElementTypeOrSelf(op.getType())), dims});
  Value moved = TransposeOp::create(rewriter, op.getLoc(), type, merge.getX(),
                                    permutation);
  rewriter.replaceOpWithNewOp<ReshapeOp>(
      op, op.getType(), moved,
      DimsAttr::get(op.getContext(), dimsOf(op.getType())));
  return success();
}

LogicalResult broadcastOfBroadcast(BroadcastOp op, PatternRewriter &rewriter) {
  auto inner = op.getX().getDefiningOp<BroadcastOp>();
  if (!inner)
    return failure();
  SmallVector<int64_t> axes;
  for (int64_t axis : inner.getAxes())
    axes.push_back(op.getAxes()[axis]);
  rewriter.replaceOpWithNewOp<BroadcastOp>(op, op.getType(), inner.getX(),
                                           op.getDims(), axes);
  return success();
}

/// A fill is a constant of its own; it needs no broadcast.
LogicalResult broadcastOfFill(BroadcastOp op, PatternRewriter &rewriter) {
  Attribute value = splatOf(op.getX());
  if (!value)
    return failure();
  auto type = cast<RankedTensorType>(op.getType());
  Type element = type.getElementType();
  bool fits = type.hasStaticShape() && type.getNumElements() > 0;
  auto held = RankedTensorType::get(
      fits ? type.getShape() : ArrayRef<int64_t>(), element);
  rewriter.replaceOpWithNewOp<ConstantOp>(op, type,
                                          DenseElementsAttr::get(held, value),
                                          TypeAttr::get(element), op.getDims());
  return success();
}

LogicalResult sliceOfSlice(SliceOp op, PatternRewriter &rewriter) {
  auto inner = op.getX().getDefiningOp<SliceOp>();
  if (!inner)
    return failure();
  backplane::Dims starts = inner.getStarts().getDims();
  SmallVector<int64_t> strides;
  for (auto [i, start] : llvm::enumerate(op.getStarts().getDims())) {
    starts[i] = starts[i] + start * backplane::Dim(inner.getStrides()[i]);
    strides.push_back(op.getStrides()[i] * inner.getStrides()[i]);
  }
  rewriter.replaceOpWithNewOp<SliceOp>(op, op.getType(), inner.getX(),
                                       DimsAttr::get(op.getContext(), starts),
                                       op.getSizes(), strides);
  return success();
}

/// A slice of what was there before a pad.
LogicalResult sliceOfPad(SliceOp op, PatternRewriter &rewriter) {
  auto pad = op.getX().getDefiningOp<PadOp>();
  if (!pad)
    return failure();
  backplane::Dims starts = op.getStarts().getDims(),
                  from = dimsOf(pad.getX().getType());
  for (auto [i, size] : llvm::enumerate(op.getSizes().getDims())) {
    starts[i] = starts[i] - pad.getLow().getDims()[i];
    backplane::Dim stride(op.getStrides()[i]);
    backplane::Dim after = from[i] - starts[i];
    if (!starts[i].nonNegative() || !after.nonNegative() ||
        !(after - (size - 1) * stride - 1).nonNegative())
      return failure();
  }
  rewriter.replaceOpWithNewOp<SliceOp>(op, op.getType(), pad.getX(),
                                       DimsAttr::get(op.getContext(), starts),
                                       op.getSizes(), op.getStrides());
  return success();
}

/// Whether a value is but a part of a concat along an axis, and one itself.
bool isPartOfConcat(ConcatOp op, int64_t axis) {
  return op && int64_t(op.getAxis()) == axis && op->hasOneUse();
}

/// The last of a nest takes all parts at once: one by one the work would be the
/// square of their number.
LogicalResult concatOfConcat(ConcatOp op, PatternRewriter &rewriter) {
  int64_t axis = op.getAxis();
  if (op->hasOneUse())
    if (auto user = dyn_cast<ConcatOp>(*op->user_begin());
        user && int64_t(user.getAxis()) == axis)
      return failure();
  SmallVector<Value> parts, work(llvm::reverse(op.getXs()));
  bool nested = false;
  while (!work.empty()) {
    Value part = work.pop_back_val();
    auto inner = part.getDefiningOp<ConcatOp>();
    if (isPartOfConcat(inner, axis)) {
      llvm::append_range(work, llvm::reverse(inner.getXs()));
      nested = true;
    } else {
      parts.push_back(part);
    }
  }
  if (!nested)
    return failure();
  rewriter.replaceOpWithNewOp<ConcatOp>(op, op.getType(), parts,
                                        op.getAxisAttr());
  return success();
}

/// Whether a permutation swaps the last two axes and keeps the others.
bool swapsLastTwo(ArrayRef<int64_t> permutation) {
  int64_t rank = int64_t(permutation.size());
  if (rank < 2 || permutation[rank - 1] != rank - 2 ||
      permutation[rank - 2] != rank - 1)
    return false;
  for (int64_t i = 0; i < rank - 2; ++i)
    if (permutation[i] != i)
      return false;
  return true;
}

LogicalResult matmulOfTranspose(MatmulOp op, PatternRewriter &rewriter) {
  Value a = op.getA(), b = op.getB();
  bool transposeA = op.getTransposeA(), transposeB = op.getTransposeB();
  auto strip = [](Value &value, bool &flag) {
    auto inner = value.getDefiningOp<TransposeOp>();
    if (!inner || !swapsLastTwo(inner.getPermutation()))
      return false;
    value = inner.getX();
    flag = !flag;
    return true;
  };
  bool changedA = strip(a, transposeA), changedB = strip(b, transposeB);
  if (!changedA && !changedB)
    return failure();
  rewriter.replaceOpWithNewOp<MatmulOp>(
      op, op.getType(), a, b, rewriter.getBoolAttr(transposeA),
      rewriter.getBoolAttr(transposeB), op.getWideAttr());
  return success();
}

/// A batch of one weight as the matrix that it is, which all batches share.
LogicalResult matmulOfOneWeight(MatmulOp op, PatternRewriter &rewriter) {
  auto weight = op.getB().getDefiningOp<WeightOp>();
  backplane::TensorType type = *toTensorType(op.getB().getType());
  auto batch = ArrayRef(type.dims).drop_back(2);
  auto isOne = [](const backplane::Dim &dim) {
    return dim == backplane::Dim(1);
  };
  if (!weight || batch.empty() || !llvm::all_of(batch, isOne))
    return failure();
  type.dims.erase(type.dims.begin(), type.dims.end() - 2);
  Value matrix = ReshapeOp::create(
      rewriter, op.getLoc(), toType(rewriter.getContext(), type), weight,
      DimsAttr::get(rewriter.getContext(), type.dims));
  rewriter.modifyOpInPlace(op, [&] { op.getBMutable().assign(matrix); });
  return success();
}

} // namespace

void bp::addMovementPatterns(RewritePatternSet &patterns) {
  patterns.add(sameType<ReshapeOp>)
      .add(sameType<BroadcastOp>)
      .add<IdentityMove>(patterns.getContext())
      .add(reshapeOfReshape)
      .add(transposeOfTranspose)
      .add(transposeOfMerge)
      .add(transposeOfUnits)
      .add(broadcastOfBroadcast)
      .add(broadcastOfFill)
      .add(sliceOfSlice)
      .add(sliceOfPad)
      .add(concatOfConcat)
      .add(matmulOfTranspose)
      .add(matmulOfOneWeight);
}
