// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/common/UseDestinations.h"

#include "sdk/emit/common/CodePaths.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace backplane;

namespace {

/// Whether the op computes one element after another of its only result, and
/// does not read where it goes.
bool isElementwise(linalg::GenericOp op) {
  return op->getNumResults() == 1 &&
         op.getNumParallelLoops() == op.getNumLoops() &&
         op.getIndexingMapsArray().back().isIdentity() &&
         !op.payloadUsesValueFromOperand(op.getDpsInitOperand(0));
}

/// Whether neighbours in the slice are neighbours in its tensor: but for axes
/// of which it has one element, only the first one is cut.
bool isContiguous(tensor::ExtractSliceOp slice) {
  SmallVector<OpFoldResult> offsets = slice.getMixedOffsets();
  size_t cut = 0;
  while (cut < offsets.size() &&
         isConstantIntValue(slice.getMixedSizes()[cut], 1))
    ++cut;
  auto isZero = [](OpFoldResult offset) {
    return isConstantIntValue(offset, 0);
  };
  return slice.hasUnitStride() &&
         llvm::all_of(
             llvm::drop_begin(offsets, std::min(cut + 1, offsets.size())),
             isZero);
}

/// Whether nothing but `op` uses the destination, which is part of what one
/// work-group writes.
bool belongsTo(Value destination, Operation *op) {
  auto slice = destination.getDefiningOp<tensor::ExtractSliceOp>();
  if (!slice || !slice->hasOneUse() || !isContiguous(slice))
    return false;
  return llvm::all_of(slice.getSource().getUsers(), [&](Operation *user) {
    return user == slice || isa<tensor::ParallelInsertSliceOp>(user);
  });
}

/// Whether `before` can read what is defined when `op` begins.
bool isKnownAt(Operation *op, Operation *before) {
  return llvm::all_of(before->getOperands(), [&](Value operand) {
    Operation *made = operand.getDefiningOp();
    return !made || made->getBlock() != op->getBlock() ||
           made->isBeforeInBlock(op);
  });
}

/// Whether an element takes long enough for the destination to arrive
/// meanwhile.
bool takesLong(linalg::GenericOp op) {
  return llvm::any_of(*op.getBody(), [](Operation &inner) {
    return isa<math::MathDialect>(inner.getDialect());
  });
}

/// The op that computes the operand in memory of its own, which nobody needs
/// when `op` has run; null where that is not so, or it is done sooner than
/// memory.
linalg::GenericOp producerOf(Value operand, linalg::GenericOp op) {
  auto producer = operand.getDefiningOp<linalg::GenericOp>();
  if (!producer || producer->getBlock() != op->getBlock() ||
      producer->getNumResults() != 1 || !takesLong(producer) ||
      !producer.getDpsInitOperand(0)->get().getDefiningOp<tensor::EmptyOp>())
    return {};
  bool isLast = llvm::all_of(operand.getUsers(), [&](Operation *user) {
    return user == op ||
           (user->getBlock() == op->getBlock() && user->isBeforeInBlock(op));
  });
  return isLast ? producer : linalg::GenericOp();
}

void useDestination(linalg::GenericOp op) {
  Value destination = op.getDpsInitOperand(0)->get();
  if (!isElementwise(op) || !belongsTo(destination, op))
    return;
  Operation *slice = destination.getDefiningOp();
  for (OpOperand *input : op.getDpsInputOperands()) {
    Value operand = input->get();
    if (operand.getType() != destination.getType() ||
        !op.getMatchingIndexingMap(input).isIdentity())
      continue;
    linalg::GenericOp producer = producerOf(operand, op);
    if (!producer || !isKnownAt(producer, slice))
      continue;
    slice->moveBefore(producer);
    producer.getDpsInitOperand(0)->set(destination);
    op.getDpsInitOperand(0)->set(operand);
    tellPath(op.getLoc(), path::destination);
    return;
  }
}

} // namespace

void backplane::useDestinations(ModuleOp module) {
  module.walk([](linalg::GenericOp op) { useDestination(op); });
}
