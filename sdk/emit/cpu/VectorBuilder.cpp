// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/VectorBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace backplane {

VectorBuilder::VectorBuilder(OpBuilder &builder, Location loc,
                             VectorWidth width)
    : builder(builder), loc(loc), width(width),
      laneCount(width.lanes(builder, loc)) {}

/* ---- Arithmetic ---- */

Value VectorBuilder::index(int64_t value) const {
  return arith::ConstantIndexOp::create(builder, loc, value);
}
Value VectorBuilder::add(Value a, Value b) const {
  return builder.createOrFold<arith::AddIOp>(loc, a, b);
}
Value VectorBuilder::sub(Value a, Value b) const {
  return builder.createOrFold<arith::SubIOp>(loc, a, b);
}
Value VectorBuilder::mul(Value a, Value b) const {
  return builder.createOrFold<arith::MulIOp>(loc, a, b);
}
Value VectorBuilder::floorDiv(Value a, Value b) const {
  return builder.createOrFold<arith::DivUIOp>(loc, a, b);
}
Value VectorBuilder::ceilDiv(Value a, Value b) const {
  return builder.createOrFold<arith::CeilDivUIOp>(loc, a, b);
}
Value VectorBuilder::mod(Value a, Value b) const {
  return builder.createOrFold<arith::RemUIOp>(loc, a, b);
}
Value VectorBuilder::minimum(Value a, Value b) const {
  return builder.createOrFold<arith::MinSIOp>(loc, a, b);
}
Value VectorBuilder::lessOrEqual(Value a, Value b) const {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sle, a, b);
}
Value VectorBuilder::wholeSteps(Value count, Value step) const {
  return mul(floorDiv(count, step), step);
}

/* ---- Control flow ---- */

void VectorBuilder::forRange(Value low, Value high, Value step,
                             function_ref<void(Value)> body) const {
  auto loop = scf::ForOp::create(builder, loc, low, high, step);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

VectorBuilder::Values
VectorBuilder::forCarrying(Value low, Value high, ValueRange values,
                           function_ref<Values(Value, ValueRange)> body) const {
  auto loop = scf::ForOp::create(builder, loc, low, high, index(1), values);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  scf::YieldOp::create(builder, loc,
                       body(loop.getInductionVar(), loop.getRegionIterArgs()));
  return loop.getResults();
}

void VectorBuilder::ifElse(Value condition, function_ref<void()> yes,
                           function_ref<void()> no) const {
  auto branch = scf::IfOp::create(builder, loc, condition, bool(no));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  yes();
  if (!no)
    return;
  builder.setInsertionPointToStart(branch.elseBlock());
  no();
}

Value VectorBuilder::either(Value condition, Type type,
                            function_ref<Value()> yes,
                            function_ref<Value()> no) const {
  auto branch = scf::IfOp::create(builder, loc, TypeRange(type), condition,
                                  /*withElse=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(builder, loc, yes());
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, loc, no());
  return branch.getResult(0);
}

/* ---- Vectors ---- */

Value VectorBuilder::zeroVector(Type type, VectorWidth lanes) const {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getZeroAttr(lanes.of(type)));
}

Value VectorBuilder::laneMask(Value count, VectorWidth lanes) const {
  return vector::CreateMaskOp::create(builder, loc,
                                      lanes.of(builder.getI1Type()), count);
}

Value VectorBuilder::scratch(int64_t elements, Type type) const {
  Value buffer =
      memref::AllocOp::create(builder, loc, MemRefType::get({elements}, type),
                              builder.getI64IntegerAttr(64));
  return memref::CastOp::create(
      builder, loc, MemRefType::get({ShapedType::kDynamic}, type), buffer);
}

Value VectorBuilder::loadContiguous(Value base, Value offset, Value mask,
                                    VectorWidth lanes) const {
  VectorType type = lanes.of(cast<MemRefType>(base.getType()).getElementType());
  if (!mask)
    return vector::LoadOp::create(builder, loc, type, base, offset);
  return vector::MaskedLoadOp::create(builder, loc, type, base,
                                      ValueRange(offset), mask,
                                      zeroVector(type.getElementType(), lanes));
}

void VectorBuilder::storeVector(Value value, Value base, Value offset) const {
  vector::StoreOp::create(builder, loc, value, base, ValueRange(offset));
}

void VectorBuilder::storeVectors(ArrayRef<Value> values, Value base,
                                 Value offset) const {
  for (auto [v, value] : llvm::enumerate(values))
    storeVector(value, base, add(offset, lanesOf(int64_t(v))));
}

Value VectorBuilder::addElements(Value a, Value b) const {
  if (isa<FloatType>(getElementTypeOrSelf(a)))
    return arith::AddFOp::create(builder, loc, a, b);
  return arith::AddIOp::create(builder, loc, a, b);
}

} // namespace backplane
