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

/// The type of the value, scalar or vector, with another element.
static Type withElement(Type type, Type element) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? Type(vector.clone(element)) : element;
}

/// A scalar, or a vector of it, as `like` is.
static Value constantLike(OpBuilder &builder, Location loc, Value like,
                          TypedAttr value) {
  auto vector = dyn_cast<VectorType>(like.getType());
  if (!vector)
    return arith::ConstantOp::create(builder, loc, value);
  return arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(vector.clone(value.getType()), Attribute(value)));
}

static Value bitsOf(OpBuilder &builder, Location loc, Value value) {
  Type element = getElementTypeOrSelf(value.getType());
  Type bits = builder.getIntegerType(element.getIntOrFloatBitWidth());
  return arith::BitcastOp::create(builder, loc,
                                  withElement(value.getType(), bits), value);
}

static Value isNan(OpBuilder &builder, Location loc, Value value) {
  return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNO, value,
                               value);
}

SmallVector<Value> LaneEmitter::startExtreme(Value value) {
  return {value, bitsOf(builder, loc, value), isNan(builder, loc, value)};
}

/// The three values with one more element. Lanes outside have none.
SmallVector<Value> LaneEmitter::extendExtreme(const Lanes &at,
                                              ValueRange carried) {
  SmallVector<Value> arguments = loadInputs(at);
  arguments.push_back(carried[0]);
  Value value = cloneBody(
      builder, loc, *op.getBody(), arguments, width,
      [&](unsigned number) { return indexOf(number, at); },
      extremeOperand(op))[0];
  value = broadcastTo(builder, loc, value, width);
  if (at.mask) {
    TypedAttr none = *arith::getNeutralElement(findCombiner(op, 0));
    value = arith::SelectOp::create(builder, loc, at.mask, value,
                                    constantLike(builder, loc, value, none));
  }
  return joinExtremes(carried, startExtreme(value));
}

/// The three values of all elements of both.
SmallVector<Value> LaneEmitter::joinExtremes(ValueRange a, ValueRange b) {
  bool maximum = isMaximum(op);
  Value better = arith::CmpFOp::create(builder, loc,
                                       maximum ? arith::CmpFPredicate::OGT
                                               : arith::CmpFPredicate::OLT,
                                       b[0], a[0]);
  Value best = arith::SelectOp::create(builder, loc, better, b[0], a[0]);
  Value signs =
      maximum ? arith::AndIOp::create(builder, loc, a[1], b[1]).getResult()
              : arith::OrIOp::create(builder, loc, a[1], b[1]).getResult();
  return {best, signs, arith::OrIOp::create(builder, loc, a[2], b[2])};
}

/// The three values of all lanes.
SmallVector<Value> LaneEmitter::reduceExtremes(ValueRange carried) {
  using Kind = vector::CombiningKind;
  bool maximum = isMaximum(op);
  auto reduce = [&](Kind kind, Value vector, arith::FastMathFlags flags = {}) {
    return vector::ReductionOp::create(builder, loc, kind, vector, flags);
  };
  // No lane is NaN, and a zero has its sign elsewhere.
  Value best = reduce(maximum ? Kind::MAXNUMF : Kind::MINNUMF, carried[0],
                      arith::FastMathFlags::nnan | arith::FastMathFlags::nsz);
  Value bits = carried[1];
  auto word = cast<IntegerType>(getElementTypeOrSelf(bits.getType()));
  Value negative = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::slt, bits,
      constantLike(builder, loc, bits, builder.getIntegerAttr(word, 0)));
  Value sign = arith::ExtSIOp::create(
      builder, loc, word, reduce(maximum ? Kind::AND : Kind::OR, negative));
  return {best, sign, reduce(Kind::OR, carried[2])};
}

/// What the three values are, of one element or of lanes.
Value LaneEmitter::finishExtreme(ValueRange carried) {
  Value number = carried[0];
  auto floats = cast<FloatType>(getElementTypeOrSelf(number.getType()));
  auto constant = [&](TypedAttr value) {
    return constantLike(builder, loc, number, value);
  };
  Type word = builder.getIntegerType(floats.getWidth());
  APInt mask = APInt::getSignMask(floats.getWidth());
  Value sign = arith::AndIOp::create(
      builder, loc, carried[1], constant(builder.getIntegerAttr(word, mask)));
  Value zero = arith::BitcastOp::create(builder, loc, number.getType(), sign);
  Value isZero =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, number,
                            constant(builder.getFloatAttr(floats, 0.0)));
  Value best = arith::SelectOp::create(builder, loc, isZero, zero, number);
  auto nan = APFloat::getQNaN(floats.getFloatSemantics());
  return arith::SelectOp::create(builder, loc, carried[2],
                                 constant(FloatAttr::get(floats, nan)), best);
}

/// The extreme of `old` and of all lanes of `unroll` carried triples.
Value LaneEmitter::finishRow(ValueRange carried, int64_t unroll, Value old) {
  SmallVector<Value> row(carried.take_front(3));
  for (int64_t i = 1; i < unroll; ++i)
    row = joinExtremes(row, carried.slice(i * 3, 3));
  row = joinExtremes(reduceExtremes(row), startExtreme(old));
  return finishExtreme(row);
}

} // namespace backplane
