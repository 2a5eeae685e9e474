// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/VectorBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace backplane {

static bool isElement(Type type) { return type.isIntOrIndexOrFloat(); }

bool isLaneByLane(Operation &op) {
  if (isa<arith::ConstantOp>(op))
    return true;
  return op.getNumRegions() == 0 &&
         OpTrait::hasElementwiseMappableTraits(&op) &&
         llvm::all_of(op.getOperandTypes(), isElement) &&
         llvm::all_of(op.getResultTypes(), isElement);
}

bool canVectorizeBody(Block &body) {
  return llvm::all_of(body.without_terminator(), [](Operation &op) {
    return isa<linalg::IndexOp>(op) || isLaneByLane(op);
  });
}

unsigned widestElementBits(linalg::GenericOp op) {
  unsigned bits = 8;
  auto note = [&](Type type) {
    if (type.isIntOrFloat())
      bits = std::max(bits, type.getIntOrFloatBitWidth());
  };
  for (Value operand : op->getOperands())
    note(getElementTypeOrSelf(operand.getType()));
  for (Operation &inner : op.getBody()->without_terminator())
    for (Type type : inner.getResultTypes())
      note(type);
  return bits;
}

Value VectorWidth::lanes(OpBuilder &builder, Location loc) const {
  Value number = arith::ConstantIndexOp::create(builder, loc, count);
  if (!scalable)
    return number;
  Value scale = vector::VectorScaleOp::create(builder, loc);
  return arith::MulIOp::create(builder, loc, scale, number);
}

Value broadcastTo(OpBuilder &builder, Location loc, Value value,
                  VectorWidth width) {
  if (isa<VectorType>(value.getType()))
    return value;
  return vector::BroadcastOp::create(builder, loc, width.of(value.getType()),
                                     value);
}

void cloneOp(OpBuilder &builder, Location loc, Operation &op, IRMapping &map,
             VectorWidth width) {
  SmallVector<Value> operands;
  for (Value operand : op.getOperands())
    operands.push_back(map.lookupOrDefault(operand));
  bool vectors = llvm::any_of(
      operands, [](Value value) { return isa<VectorType>(value.getType()); });
  if (!vectors) {
    builder.clone(op, map);
    return;
  }
  for (Value &operand : operands)
    operand = broadcastTo(builder, loc, operand, width);
  SmallVector<Type> types;
  for (Type type : op.getResultTypes())
    types.push_back(width.of(type));
  Operation *copy = builder.create(loc, op.getName().getIdentifier(), operands,
                                   types, op.getAttrs());
  map.map(op.getResults(), copy->getResults());
}

static void cloneSlice(OpBuilder &builder, Location loc, Value value,
                       Block *block, IRMapping &map, VectorWidth width) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != block || map.contains(value))
    return;
  for (Value operand : op->getOperands())
    cloneSlice(builder, loc, operand, block, map, width);
  cloneOp(builder, loc, *op, map, width);
}

Value cloneValue(OpBuilder &builder, Location loc, Value value,
                 BlockArgument argument, Value replacement, VectorWidth width) {
  IRMapping map;
  map.map(argument, replacement);
  cloneSlice(builder, loc, value, argument.getOwner(), map, width);
  return map.lookupOrDefault(value);
}

SmallVector<Value> cloneBody(OpBuilder &builder, Location loc, Block &body,
                             ValueRange arguments, VectorWidth width,
                             function_ref<Value(unsigned)> indexOf,
                             ValueRange wanted) {
  IRMapping map;
  map.map(body.getArguments(), arguments);
  for (Operation &op : body.without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(op))
      map.map(index.getResult(), indexOf(index.getDim()));
    else
      cloneOp(builder, loc, op, map, width);
  }
  SmallVector<Value> found;
  for (Value value : wanted)
    found.push_back(map.lookupOrDefault(value));
  return found;
}

SmallVector<Value> cloneBody(OpBuilder &builder, Location loc, Block &body,
                             ValueRange arguments, VectorWidth width,
                             function_ref<Value(unsigned)> indexOf) {
  return cloneBody(builder, loc, body, arguments, width, indexOf,
                   body.getTerminator()->getOperands());
}

} // namespace backplane
