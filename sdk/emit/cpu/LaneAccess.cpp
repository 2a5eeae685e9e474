// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/LaneAccess.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace backplane {

LaneAccess laneAccess(linalg::GenericOp op, OpOperand &operand, unsigned loop) {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  auto type = dyn_cast<MemRefType>(operand.get().getType());
  if (!type || !map.isFunctionOfDim(loop))
    return LaneAccess::Uniform;
  for (AffineExpr expr : map.getResults().drop_back())
    if (expr.isFunctionOfDim(loop))
      return LaneAccess::Strided;
  // The expression minus the loop, once or twice, no longer depends on it.
  AffineExpr index = map.getResults().back();
  AffineExpr step = getAffineDimExpr(loop, op.getContext());
  auto independent = [&](AffineExpr expr) {
    return !simplifyAffineExpr(expr, map.getNumDims(), 0).isFunctionOfDim(loop);
  };
  if (!type.isLastDimUnitStride())
    return LaneAccess::Strided;
  if (independent(index - step))
    return LaneAccess::Contiguous;
  return independent(index - step * 2) ? LaneAccess::Alternate
                                       : LaneAccess::Strided;
}

std::optional<vector::CombiningKind> combiningKind(Operation *op) {
  using Kind = vector::CombiningKind;
  return llvm::TypeSwitch<Operation *, std::optional<Kind>>(op)
      .Case<arith::AddFOp, arith::AddIOp>([](auto) { return Kind::ADD; })
      .Case<arith::MulFOp, arith::MulIOp>([](auto) { return Kind::MUL; })
      .Case<arith::MaximumFOp>([](auto) { return Kind::MAXIMUMF; })
      .Case<arith::MinimumFOp>([](auto) { return Kind::MINIMUMF; })
      .Case<arith::MaxNumFOp>([](auto) { return Kind::MAXNUMF; })
      .Case<arith::MinNumFOp>([](auto) { return Kind::MINNUMF; })
      .Case<arith::MaxSIOp>([](auto) { return Kind::MAXSI; })
      .Case<arith::MinSIOp>([](auto) { return Kind::MINSI; })
      .Case<arith::MaxUIOp>([](auto) { return Kind::MAXUI; })
      .Case<arith::MinUIOp>([](auto) { return Kind::MINUI; })
      .Case<arith::AndIOp>([](auto) { return Kind::AND; })
      .Case<arith::OrIOp>([](auto) { return Kind::OR; })
      .Case<arith::XOrIOp>([](auto) { return Kind::XOR; })
      .Default([](Operation *) { return std::nullopt; });
}

Operation *findCombiner(linalg::GenericOp op, unsigned number) {
  Block *body = op.getBody();
  BlockArgument accumulator = body->getArgument(op.getNumDpsInputs() + number);
  Operation *combiner =
      body->getTerminator()->getOperand(number).getDefiningOp();
  if (!combiner || combiner->getBlock() != body || !combiner->hasOneUse() ||
      !accumulator.hasOneUse() || *accumulator.user_begin() != combiner ||
      !combiningKind(combiner) || !arith::getNeutralElement(combiner))
    return nullptr;
  return combiner;
}

bool canReduceLanes(linalg::GenericOp op) {
  for (unsigned i = 0; i < op.getNumDpsInits(); ++i)
    if (!findCombiner(op, i))
      return false;
  return op.getNumReductionLoops() > 0;
}

bool canScaleLanes(linalg::GenericOp op, unsigned loop) {
  for (OpOperand &operand : op->getOpOperands()) {
    LaneAccess access = laneAccess(op, operand, loop);
    bool scalar = !isa<MemRefType>(operand.get().getType());
    if (!scalar && access != LaneAccess::Contiguous &&
        access != LaneAccess::Uniform)
      return false;
  }
  if (op.getIteratorTypesArray()[loop] == utils::IteratorType::parallel)
    return llvm::all_of(op.getDpsInitsMutable(), [&](OpOperand &init) {
      return laneAccess(op, init, loop) == LaneAccess::Contiguous;
    });
  for (unsigned i = 0; i < op.getNumDpsInits(); ++i) {
    Operation *combiner = findCombiner(op, i);
    if (combiningKind(combiner) == vector::CombiningKind::MUL ||
        combiner->getResult(0).getType().isInteger(1))
      return false;
  }
  return true;
}

} // namespace backplane
