// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/spirv/NarrowCompares.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using Predicate = arith::CmpIPredicate;

namespace {

/// An integer before it was widened.
struct Narrow {
  Value value;
  unsigned width = 0;
  bool isSigned = false;
};

std::optional<Narrow> narrowOf(Value wide) {
  Operation *op = wide.getDefiningOp();
  if (!op || !isa<arith::ExtSIOp, arith::ExtUIOp, arith::IndexCastOp,
                  arith::IndexCastUIOp>(op))
    return std::nullopt;
  Value value = op->getOperand(0);
  Narrow narrow{value, 32, isa<arith::ExtSIOp, arith::IndexCastOp>(op)};
  if (!value.getType().isIndex())
    narrow.width = value.getType().getIntOrFloatBitWidth();
  auto whole = dyn_cast<IntegerType>(wide.getType());
  if (!whole || narrow.width == 1 || whole.getWidth() <= narrow.width)
    return std::nullopt;
  return narrow;
}

bool isUnsigned(Predicate predicate) {
  return predicate >= Predicate::ult && predicate <= Predicate::uge;
}

/// The predicate for numbers of which none is negative.
Predicate toUnsigned(Predicate predicate) {
  switch (predicate) {
  case Predicate::slt:
    return Predicate::ult;
  case Predicate::sle:
    return Predicate::ule;
  case Predicate::sgt:
    return Predicate::ugt;
  case Predicate::sge:
    return Predicate::uge;
  default:
    return predicate;
  }
}

/// The outcome for a constant below or above all that the narrow type has.
bool outside(Predicate predicate, bool above) {
  switch (toUnsigned(predicate)) {
  case Predicate::ult:
  case Predicate::ule:
    return above;
  case Predicate::ugt:
  case Predicate::uge:
    return !above;
  default:
    return predicate == Predicate::ne;
  }
}

LogicalResult narrowCompare(arith::CmpIOp op, PatternRewriter &rewriter) {
  APInt constant;
  auto narrow = narrowOf(op.getLhs());
  Predicate predicate = op.getPredicate();
  if (!narrow || !matchPattern(op.getRhs(), m_ConstantInt(&constant)) ||
      (narrow->isSigned && isUnsigned(predicate)))
    return failure();
  bool fits = narrow->isSigned ? constant.isSignedIntN(narrow->width)
                               : constant.isIntN(narrow->width);
  if (!fits) {
    bool above = isUnsigned(predicate) || !constant.isNegative();
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(
        op, rewriter.getBoolAttr(outside(predicate, above)));
    return success();
  }
  Type type = narrow->value.getType();
  APInt number =
      type.isIndex() ? constant.sextOrTrunc(64) : constant.trunc(narrow->width);
  Value limit = arith::ConstantOp::create(
      rewriter, op.getLoc(), rewriter.getIntegerAttr(type, number));
  rewriter.replaceOpWithNewOp<arith::CmpIOp>(
      op, narrow->isSigned ? predicate : toUnsigned(predicate), narrow->value,
      limit);
  return success();
}

} // namespace

void backplane::addNarrowCompares(RewritePatternSet &patterns) {
  patterns.add(narrowCompare);
}
