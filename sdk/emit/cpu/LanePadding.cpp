// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/LanePadding.h"

#include "sdk/emit/common/Dispatch.h"
#include "sdk/emit/cpu/LaneAccess.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace backplane {
namespace {

/// What makes a padded copy in memory of its own.
struct PaddedCopy {
  linalg::FillOp fill;
  memref::SubViewOp inside;
  linalg::CopyOp copy;
};

} // namespace

/// The ops that write memory which `op` alone reads, before it in its block.
static std::optional<PaddedCopy> findCopy(Value memory, Operation *op) {
  PaddedCopy found;
  for (Operation *user : memory.getUsers()) {
    if (user == op)
      continue;
    if (user->getBlock() != op->getBlock() || !user->isBeforeInBlock(op))
      return std::nullopt;
    if (auto fill = dyn_cast<linalg::FillOp>(user); fill && !found.fill)
      found.fill = fill;
    else if (auto view = dyn_cast<memref::SubViewOp>(user);
             view && !found.inside)
      found.inside = view;
    else
      return std::nullopt;
  }
  if (!found.fill || !found.inside || !found.inside->hasOneUse())
    return std::nullopt;
  found.copy = dyn_cast<linalg::CopyOp>(*found.inside->user_begin());
  bool fits = found.copy && found.copy->getBlock() == op->getBlock() &&
              found.copy->isBeforeInBlock(op) &&
              found.fill->isBeforeInBlock(found.copy) &&
              found.copy.getOutputs()[0] == found.inside &&
              isInput(found.copy.getInputs()[0]);
  return fits ? std::optional(found) : std::nullopt;
}

static std::optional<Padding> findPadding(const PaddedCopy &made,
                                          MemRefType padded) {
  Padding result;
  linalg::CopyOp copy = made.copy;
  memref::SubViewOp inside = made.inside;
  result.source = copy.getInputs()[0];
  linalg::FillOp fill = made.fill;
  auto source = cast<MemRefType>(result.source.getType());
  if (!matchPattern(fill.getInputs()[0], m_Constant(&result.value)) ||
      source.getRank() != padded.getRank() || !source.isLastDimUnitStride() ||
      !inside.hasUnitStride())
    return std::nullopt;
  for (unsigned axis = 0; axis < unsigned(padded.getRank()); ++axis) {
    int64_t low = inside.getStaticOffsets()[axis],
            size = source.getDimSize(axis), all = padded.getDimSize(axis);
    bool whole = low == 0 && size == all;
    if (ShapedType::isDynamic(low) || (!whole && ShapedType::isDynamic(size)))
      return std::nullopt;
    result.low.push_back(low);
    result.size.push_back(whole ? ShapedType::kDynamic : size);
  }
  return result;
}

/// Whether lanes are neighbours, or every second one is, in the last axis.
static bool readsRows(linalg::GenericOp op, OpOperand &operand, unsigned loop) {
  LaneAccess access = laneAccess(op, operand, loop);
  return access == LaneAccess::Contiguous || access == LaneAccess::Alternate;
}

SmallVector<Padding> takePaddings(linalg::GenericOp op, unsigned loop) {
  SmallVector<Padding> found;
  bool windows =
      op.getNumReductionLoops() > 0 &&
      op.getIteratorTypesArray()[loop] == utils::IteratorType::parallel;
  for (OpOperand *operand : op.getDpsInputOperands()) {
    auto memory = operand->get().getDefiningOp<memref::AllocOp>();
    if (!windows || !memory || !readsRows(op, *operand, loop) ||
        llvm::count(op->getOperands(), operand->get()) != 1)
      continue;
    auto made = findCopy(memory, op);
    auto padding = made ? findPadding(*made, memory.getType()) : std::nullopt;
    if (!padding)
      continue;
    padding->operand = operand->getOperandNumber();
    found.push_back(*padding);
    made->copy.erase();
    made->inside.erase();
    made->fill.erase();
  }
  return found;
}

namespace {

/// An index along an axis, where loop `number` and the windows vary.
struct WindowIndex {
  linalg::GenericOp op;
  unsigned number;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();

  bool isWindow(unsigned i) {
    return op.getIteratorTypesArray()[i] == utils::IteratorType::reduction;
  }
  /// Whether nothing else moves it.
  bool isKnown(AffineExpr expr) {
    for (unsigned i = 0; i < sizes.size(); ++i)
      if (i != number && expr.isFunctionOfDim(i) &&
          (!isWindow(i) || ShapedType::isDynamic(sizes[i])))
        return false;
    return true;
  }
  /// What it is in an iteration, for the first or the last element of a window.
  int64_t at(AffineExpr expr, int64_t iteration, bool isLast) {
    SmallVector<AffineExpr> positions;
    for (unsigned i = 0; i < sizes.size(); ++i) {
      int64_t position = i == number             ? iteration
                         : isWindow(i) && isLast ? sizes[i] - 1
                                                 : 0;
      positions.push_back(getAffineConstantExpr(position, op.getContext()));
    }
    return cast<AffineConstantExpr>(expr.replaceDims(positions)).getValue();
  }
  /// Whether elements from `from` behind the first one of iteration `first` to
  /// `to` behind the last one of iteration `last` are known to be no padding.
  bool isInside(const Padding &padding, unsigned axis, int64_t first,
                int64_t last, int64_t from = 0, int64_t to = 0) {
    AffineExpr expr =
        op.getMatchingIndexingMap(&op->getOpOperand(padding.operand))
            .getResult(axis);
    int64_t low = padding.low[axis];
    return isKnown(expr) && at(expr, first, false) + from >= low &&
           at(expr, last, true) + to < low + padding.size[axis];
  }
};

} // namespace

bool meetsNoPadding(linalg::GenericOp op, ArrayRef<Padding> paddings,
                    unsigned lanes, unsigned number, int64_t first,
                    int64_t last) {
  WindowIndex index{op, number};
  return llvm::all_of(paddings, [&](const Padding &padding) {
    auto rank = unsigned(padding.size.size());
    for (unsigned axis = 0; axis < rank; ++axis) {
      bool ofLanes = axis + 1 == rank;
      if (padding.isPadded(axis) && ofLanes == (number == lanes) &&
          !index.isInside(padding, axis, first, last))
        return false;
    }
    return true;
  });
}

bool liesInRow(linalg::GenericOp op, const Padding &padding, unsigned lanes,
               const RowPart &part) {
  return WindowIndex{op, lanes}.isInside(
      padding, unsigned(padding.size.size()) - 1, part.start, part.start,
      part.offset, part.offset + part.count - 1);
}

} // namespace backplane
