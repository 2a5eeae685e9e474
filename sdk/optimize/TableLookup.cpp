// SPDX-License-Identifier: Apache-2.0
#include "sdk/optimize/Constants.h"
#include "sdk/optimize/Passes.h"
#include "sdk/optimize/Patterns.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace bp {
#define GEN_PASS_DEF_TABLELOOKUPPASS
#include "sdk/optimize/Passes.h.inc"
} // namespace bp

using namespace mlir;
using namespace bp;

namespace {

DimsAttr dimsAttr(Type type) {
  return DimsAttr::get(type.getContext(), dimsOf(type));
}

/// Whether an integer tensor holds 0, 1, 2, … along its last axis and its
/// other axes are 1.
bool countsUp(Value value, const ReadWeight &read) {
  auto type = cast<RankedTensorType>(value.getType());
  if (!type.hasStaticShape() || type.getRank() == 0 ||
      type.getNumElements() != type.getShape().back())
    return false;
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getX();
  if (auto iota = value.getDefiningOp<IotaOp>())
    return cast<RankedTensorType>(iota.getType()).getShape()[iota.getAxis()] ==
           type.getNumElements();
  auto dtype = *toDType(type.getElementType());
  std::optional<DenseElementsAttr> elements;
  if (auto constant = value.getDefiningOp<ConstantOp>())
    elements = dyn_cast<DenseElementsAttr>(constant.getValue());
  else if (auto weight = value.getDefiningOp<WeightOp>(); weight && read)
    if (auto bytes = read(weight.getId()))
      elements = toElements(value.getContext(),
                            {dtype, dimsOf(weight.getType())}, *bytes);
  if (!elements || !*elements || !type.getElementType().isSignlessInteger() ||
      elements->getNumElements() != type.getNumElements())
    return false;
  for (auto [i, number] : llvm::enumerate(elements->getValues<APInt>()))
    if (number != i)
      return false;
  return true;
}

/// The ids of a one-hot tensor: compare(broadcast(ids), broadcast(0, 1, …)).
/// Gives the ids, whose last axis may be a further one of size 1.
Value oneHotIds(Value value, const ReadWeight &read) {
  auto cast = value.getDefiningOp<CastOp>();
  auto compare = cast ? cast.getX().getDefiningOp<CompareOp>() : CompareOp();
  if (!compare || compare.getDirection() != "eq" || !isFloat(value))
    return {};
  int64_t rank = mlir::cast<RankedTensorType>(value.getType()).getRank();
  for (bool swap : {false, true}) {
    auto ids = compare->getOperand(swap).getDefiningOp<BroadcastOp>();
    auto count = compare->getOperand(!swap).getDefiningOp<BroadcastOp>();
    if (!ids || !count || count.getAxes().empty() ||
        count.getAxes().back() != rank - 1 || !countsUp(count.getX(), read))
      continue;
    auto type = mlir::cast<RankedTensorType>(ids.getX().getType());
    bool all = type.getRank() == rank - 1 ||
               (type.getRank() == rank && type.getShape().back() == 1);
    for (auto [i, axis] : llvm::enumerate(ids.getAxes()))
      all &=
          axis == int64_t(i) &&
          (axis == rank - 1 || dimsOf(type)[i] == dimsOf(ids.getType())[axis]);
    if (all)
      return ids.getX();
  }
  return {};
}

/// matmul(one_hot(ids), w) -> gather(w with a row of zeros, ids), where an id
/// out of range means that row.
struct OneHotMatmul : OpRewritePattern<MatmulOp> {
  OneHotMatmul(MLIRContext *context, const ReadWeight &read)
      : OpRewritePattern(context), read_(read) {}
  LogicalResult matchAndRewrite(MatmulOp op,
                                PatternRewriter &rewriter) const final {
    auto table = cast<RankedTensorType>(op.getB().getType());
    if (op.getTransposeA() || op.getTransposeB() || op.getWide() ||
        table.getRank() != 2 || !table.hasStaticShape() ||
        !isConstant(op.getB()))
      return failure();
    Value ids = oneHotIds(op.getA(), read_);
    if (!ids)
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value rows = withZeroRow(b, op.getB());
    if (cast<RankedTensorType>(ids.getType()).getRank() ==
        cast<RankedTensorType>(op.getType()).getRank())
      ids = dropLastAxis(b, ids);
    Value indices = inRange(b, ids, table.getShape()[0]);
    rewriter.replaceOpWithNewOp<GatherOp>(op, op.getType(), rows, indices,
                                          b.getI64IntegerAttr(0));
    return success();
  }

private:
  static Value fill(ImplicitLocOpBuilder &b, Type type, int64_t number) {
    Type element = getElementTypeOrSelf(type);
    Attribute value = isa<FloatType>(element)
                          ? Attribute(b.getFloatAttr(element, double(number)))
                          : Attribute(b.getIntegerAttr(element, number));
    return bp::fill(b, b.getLoc(), cast<RankedTensorType>(type), value);
  }
  static Value withZeroRow(ImplicitLocOpBuilder &b, Value table) {
    auto type = cast<RankedTensorType>(table.getType());
    auto row =
        RankedTensorType::get({1, type.getShape()[1]}, type.getElementType());
    return ConcatOp::create(b, ValueRange{table, fill(b, row, 0)},
                            b.getI64IntegerAttr(0));
  }
  static Value dropLastAxis(ImplicitLocOpBuilder &b, Value ids) {
    backplane::TensorType type = *toTensorType(ids.getType());
    type.dims.pop_back();
    return ReshapeOp::create(b, toType(b.getContext(), type), ids,
                             DimsAttr::get(b.getContext(), type.dims));
  }
  /// The ids, `count` for those outside of [0, count).
  static Value inRange(ImplicitLocOpBuilder &b, Value ids, int64_t count) {
    Value end = fill(b, ids.getType(), count);
    Value low = CompareOp::create(b, ids, fill(b, ids.getType(), 0),
                                  b.getStringAttr("ge"));
    Value high = CompareOp::create(b, ids, end, b.getStringAttr("lt"));
    Value inside = AndOp::create(b, low, high);
    return SelectOp::create(b, inside, ids, end);
  }

