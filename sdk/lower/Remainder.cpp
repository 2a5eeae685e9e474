// SPDX-License-Identifier: Apache-2.0
//
// The remainder of floats, by subtraction: every step is exact.
#include "sdk/lower/Lowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace bp;
using namespace bp::lower;

namespace {

Value number(ImplicitLocOpBuilder &b, Type type, double value) {
  return arith::ConstantOp::create(b, b.getFloatAttr(type, value));
}

/// Doubles the divisor to just below the dividend, then goes back down,
/// subtracting: every step is exact.
Value scaledUp(ImplicitLocOpBuilder &b, Value divisor, Value dividend) {
  auto loop = scf::WhileOp::create(
      b, TypeRange(divisor.getType()), ValueRange(divisor),
      [&](OpBuilder &nested, Location loc, ValueRange args) {
        Value twice = arith::AddFOp::create(nested, loc, args[0], args[0]);
        Value fits = arith::CmpFOp::create(
            nested, loc, arith::CmpFPredicate::OLE, twice, dividend);
        scf::ConditionOp::create(nested, loc, fits, args);
      },
      [&](OpBuilder &nested, Location loc, ValueRange args) {
        Value twice = arith::AddFOp::create(nested, loc, args[0], args[0]);
        scf::YieldOp::create(nested, loc, twice);
      });
  return loop.getResult(0);
}

Value subtractDown(ImplicitLocOpBuilder &b, Value dividend, Value top,
                   Value divisor) {
  Value half = number(b, dividend.getType(), 0.5);
  auto loop = scf::WhileOp::create(
      b, TypeRange{dividend.getType(), top.getType()},
      ValueRange{dividend, top},
      [&](OpBuilder &nested, Location loc, ValueRange args) {
        Value more = arith::CmpFOp::create(
            nested, loc, arith::CmpFPredicate::OGE, args[1], divisor);
        scf::ConditionOp::create(nested, loc, more, args);
      },
      [&](OpBuilder &nested, Location loc, ValueRange args) {
        Value fits = arith::CmpFOp::create(
            nested, loc, arith::CmpFPredicate::OGE, args[0], args[1]);
        Value less = arith::SubFOp::create(nested, loc, args[0], args[1]);
        Value next = arith::SelectOp::create(nested, loc, fits, less, args[0]);
        Value smaller = arith::MulFOp::create(nested, loc, args[1], half);
        scf::YieldOp::create(nested, loc, ValueRange{next, smaller});
      });
  return loop.getResult(0);
}

} // namespace

Value lower::floatRemainder(ImplicitLocOpBuilder &b, Value x, Value y) {
  auto constant = [&](double value) { return number(b, x.getType(), value); };
  auto compare = [&](arith::CmpFPredicate kind, Value left, Value right) {
    return arith::CmpFOp::create(b, kind, left, right);
  };
  auto select = [&](Value condition, Value left, Value right) {
    return arith::SelectOp::create(b, condition, left, right);
  };
  Value infinity = constant(std::numeric_limits<double>::infinity());
  Value most = math::AbsFOp::create(b, x), least = math::AbsFOp::create(b, y);
  Value invalid = arith::OrIOp::create(
      b, compare(arith::CmpFPredicate::UEQ, most, infinity),
      compare(arith::CmpFPredicate::UEQ, least, constant(0)));
  Value unchanged = compare(arith::CmpFPredicate::OLT, most, least);
  Value trivial = arith::OrIOp::create(b, invalid, unchanged);
  Value dividend = select(trivial, constant(1), most);
  Value divisor = select(trivial, constant(1), least);
  Value top = scaledUp(b, divisor, dividend);
  Value rest = subtractDown(b, dividend, top, divisor);
  rest = math::CopySignOp::create(b, rest, x);
  Value nan = constant(std::numeric_limits<double>::quiet_NaN());
  return select(invalid, nan, select(unchanged, x, rest));
}
