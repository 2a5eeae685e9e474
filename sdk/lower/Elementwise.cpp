// SPDX-License-Identifier: Apache-2.0
//
// Elementwise ops: each becomes one linalg.generic over the dims of its result.
#include "sdk/lower/Lowering.h"
#include "sdk/lower/Marks.h"

#include "backplane/kernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace bp;
using namespace bp::lower;

namespace {

/// The operands of one element, ready to compute with.
struct Scalars {
  Lowering &lowering;
  ImplicitLocOpBuilder &body;
  SmallVector<Value> args;
  Element element; ///< of the first operand
  bool reports;    ///< the error word is to be set on bad data

  Type type() const { return element.compute; }
  Value number(double value) {
    return arith::ConstantOp::create(body, body.getFloatAttr(type(), value));
  }
  Value integer(int64_t value) {
    return arith::ConstantOp::create(body, body.getIntegerAttr(type(), value));
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(body, condition, a, b);
  }
  Value equals(Value a, Value b) {
    return arith::CmpIOp::create(body, arith::CmpIPredicate::eq, a, b);
  }
  Value compare(arith::CmpFPredicate kind, Value a, Value b) {
    return arith::CmpFOp::create(body, kind, a, b);
  }
};

template <typename Op> Value unary(Scalars &s) {
  return Op::create(s.body, s.args[0]);
}

using ScalarBuilder = Value (*)(Scalars &);

/// neg and abs of the floats that do not compute as they are stored, on their
/// bits, so that a NaN keeps its own.
Value signOfBits(ImplicitLocOpBuilder &body, Value stored, bool negates) {
  Type type = stored.getType();
  unsigned width = type.getIntOrFloatBitWidth();
  APInt sign = APInt::getSignMask(width);
  Type integers = body.getIntegerType(width);
  Value bits = arith::BitcastOp::create(body, integers, stored);
  Value mask = arith::ConstantOp::create(
      body, body.getIntegerAttr(integers, negates ? sign : ~sign));
  Value changed = negates ? arith::XOrIOp::create(body, bits, mask).getResult()
                          : arith::AndIOp::create(body, bits, mask).getResult();
  return arith::BitcastOp::create(body, type, changed);
}

Value negate(Scalars &s) {
  if (s.element.isFloat())
    return arith::NegFOp::create(s.body, s.args[0]);
  return arith::SubIOp::create(s.body, s.integer(0), s.args[0]);
}

Value absolute(Scalars &s) {
  if (s.element.isFloat())
    return math::AbsFOp::create(s.body, s.args[0]);
  if (s.element.isUnsigned)
    return s.args[0];
  Value zero = s.integer(0);
  Value negative =
      arith::CmpIOp::create(s.body, arith::CmpIPredicate::slt, s.args[0], zero);
  return s.select(negative, negate(s), s.args[0]);
}

Value sign(Scalars &s) {
  Value zero = s.number(0), x = s.args[0];
  Value magnitude = s.number(1);
  Value unit = math::CopySignOp::create(s.body, magnitude, x);
  Value proper = s.compare(arith::CmpFPredicate::ONE, x, zero);
  return s.select(proper, unit, x);
}

Value invert(Scalars &s) {
  return arith::XOrIOp::create(s.body, s.args[0], s.integer(-1));
}

Value isNan(Scalars &s) {
  return s.compare(arith::CmpFPredicate::UNO, s.args[0], s.args[0]);
}

Value isInf(Scalars &s) {
  Value infinity = s.number(std::numeric_limits<double>::infinity());
  return s.compare(arith::CmpFPredicate::OEQ, absolute(s), infinity);
}

Value reciprocal(Scalars &s) {
  return arith::DivFOp::create(s.body, s.number(1), s.args[0]);
}

template <typename Float, typename Integer = Float> Value binary(Scalars &s) {
  if (s.element.isFloat())
    return Float::create(s.body, s.args[0], s.args[1]);
  return Integer::create(s.body, s.args[0], s.args[1]);
}

/// A quotient or remainder whose bad divisors report, give 0, and never reach
/// the machine; neither does the lowest value over -1.
template <typename Signed, typename Unsigned, bool isRemainder>
Value divide(Scalars &s) {
  Value a = s.args[0], b = s.args[1], zero = s.integer(0), one = s.integer(1);
  Value bad = s.equals(b, zero);
  if (s.reports)
    s.lowering.report(s.body, bad, BP_KERNEL_ERROR_DIVISION);
  if (s.element.isUnsigned) {
    Value safe = s.select(bad, one, b);
    return s.select(bad, zero, Unsigned::create(s.body, a, safe));
  }
  Value flips = s.equals(b, s.integer(-1));
  Value unsafe = arith::OrIOp::create(s.body, bad, flips);
  Value result = Signed::create(s.body, a, s.select(unsafe, one, b));
  Value flipped = isRemainder ? zero : negate(s);
  return s.select(bad, zero, s.select(flips, flipped, result));
}

Value remainder(Scalars &s) {
  if (s.element.isFloat())
    return floatRemainder(s.body, s.args[0], s.args[1]);
  return divide<arith::RemSIOp, arith::RemUIOp, true>(s);
}

Value quotient(Scalars &s) {
  if (s.element.isFloat())
    return arith::DivFOp::create(s.body, s.args[0], s.args[1]);
  return divide<arith::DivSIOp, arith::DivUIOp, false>(s);
}

/// A shift by at least the width, for which the machine has no result, gives
/// zero.
template <typename Shift> Value shiftToZero(Scalars &s) {
  Value width = s.integer(s.type().getIntOrFloatBitWidth());
  Value inside = arith::CmpIOp::create(s.body, arith::CmpIPredicate::ult,
                                       s.args[1], width);
  Value by = s.select(inside, s.args[1], s.integer(0));
  return s.select(inside, Shift::create(s.body, s.args[0], by), s.integer(0));
}

Value shiftRight(Scalars &s) {
  if (s.element.isUnsigned)
    return shiftToZero<arith::ShRUIOp>(s);
  Value most = s.integer(s.type().getIntOrFloatBitWidth() - 1);
  Value by = arith::MinUIOp::create(s.body, s.args[1], most);
  return arith::ShRSIOp::create(s.body, s.args[0], by);
}

Value minimumOf(Scalars &s) {
  return combine(s.body, "min", s.args[0], s.args[1], s.element.isUnsigned);
}

Value maximumOf(Scalars &s) {
  return combine(s.body, "max", s.args[0], s.args[1], s.element.isUnsigned);
}

/// Ops without attributes.
ScalarBuilder plainOp(StringRef name) {
  return llvm::StringSwitch<ScalarBuilder>(name)
      .Case("neg", negate)
      .Case("abs", absolute)
      .Case("sign", sign)
      .Case("not", invert)
      .Case("is_nan", isNan)
      .Case("is_inf", isInf)
      .Case("recip", reciprocal)
      .Case("add", binary<arith::AddFOp, arith::AddIOp>)
      .Case("sub", binary<arith::SubFOp, arith::SubIOp>)
      .Case("mul", binary<arith::MulFOp, arith::MulIOp>)
      .Case("min", minimumOf)
      .Case("max", maximumOf)
      .Case("div", quotient)
      .Case("rem", remainder)
      .Case("pow", binary<math::PowFOp>)
      .Case("and", binary<arith::AndIOp>)
      .Case("or", binary<arith::OrIOp>)
      .Case("shl", shiftToZero<arith::ShLIOp>)
      .Case("shr", shiftRight)
      .Case("xor", binary<arith::XOrIOp>)
      // Of floats alone.
      .Case("floor", unary<math::FloorOp>)
      .Case("ceil", unary<math::CeilOp>)
      .Case("round_even", unary<math::RoundEvenOp>)
      .Case("trunc", unary<math::TruncOp>)
      .Case("sqrt", unary<math::SqrtOp>)
      .Case("rsqrt", unary<math::RsqrtOp>)
      .Case("exp", unary<math::ExpOp>)
      .Case("expm1", unary<math::ExpM1Op>)
      .Case("log", unary<math::LogOp>)
      .Case("log1p", unary<math::Log1pOp>)
      .Case("sin", unary<math::SinOp>)
      .Case("cos", unary<math::CosOp>)
      .Case("tan", unary<math::TanOp>)
      .Case("asin", unary<math::AsinOp>)
      .Case("acos", unary<math::AcosOp>)
      .Case("atan", unary<math::AtanOp>)
      .Case("sinh", unary<math::SinhOp>)
      .Case("cosh", unary<math::CoshOp>)
      .Case("asinh", unary<math::AsinhOp>)
      .Case("acosh", unary<math::AcoshOp>)
      .Case("atanh", unary<math::AtanhOp>)
      .Case("tanh", unary<math::TanhOp>)
      .Case("erf", unary<math::ErfOp>)
      .Default(nullptr);
}

Value compareFloats(Scalars &s, StringRef direction) {
  auto kind = llvm::StringSwitch<arith::CmpFPredicate>(direction)
                  .Case("eq", arith::CmpFPredicate::OEQ)
                  .Case("ne", arith::CmpFPredicate::UNE)
                  .Case("lt", arith::CmpFPredicate::OLT)
                  .Case("le", arith::CmpFPredicate::OLE)
                  .Case("gt", arith::CmpFPredicate::OGT)
                  .Default(arith::CmpFPredicate::OGE);
  return s.compare(kind, s.args[0], s.args[1]);
}

Value compareIntegers(Scalars &s, StringRef direction) {
  using Kind = arith::CmpIPredicate;
  bool isUnsigned = s.element.isUnsigned;
  auto kind = llvm::StringSwitch<Kind>(direction)
                  .Case("eq", Kind::eq)
                  .Case("ne", Kind::ne)
                  .Case("lt", isUnsigned ? Kind::ult : Kind::slt)
                  .Case("le", isUnsigned ? Kind::ule : Kind::sle)
                  .Case("gt", isUnsigned ? Kind::ugt : Kind::sgt)
                  .Default(isUnsigned ? Kind::uge : Kind::sge);
  return arith::CmpIOp::create(s.body, kind, s.args[0], s.args[1]);
}

Value scalarOf(Operation *op, Scalars &s, const Element &result) {
  if (auto compare = dyn_cast<CompareOp>(op))
    return s.element.isFloat() ? compareFloats(s, compare.getDirection())
                               : compareIntegers(s, compare.getDirection());
  if (isa<CastOp>(op))
    return castScalar(s.body, s.args[0], s.element, result);
  return plainOp(op->getName().stripDialect())(s);
}

bool isLowered(Operation *op) {
  return isa<CompareOp, CastOp, SelectOp>(op) ||
         plainOp(op->getName().stripDialect()) != nullptr;
}

} // namespace

