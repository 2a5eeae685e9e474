// SPDX-License-Identifier: Apache-2.0
#include "sdk/compiler/KernelInPlace.h"
#include "sdk/dialect/Attributes.h"
#include "sdk/schedule/InPlace.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace {

/// The one computation of the function, when it is elementwise.
linalg::GenericOp soleElementwiseOp(func::FuncOp function) {
  linalg::GenericOp sole;
  for (Operation &op : function.front()) {
    if (!isa<linalg::LinalgOp>(op)) {
      // What else has tensors may only give them other shapes.
      if (op.getNumRegions() != 0 || isa<tensor::InsertSliceOp>(op))
        return nullptr;
      continue;
    }
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (sole || !generic)
      return nullptr;
    sole = generic;
  }
  if (!sole || sole.getNumReductionLoops() != 0 || sole.getNumDpsInits() != 1)
    return nullptr;
  return sole;
}

/// The argument whose elements, in its order, the value has.
BlockArgument argumentOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op) ||
        !cast<RankedTensorType>(op->getResult(0).getType()).hasStaticShape())
      return nullptr;
    value = op->getOperand(0);
  }
  return cast<BlockArgument>(value);
}

/// Whether nothing but reshapes of the argument and the op itself use it.
bool isOnlyFor(Value value, Operation *op) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    if (user == op)
      return true;
    return isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(user) &&
           isOnlyFor(user->getResult(0), op);
  });
}

/// Whether the op reads the argument where it writes its result.
bool isReadInPlace(linalg::GenericOp op, BlockArgument argument) {
  OpOperand &init = op.getDpsInitsMutable()[0];
  AffineMap map = op.getMatchingIndexingMap(&init);
  bool found = false;
  for (OpOperand *input : op.getDpsInputOperands()) {
    if (argumentOf(input->get()) != argument)
      continue;
    auto have = cast<RankedTensorType>(input->get().getType());
    auto want = cast<RankedTensorType>(init.get().getType());
    if (op.getMatchingIndexingMap(input) != map ||
        have.getShape() != want.getShape())
      return false;
    found = true;
  }
  return found && isOnlyFor(argument, op);
}

} // namespace

std::vector<uint32_t> backplane::inPlaceInputs(func::FuncOp lowered) {
  std::vector<uint32_t> result;
  auto inputs = lowered->getAttrOfType<IntegerAttr>(bp::inputsAttr);
  auto outputs = lowered->getAttrOfType<IntegerAttr>(bp::outputsAttr);
  // An op that reports bad data may run more than once for an element.
  if (!inputs || !outputs || outputs.getInt() != 1 ||
      lowered->hasAttr(bp::errorAttr))
    return result;
  linalg::GenericOp op = soleElementwiseOp(lowered);
  BlockArgument destination = lowered.getArgument(unsigned(inputs.getInt()));
  if (!op || argumentOf(op.getDpsInits()[0]) != destination ||
      !isOnlyFor(destination, op) ||
      !op.getMatchingIndexingMap(&op.getDpsInitsMutable()[0]).isPermutation())
    return result;
  for (unsigned i = 0; i < unsigned(inputs.getInt()); ++i)
    if (isReadInPlace(op, lowered.getArgument(i)))
      result.push_back(i);
  return result;
}

void backplane::keepReplaceable(std::vector<uint32_t> &inputs,
                                const Graph &graph) {
  std::vector<uint32_t> allowed = replaceableInputs(graph);
  std::erase_if(inputs,
                [&](uint32_t i) { return !llvm::is_contained(allowed, i); });
}