  const ReadWeight &read_;
};

/// f(gather(w, i), …) -> gather(f(w, …), i) where the other operands are
/// gathered the same way, or vary along the axes of the rows only. The table
/// is constant, so that the work is done once.
struct ElementwiseOfGather : RewritePattern {
  explicit ElementwiseOfGather(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const final {
    if (!op->hasTrait<Elementwise>() || op->getNumResults() != 1)
      return failure();
    GatherOp gather = findTable(op);
    if (!gather || !llvm::all_of(op->getOperands(), [&](Value operand) {
          return fits(operand, gather);
        }))
      return failure();
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(onTable(rewriter, operand, gather));
    OperationState state(op->getLoc(), op->getName());
    state.addOperands(operands);
    state.addAttributes(op->getAttrs());
    auto table = cast<RankedTensorType>(gather.getX().getType());
    state.addTypes(RankedTensorType::get(
        table.getShape(), getElementTypeOrSelf(op->getResult(0).getType())));
    Value computed = rewriter.create(state)->getResult(0);
    rewriter.replaceOpWithNewOp<GatherOp>(op, op->getResult(0).getType(),
                                          computed, gather.getIndices(),
                                          gather.getAxisAttr());
    return success();
  }

private:
  /// A gather of rows of a constant table among the operands.
  static GatherOp findTable(Operation *op) {
    for (Value operand : op->getOperands())
      if (auto gather = operand.getDefiningOp<GatherOp>())
        if (gather.getAxis() == 0 && isConstant(gather.getX()) &&
            isSmaller(gather.getX().getType(), gather.getType()))
          return gather;
    return {};
  }
  static bool isSmaller(Type table, Type result) {
    auto type = cast<RankedTensorType>(result);
    return !type.hasStaticShape() ||
           cast<RankedTensorType>(table).getNumElements() <
               type.getNumElements();
  }
  /// Axes of the result before those of a row.
  static int64_t leading(GatherOp gather) {
    return cast<RankedTensorType>(gather.getIndices().getType()).getRank();
  }
  static bool fits(Value operand, GatherOp gather) {
    if (auto other = operand.getDefiningOp<GatherOp>())
      return other.getIndices() == gather.getIndices() &&
             other.getAxis() == 0 &&
             cast<RankedTensorType>(other.getX().getType()).getShape() ==
                 cast<RankedTensorType>(gather.getX().getType()).getShape() &&
             isConstant(other.getX());
    if (splatOf(operand))
      return true;
    auto broadcast = operand.getDefiningOp<BroadcastOp>();
    if (!broadcast || !isConstant(broadcast.getX()))
      return false;
    auto shape = cast<RankedTensorType>(broadcast.getX().getType()).getShape();
    for (auto [size, axis] : llvm::zip(shape, broadcast.getAxes()))
      if (axis < leading(gather) && size != 1)
        return false;
    return true;
  }
  /// The operand as a tensor of the table's shape.
  static Value onTable(PatternRewriter &rewriter, Value operand,
                       GatherOp gather) {
    if (auto other = operand.getDefiningOp<GatherOp>())
      return other.getX();
    auto table = cast<RankedTensorType>(gather.getX().getType());
    Type element = getElementTypeOrSelf(operand.getType());
    auto type = RankedTensorType::get(table.getShape(), element);
    if (Attribute splat = splatOf(operand))
      return bp::fill(rewriter, operand.getLoc(), type, splat);
    auto broadcast = operand.getDefiningOp<BroadcastOp>();
    auto source = cast<RankedTensorType>(broadcast.getX().getType());
    SmallVector<int64_t> sizes, axes;
    for (auto [size, axis] :
         llvm::zip(source.getShape(), broadcast.getAxes())) {
      if (axis < leading(gather))
        continue;
      sizes.push_back(size);
      axes.push_back(axis - leading(gather) + 1);
    }
    auto rows = RankedTensorType::get(sizes, element);
    Value kept = broadcast.getX();
    if (kept.getType() != rows)
      kept = ReshapeOp::create(rewriter, operand.getLoc(), rows, kept,
                               dimsAttr(rows));
    return BroadcastOp::create(rewriter, operand.getLoc(), type, kept,
                               dimsAttr(type), axes);
  }
};

struct TableLookupPass : bp::impl::TableLookupPassBase<TableLookupPass> {
  explicit TableLookupPass(ReadWeight read) : read_(std::move(read)) {}
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<OneHotMatmul>(&getContext(), read_);
    patterns.add<ElementwiseOfGather>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }

private:
  ReadWeight read_;
};

} // namespace

std::unique_ptr<Pass> bp::createTableLookupPass(ReadWeight read) {
  return std::make_unique<TableLookupPass>(std::move(read));
}