std::optional<APInt> lower::knownInteger(Value bpValue) {
  while (isa_and_nonnull<BroadcastOp, ReshapeOp, TransposeOp>(
      bpValue.getDefiningOp()))
    bpValue = bpValue.getDefiningOp()->getOperand(0);
  APInt value;
  return matchPattern(bpValue, m_ConstantInt(&value)) ? std::optional(value)
                                                      : std::nullopt;
}

/// Integer divisions by what is not known to differ from zero.
static bool mayDivideByZero(Operation *op) {
  if (!isa<DivOp, RemOp>(op) ||
      isa<FloatType>(getElementTypeOrSelf(op->getOperand(1))))
    return false;
  std::optional<APInt> divisor = knownInteger(op->getOperand(1));
  return !divisor || divisor->isZero();
}

bool lower::mayReport(Operation *op) {
  return isa<GatherOp, ScatterOp>(op) || mayDivideByZero(op);
}

/// What needs no arithmetic is done on elements as they are stored.
static Value movedElement(Operation *op, ImplicitLocOpBuilder &body,
                          ValueRange args) {
  if (isa<NegOp, AbsOp>(op))
    return signOfBits(body, args[0], isa<NegOp>(op));
  Element condition = elementOf(op->getOperand(0).getType());
  return arith::SelectOp::create(body, load(body, args[0], condition), args[1],
                                 args[2]);
}

