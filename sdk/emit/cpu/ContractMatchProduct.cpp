// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/Contraction.h"

#include "sdk/emit/cpu/VectorBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace backplane {

bool Contraction::takesAsStored(Value factor,
                                const ContractionOperand &operand) const {
  auto type = cast<MemRefType>(operand.memref.getType());
  return isa<BlockArgument>(factor) && operand.bodies.empty() &&
         type.getElementType() == accumulator;
}

linalg::GenericOp asGeneric(Operation *op) {
  if (auto generic = dyn_cast_or_null<linalg::GenericOp>(op))
    return generic;
  auto named = dyn_cast_or_null<linalg::LinalgOp>(op);
  if (!named || isa<linalg::FillOp>(op))
    return nullptr;
  IRRewriter rewriter(op->getContext());
  rewriter.setInsertionPoint(op);
  auto generic = linalg::generalizeNamedOp(rewriter, named);
  return succeeded(generic) ? *generic : nullptr;
}

static bool findInit(Contraction &c) {
  auto fill = c.op.getDpsInits()[0].getDefiningOp<linalg::FillOp>();
  Attribute constant;
  if (!fill || !matchPattern(fill.getInputs()[0], m_Constant(&constant)))
    return false;
  c.init = cast<TypedAttr>(constant);
  c.accumulator = c.init.getType();
  return c.accumulator.isF32() || c.accumulator.isF64() ||
         c.accumulator.isInteger(32) || c.accumulator.isInteger(64);
}

/// The one input that a factor is computed from.
static std::optional<unsigned> operandInput(Value factor, Block &body) {
  std::optional<unsigned> found;
  SmallVector<Value> work{factor};
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (argument.getOwner() != &body ||
          (found && *found != argument.getArgNumber()))
        return std::nullopt;
      found = argument.getArgNumber();
    } else if (value.getDefiningOp()->getBlock() == &body) {
      llvm::append_range(work, value.getDefiningOp()->getOperands());
    } else if (!matchPattern(value, m_Constant())) {
      return std::nullopt;
    }
  }
  return found;
}

static bool findFactors(Contraction &c) {
  Block &body = *c.op.getBody();
  Operation *sum = body.getTerminator()->getOperand(0).getDefiningOp();
  if (!isa_and_nonnull<arith::AddFOp, arith::AddIOp>(sum))
    return false;
  Value accumulator = body.getArguments().back();
  Value term = sum->getOperand(0) == accumulator   ? sum->getOperand(1)
               : sum->getOperand(1) == accumulator ? sum->getOperand(0)
                                                   : Value();
  Operation *product = term ? term.getDefiningOp() : nullptr;
  if (!isa_and_nonnull<arith::MulFOp, arith::MulIOp>(product) ||
      !accumulator.hasOneUse())
    return false;
  c.left = product->getOperand(0);
  c.right = product->getOperand(1);
  auto a = operandInput(c.left, body), b = operandInput(c.right, body);
  if (!a || !b || *a == *b || *a >= c.op.getNumDpsInputs() ||
      *b >= c.op.getNumDpsInputs())
    return false;
  c.a = *a;
  c.b = *b;
  return true;
}

bool readProduct(Contraction &c) {
  return c.op.getNumDpsInits() == 1 && c.op.getNumDpsInputs() >= 2 &&
         c.op.getNumReductionLoops() > 0 && canVectorizeBody(*c.op.getBody()) &&
         findInit(c) && findFactors(c);
}

} // namespace backplane
