// SPDX-License-Identifier: Apache-2.0
//
// Maxima and minima of floats on machines whose instruction for the larger of
// two forgets NaN and does not order zeros. That NaN wins, and -0 is below +0,
// is made up for at the end: three values are carried for one,
//
//   best     the extreme of the numbers, a zero of any sign
//   signs    whether all elements are negative (some, for a minimum): the sign
//            of a zero that is the extreme
//   unordered  whether an element is NaN
//
// of which the second and the third cost half an instruction each, or less.
#include "sdk/emit/cpu/LaneAccess.h"
#include "sdk/emit/cpu/LaneEmitter.h"
#include "sdk/lower/Marks.h"

using namespace mlir;

namespace backplane {

/// What the only result is the extreme of, or none.
static Value extremeOperand(linalg::GenericOp op) {
  Operation *combiner =
      op.getNumDpsInits() == 1 ? findCombiner(op, 0) : nullptr;
  if (!isa_and_nonnull<arith::MaximumFOp, arith::MinimumFOp>(combiner) ||
      combiner->hasAttr(bp::lower::numbersMark))
    return {};
  Value accumulator = op.getBody()->getArguments().back();
  Value first = combiner->getOperand(0), second = combiner->getOperand(1);
  return first == accumulator ? second : first;
}

static bool isMaximum(linalg::GenericOp op) {
  return isa<arith::MaximumFOp>(findCombiner(op, 0));
}

bool LaneEmitter::splitsExtremes() {
  if (!extremesForget || op.getNumReductionLoops() == 0)
    return false;
  Value operand = extremeOperand(op);
  return operand && (operand.getType().isF32() || operand.getType().isF64());
}

Value LaneEmitter::bitsOf(Value vector) {
  Type element = getElementTypeOrSelf(vector.getType());
  Type bits = builder.getIntegerType(element.getIntOrFloatBitWidth());
  return arith::BitcastOp::create(builder, loc, width.of(bits), vector);
}

static Value isNan(OpBuilder &builder, Location loc, Value value) {
  return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNO, value,
                               value);
}

SmallVector<Value> LaneEmitter::startExtreme(Value value) {
  return {value, bitsOf(value), isNan(builder, loc, value)};
}

/// The three values with one more element.
SmallVector<Value> LaneEmitter::extendExtreme(const Lanes &at,
                                              ValueRange carried) {
  SmallVector<Value> arguments = loadInputs(at);
  arguments.push_back(carried[0]);
  Value value = cloneBody(
      builder, loc, *op.getBody(), arguments, width,
      [&](unsigned number) { return indexOf(number, at); },
      extremeOperand(op))[0];
  value = broadcastTo(builder, loc, value, width);
  bool maximum = isMaximum(op);
  Value better = arith::CmpFOp::create(builder, loc,
                                       maximum ? arith::CmpFPredicate::OGT
                                               : arith::CmpFPredicate::OLT,
                                       value, carried[0]);
  Value best = arith::SelectOp::create(builder, loc, better, value, carried[0]);
  Value bits = bitsOf(value);
  Value signs =
      maximum
          ? arith::AndIOp::create(builder, loc, carried[1], bits).getResult()
          : arith::OrIOp::create(builder, loc, carried[1], bits).getResult();
  Value unordered = arith::OrIOp::create(builder, loc, carried[2],
                                         isNan(builder, loc, value));
  return {best, signs, unordered};
}

/// What the three values are.
Value LaneEmitter::finishExtreme(ValueRange carried) {
  auto type = cast<VectorType>(carried[0].getType());
  auto floats = cast<FloatType>(type.getElementType());
  auto splat = [&](TypedAttr value) -> Value {
    auto vector = width.of(value.getType());
    return arith::ConstantOp::create(
        builder, loc, DenseElementsAttr::get(vector, Attribute(value)));
  };
  Type word = builder.getIntegerType(floats.getWidth());
  APInt mask = APInt::getSignMask(floats.getWidth());
  Value sign = arith::AndIOp::create(builder, loc, carried[1],
                                     splat(builder.getIntegerAttr(word, mask)));
  Value zero = arith::BitcastOp::create(builder, loc, type, sign);
  Value isZero =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, carried[0],
                            splat(builder.getFloatAttr(floats, 0.0)));
  Value best = arith::SelectOp::create(builder, loc, isZero, zero, carried[0]);
  auto nan = APFloat::getQNaN(floats.getFloatSemantics());
  return arith::SelectOp::create(builder, loc, carried[2],
                                 splat(FloatAttr::get(floats, nan)), best);
}

} // namespace backplane
