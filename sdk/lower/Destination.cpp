// SPDX-License-Identifier: Apache-2.0
#include "sdk/lower/Destination.h"
#include "sdk/dialect/Attributes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace bp;

namespace {

/// Follows a value to the tensor.empty whose memory it takes.
class Tracer {
public:
  explicit Tracer(OpBuilder &builder) : builder(builder) {}

  /// Puts `destination` in place of that tensor.empty. False, with the
  /// function as good as before, when there is none.
  bool redirect(Value value, Value destination) {
    OpOperand *origin = originOf(value);
    if (!origin)
      return false;
    if (origin->get() == destination)
      return true;
    empty = origin->get().getDefiningOp<tensor::EmptyOp>();
    if (!empty ||
        !llvm::all_of(reshapes, [&](Operation *op) { return canUndo(op); }))
      return false;
    builder.setInsertionPoint(origin->getOwner());
    for (Operation *reshape : reshapes)
      destination = undo(reshape, destination);
    origin->set(castTo(empty.getType(), destination));
    if (empty->use_empty())
      empty.erase();
    return true;
  }

private:
  static bool isReshape(Operation *op) {
    return isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp>(
        op);
  }

  /// The operand through which the memory enters; collects the reshapes on the
  /// way, from the value inwards.
  OpOperand *originOf(Value value) {
    OpOperand *entry = nullptr;
    while (Operation *op = value.getDefiningOp()) {
      if (entry && !value.hasOneUse())
        value = ownCopy(*entry);
      // Others may read what a reshape hands on, but not what is overwritten.
      if (entry && !value.hasOneUse() && !isReshape(entry->getOwner()))
        return entry;
      OpOperand *next = tied(value.getDefiningOp(), cast<OpResult>(value));
      if (!next)
        return isa<tensor::EmptyOp>(op) ? entry : nullptr;
      entry = next;
      value = next->get();
      if (value.getDefiningOp<tensor::EmptyOp>())
        return entry;
    }
    return entry;
  }

  /// A fill that others use too is repeated for this user.
  Value ownCopy(OpOperand &use) {
    auto fill = use.get().getDefiningOp<linalg::FillOp>();
    if (!fill)
      return use.get();
    builder.setInsertionPoint(use.getOwner());
    use.set(builder.clone(*fill)->getResult(0));
    return use.get();
  }

  /// The operand whose memory the result takes over.
  OpOperand *tied(Operation *op, OpResult result) {
    if (auto loops = dyn_cast<linalg::LinalgOp>(op))
      return loops.getDpsInitOperand(result.getResultNumber());
    if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
      return &insert.getDestMutable();
    if (auto insert = dyn_cast<tensor::InsertOp>(op))
      return &insert.getDestMutable();
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return &loop.getInitArgsMutable()[result.getResultNumber()];
    if (isReshape(op)) {
      reshapes.push_back(op);
      return &op->getOpOperand(0);
    }
    return nullptr;
  }

  /// To split dims again takes their sizes, which the tensor.empty knows when
  /// nothing else reshapes it.
  bool canUndo(Operation *op) {
    auto collapse = dyn_cast<tensor::CollapseShapeOp>(op);
    return !collapse || collapse.getSrcType().hasStaticShape() ||
           op == reshapes.back();
  }

  Value undo(Operation *op, Value destination) {
    Location loc = op->getLoc();
    destination = castTo(op->getResult(0).getType(), destination);
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
      return tensor::CollapseShapeOp::create(builder, loc, destination,
                                             expand.getReassociationIndices());
    auto collapse = dyn_cast<tensor::CollapseShapeOp>(op);
    if (!collapse)
      return destination;
    RankedTensorType type = collapse.getSrcType();
    SmallVector<OpFoldResult> sizes =
        type.hasStaticShape()
            ? getAsIndexOpFoldResult(op->getContext(), type.getShape())
            : empty.getMixedSizes();
    return tensor::ExpandShapeOp::create(builder, loc, type, destination,
                                         collapse.getReassociationIndices(),
                                         sizes);
  }

  Value castTo(Type type, Value value) {
    if (value.getType() == type)
      return value;
    return tensor::CastOp::create(builder, value.getLoc(), type, value);
  }

  OpBuilder &builder;
  tensor::EmptyOp empty;
  SmallVector<Operation *> reshapes;
};

Value copyInto(OpBuilder &builder, Location loc, Value value,
               Value destination) {
  auto type = cast<RankedTensorType>(destination.getType());
  if (value.getType() != type)
    value = tensor::CastOp::create(builder, loc, type, value);
  AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  auto copy = linalg::GenericOp::create(
      builder, loc, type, value, destination, {identity, identity}, iterators,
      [](OpBuilder &nested, Location at, ValueRange args) {
        linalg::YieldOp::create(nested, at, args[0]);
      });
  return copy.getResult(0);
}

} // namespace

void bp::assignDestinations(func::FuncOp function) {
  auto inputs = function->getAttrOfType<IntegerAttr>(bp::inputsAttr);
  if (!inputs)
    return;
  OpBuilder builder(function);
  Operation *end = function.front().getTerminator();
  for (OpOperand &result : end->getOpOperands()) {
    Value destination =
        function.getArgument(inputs.getInt() + result.getOperandNumber());
    if (Tracer(builder).redirect(result.get(), destination))
      continue;
    builder.setInsertionPoint(end);
    result.set(copyInto(builder, end->getLoc(), result.get(), destination));
  }
}