/// Ops that decide, or that the user wrote to round, see what was rounded: two
/// dispatches then decide alike.
static bool seesRounded(Operation *op) {
  return isa<CompareOp, CastOp, IsNanOp, IsInfOp, SignOp, FloorOp, CeilOp,
             RoundEvenOp, TruncOp, RemOp>(op);
}

/// Copies the value when an operand is a whole tensor: nothing to compute.
static bool isNoCast(Operation *op) {
  return isa<CastOp>(op) && getElementTypeOrSelf(op->getOperand(0)) ==
                                getElementTypeOrSelf(op->getResult(0));
}

namespace {

/// One elementwise op, on operands as they are stored or were computed.
class ElementwiseLowering {
public:
  ElementwiseLowering(Lowering &lowering, Operation *op)
      : lowering(lowering), op(op), to(elementOf(op->getResult(0).getType())) {
    for (Value operand : op->getOperands()) {
      stored.push_back(lowering.view(operand));
      computed.push_back(stored.back().unrounded());
      elements.push_back(elementOf(operand.getType()));
    }
  }

  void run() {
    Value result = op->getResult(0);
    bool isNarrow = to.isFloat() && to.converts();
    bool moves = isa<SelectOp>(op) || (isNarrow && isa<NegOp, AbsOp>(op));
    bool hasWide =
        llvm::any_of(stored, [](const View &view) { return bool(view.wide); });
    if (isNarrow && !moves && !seesRounded(op))
      return lowering.setComputed(result, compute());
    if (!moves)
      return lowering.setTensor(result, store());
    Value moved = move();
    lowering.setTensor(result, moved,
                       isNarrow && hasWide ? compute() : Value());
  }

private:
  Value scalar(ImplicitLocOpBuilder &body, ValueRange args) {
    SmallVector<Value> loaded;
    for (auto [arg, element] : llvm::zip(args, elements))
      loaded.push_back(load(body, arg, element));
    if (isa<SelectOp>(op))
      return arith::SelectOp::create(body, loaded[0], loaded[1], loaded[2]);
    Scalars scalars{lowering, body, loaded, elements[0], mayReport(op)};
    Value result = scalarOf(op, scalars, to);
    if (isShare(op))
      result.getDefiningOp()->setAttr(shareMark, body.getUnitAttr());
    if (isBelowMaximum(op))
      result.getDefiningOp()->setAttr(notPositiveMark, body.getUnitAttr());
    return result;
  }

