// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/Contraction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace backplane {

Value expandMemref(OpBuilder &builder, Value memref,
                   tensor::ExpandShapeOp expand) {
  auto type = cast<MemRefType>(memref.getType());
  auto split =
      MemRefType::get(expand.getResultType().getShape(), type.getElementType());
  return memref::ExpandShapeOp::create(builder, expand.getLoc(), split, memref,
                                       expand.getReassociationIndices(),
                                       expand.getMixedOutputShape());
}

/// The memref of an argument or of a constant, axes split or not.
static Value boundMemref(Value tensor) {
  if (auto bound = tensor.getDefiningOp<bufferization::ToTensorOp>())
    return bound.getBuffer();
  if (auto expand = tensor.getDefiningOp<tensor::ExpandShapeOp>()) {
    Value whole = boundMemref(expand.getSrc());
    OpBuilder builder(expand);
    return whole ? expandMemref(builder, whole, expand) : Value();
  }
  auto constant = tensor.getDefiningOp<arith::ConstantOp>();
  if (!constant)
    return Value();
  auto type = cast<RankedTensorType>(tensor.getType());
  OpBuilder builder(constant);
  builder.setInsertionPointAfter(constant);
  return bufferization::ToBufferOp::create(
      builder, constant.getLoc(),
      MemRefType::get(type.getShape(), type.getElementType()), tensor,
      /*read_only=*/true);
}

/// Looks through an elementwise op that only widens 8-bit integers, to longer
/// ones or to f32.
static Value readWidening(Value tensor, ContractionOperand &operand) {
  auto generic = tensor.getDefiningOp<linalg::GenericOp>();
  if (!generic || generic.getNumReductionLoops() != 0 ||
      generic.getNumDpsInputs() != 1 || generic.getNumDpsInits() != 1 ||
      !llvm::all_of(generic.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }))
    return tensor;
  Block &body = *generic.getBody();
  Operation *op = body.getTerminator()->getOperand(0).getDefiningOp();
  if (!isa_and_nonnull<arith::ExtSIOp, arith::ExtUIOp, arith::SIToFPOp,
                       arith::UIToFPOp>(op) ||
      op->getOperand(0) != body.getArgument(0) ||
      !body.getArgument(0).getType().isInteger(8) ||
      (isa<FloatType>(op->getResult(0).getType()) &&
       !op->getResult(0).getType().isF32()))
    return tensor;
  operand.widening = isa<arith::ExtSIOp, arith::SIToFPOp>(op)
                         ? ContractionOperand::Widening::Signed
                         : ContractionOperand::Widening::Unsigned;
  return generic.getDpsInputs()[0];
}

/// Zeros around what is widened are zeros before it is.
static bool narrowPadding(ContractionOperand &operand) {
  if (!operand.padded() ||
      operand.widening == ContractionOperand::Widening::None)
    return true;
  auto zero = dyn_cast<IntegerAttr>(operand.padValue);
  if (!zero || !zero.getValue().isZero())
    return false;
  operand.padValue =
      IntegerAttr::get(IntegerType::get(operand.padValue.getContext(), 8), 0);
  return true;
}

/// Whether an expression is a sum of loops times constants.
static bool isLinear(AffineExpr expr) {
  return !expr.walk([](AffineExpr part) {
                bool ok = isa<AffineDimExpr, AffineConstantExpr>(part) ||
                          part.getKind() == AffineExprKind::Add ||
                          part.getKind() == AffineExprKind::Mul;
                return ok ? WalkResult::advance() : WalkResult::interrupt();
              })
              .wasInterrupted();
}

static bool isLinear(AffineMap map) {
  return llvm::all_of(map.getResults(),
                      [](AffineExpr expr) { return isLinear(expr); });
}

bool ContractionOperand::padded(size_t axis) const {
  return padded() &&
         !(isZeroInteger(padLow[axis]) && isZeroInteger(padHigh[axis]));
}

bool matchOperand(Value tensor, AffineMap map, ContractionOperand &operand) {
  operand.map = map;
  if (auto pad = tensor.getDefiningOp<tensor::PadOp>()) {
    Value value = pad.getConstantPaddingValue();
    Attribute constant;
    if (!value || !matchPattern(value, m_Constant(&constant)))
      return false;
    operand.padLow = pad.getMixedLowPad();
    operand.padHigh = pad.getMixedHighPad();
    operand.padValue = cast<TypedAttr>(constant);
    tensor = pad.getSource();
  }
  operand.memref = boundMemref(readWidening(tensor, operand));
  return operand.memref && narrowPadding(operand) && isLinear(map);
}

} // namespace backplane
