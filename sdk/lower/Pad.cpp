// SPDX-License-Identifier: Apache-2.0
//
// Pads: with a value, the nearest elements, or a mirror image.
#include "sdk/lower/Lowering.h"

#include "sdk/dialect/Convert.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace bp;
using namespace bp::lower;

static Value minIndex(ImplicitLocOpBuilder &body, Value a, Value b) {
  return arith::MinSIOp::create(body, a, b);
}
static Value maxIndex(ImplicitLocOpBuilder &body, Value a, Value b) {
  return arith::MaxSIOp::create(body, a, b);
}

static Value absolute(ImplicitLocOpBuilder &body, Value value) {
  Value zero = arith::ConstantIndexOp::create(body, 0);
  return maxIndex(body, value, arith::SubIOp::create(body, zero, value));
}

/// The mirror image about the edge elements of what is less than the axis away
/// from it: indices that are neighbours stay so.
static Value mirroredOnce(ImplicitLocOpBuilder &body, Value inside,
                          Value last) {
  Value fromLast = arith::SubIOp::create(body, last, absolute(body, inside));
  return arith::SubIOp::create(body, last, absolute(body, fromLast));
}

/// Where an element of a padded axis comes from: the nearest one inside, or the
/// mirror image about the edge elements (which may take several reflections).
static Value paddedIndex(ImplicitLocOpBuilder &body, Value at, Value low,
                         Value size, bool reflects, bool once) {
  Value zero = arith::ConstantIndexOp::create(body, 0);
  Value one = arith::ConstantIndexOp::create(body, 1);
  Value inside = arith::SubIOp::create(body, at, low);
  Value last = arith::SubIOp::create(body, size, one);
  if (!reflects)
    return maxIndex(body, zero, minIndex(body, inside, last));
  if (once)
    return mirroredOnce(body, inside, last);
  Value twice = arith::AddIOp::create(body, last, last);
  Value period = maxIndex(body, twice, one);
  Value phase = arith::RemSIOp::create(body, inside, period);
  Value negative =
      arith::CmpIOp::create(body, arith::CmpIPredicate::slt, phase, zero);
  Value raised = arith::AddIOp::create(body, phase, period);
  phase = arith::SelectOp::create(body, negative, raised, phase);
  Value mirrored = arith::SubIOp::create(body, twice, phase);
  return minIndex(body, phase, maxIndex(body, mirrored, zero));
}

static LogicalResult lowerConstantPad(Lowering &lowering, PadOp op) {
  ImplicitLocOpBuilder &builder = lowering.builder;
  Type resultType = op.getResult().getType();
  View value = lowering.view(op.getValue());
  Value scalar = value.base;
  if (!value.isScalar())
    scalar = tensor::ExtractOp::create(builder, lowering.tensor(op.getValue()),
                                       ValueRange());
  Value output = lowering.emptyLike(resultType, scalar.getType());
  Value target = linalg::FillOp::create(builder, scalar, output).getResult(0);
  Value result = insertCopy(lowering, lowering.view(op.getX()), target,
                            lowering.sizes(op.getLow()),
                            lowering.sizes(op.getX().getType()));
  lowering.setTensor(op.getResult(), result);
  return success();
}

/// Whether no axis is empty, where that is not known.
static Value isNotEmpty(Lowering &lowering, Type type) {
  ImplicitLocOpBuilder &builder = lowering.builder;
  Value result;
  for (OpFoldResult size : lowering.sizes(type)) {
    if (getConstantIntValue(size).value_or(0) > 0)
      continue;
    Value zero = arith::ConstantIndexOp::create(builder, 0);
    Value proper = arith::CmpIOp::create(builder, arith::CmpIPredicate::sgt,
                                         lowering.sizeAsIndex(size), zero);
    if (result)
      proper = arith::AndIOp::create(builder, result, proper);
    result = proper;
  }
  return result;
}

/// Whether an axis is known to be longer than what is added at either end.
static bool mirrorsOnce(PadOp op, size_t axis) {
  auto size = dimsOf(op.getX().getType())[axis].constant(),
       low = op.getLow().getDims()[axis].constant(),
       high = op.getHigh().getDims()[axis].constant();
  return size && low && high && *low < *size && *high < *size;
}

LogicalResult lower::lowerPad(Lowering &lowering, PadOp op) {
  if (op.getMode() == "constant")
    return lowerConstantPad(lowering, op);
  View view = lowering.view(op.getX());
  if (view.isScalar()) {
    lowering.set(op.getResult(), view);
    return success();
  }
  bool reflects = op.getMode() == "reflect";
  SmallVector<Value> lows, sizes;
  for (OpFoldResult low : lowering.sizes(op.getLow()))
    lows.push_back(lowering.sizeAsIndex(low));
  for (OpFoldResult size : lowering.sizes(op.getX().getType()))
    sizes.push_back(lowering.sizeAsIndex(size));
  auto index = [&](ImplicitLocOpBuilder &body, ValueRange at) {
    SmallVector<Value> from;
    for (size_t axis = 0; axis < lows.size(); ++axis)
      from.push_back(paddedIndex(body, at[axis], lows[axis], sizes[axis],
                                 reflects, mirrorsOnce(op, axis)));
    return from;
  };
  Value condition = isNotEmpty(lowering, op.getX().getType());
  Sizes extents = lowering.sizes(op.getResult().getType());
  lowering.setTensor(op.getResult(),
                     lowering.pick(view, extents, condition, index));
  return success();
}