  Value loops(ArrayRef<View> inputs, Type type,
              function_ref<Value(ImplicitLocOpBuilder &, ValueRange)> one) {
    Value output = lowering.emptyLike(op->getResult(0).getType(), type);
    return lowering.parallel(inputs, output,
                             [&](ImplicitLocOpBuilder &body, ValueRange args) {
                               return SmallVector<Value>{one(body, args)};
                             });
  }

  /// In the compute type, from what was not rounded.
  Value compute() {
    return loops(computed, to.compute,
                 [&](ImplicitLocOpBuilder &body, ValueRange args) {
                   return scalar(body, args);
                 });
  }

  Value store() {
    return loops(stored, to.storage,
                 [&](ImplicitLocOpBuilder &body, ValueRange args) {
                   return lower::store(body, scalar(body, args), to);
                 });
  }

  Value move() {
    return loops(stored, to.storage,
                 [&](ImplicitLocOpBuilder &body, ValueRange args) {
                   return movedElement(op, body, args);
                 });
  }

  Lowering &lowering;
  Operation *op;
  Element to;
  SmallVector<View> stored, computed;
  SmallVector<Element> elements;
};

} // namespace

LogicalResult lower::lowerElementwise(Lowering &lowering, Operation *op) {
  if (!isLowered(op))
    return op->emitOpError("has no lowering to linalg; decompose it first");
  if (isNoCast(op))
    lowering.set(op->getResult(0), lowering.view(op->getOperand(0)));
  else
    ElementwiseLowering(lowering, op).run();
  return success();
}
