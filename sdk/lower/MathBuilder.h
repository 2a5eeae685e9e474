// SPDX-License-Identifier: Apache-2.0
//
// MathBuilder.h: arithmetic on a float and its bits, or on a vector of floats,
// alike. For what is computed in steps: functions, and formats that no
// instruction converts.
//
// A builder has one format, f32 or f64, and one shape; constants are splats of
// that shape. Nothing here is fast-math: orders of operations are kept.
#ifndef BACKPLANE_LOWER_MATHBUILDER_H
#define BACKPLANE_LOWER_MATHBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace bp::lower {

class MathBuilder {
public:
  using Value = mlir::Value;
  using Coefficients = llvm::ArrayRef<double>;

  /// `type`: f32 or f64 or a vector of them. `scales`: the target multiplies
  /// by powers of 2 in one instruction.
  MathBuilder(mlir::ImplicitLocOpBuilder &b, mlir::Type type,
              bool scales = false)
      : b(b), type(type), integers(like(b.getIntegerType(width()))),
        scales(scales) {}

  /// The same shape in another format.
  MathBuilder f64() { return {b, like(b.getF64Type()), scales}; }

  bool isF64() const { return width() == 64; }
  bool isVector() const { return mlir::isa<mlir::VectorType>(type); }
  int64_t mantissa() const { return isF64() ? 52 : 23; }
  int64_t bias() const { return isF64() ? 1023 : 127; }
  /// Added to a small number, it leaves the nearest integer in the low bits.
  double magic() const { return isF64() ? 0x1.8p52 : 0x1.8p23; }
  double infinity() const { return std::numeric_limits<double>::infinity(); }
  double nan() const { return std::numeric_limits<double>::quiet_NaN(); }

  // ---- constants ----
  Value f(double value) {
    return constant(b.getFloatAttr(mlir::getElementTypeOrSelf(type), value));
  }
  Value i(int64_t value) {
    return constant(
        b.getIntegerAttr(mlir::getElementTypeOrSelf(integers),
                         llvm::APInt(width(), uint64_t(value), false, true)));
  }

  // ---- floats ----
  Value add(Value x, Value y) { return mlir::arith::AddFOp::create(b, x, y); }
  Value sub(Value x, Value y) { return mlir::arith::SubFOp::create(b, x, y); }
  Value mul(Value x, Value y) { return mlir::arith::MulFOp::create(b, x, y); }
  Value div(Value x, Value y) { return mlir::arith::DivFOp::create(b, x, y); }
  Value neg(Value x) { return mlir::arith::NegFOp::create(b, x); }
  Value abs(Value x) { return mlir::math::AbsFOp::create(b, x); }
  Value sqrt(Value x) { return mlir::math::SqrtOp::create(b, x); }
  Value floor(Value x) { return mlir::math::FloorOp::create(b, x); }
  Value trunc(Value x) { return mlir::math::TruncOp::create(b, x); }
  Value roundEven(Value x) { return mlir::math::RoundEvenOp::create(b, x); }
  Value fma(Value x, Value y, Value z) {
    return mlir::math::FmaOp::create(b, x, y, z);
  }
  Value copySign(Value magnitude, Value sign) {
    return mlir::math::CopySignOp::create(b, magnitude, sign);
  }
  /// c[0] + c[1] x + …
  Value poly(Coefficients c, Value x) {
    Value sum = f(c.back());
    for (double coefficient : llvm::reverse(c.drop_back()))
      sum = fma(sum, x, f(coefficient));
    return sum;
  }

  // ---- bits ----
  Value bits(Value x) { return mlir::arith::BitcastOp::create(b, integers, x); }
  Value fromBits(Value x) { return mlir::arith::BitcastOp::create(b, type, x); }
  Value addI(Value x, Value y) { return mlir::arith::AddIOp::create(b, x, y); }
  Value subI(Value x, Value y) { return mlir::arith::SubIOp::create(b, x, y); }
  Value andI(Value x, Value y) { return mlir::arith::AndIOp::create(b, x, y); }
  Value orI(Value x, Value y) { return mlir::arith::OrIOp::create(b, x, y); }
  Value xorI(Value x, Value y) { return mlir::arith::XOrIOp::create(b, x, y); }
  Value shl(Value x, int64_t n) {
    return mlir::arith::ShLIOp::create(b, x, i(n));
  }
  Value sar(Value x, int64_t n) {
    return mlir::arith::ShRSIOp::create(b, x, i(n));
  }
  Value shr(Value x, int64_t n) {
    return mlir::arith::ShRUIOp::create(b, x, i(n));
  }
  /// A small integer as a float, and the integer of an integral float.
  Value fromInteger(Value x) {
    Value base = f(magic());
    return sub(fromBits(addI(x, bits(base))), base);
  }
  Value toInteger(Value x) {
    Value base = f(magic());
    return subI(bits(add(x, base)), bits(base));
  }
  /// 2 to an integer within the range of normal exponents.
  Value power2(Value x) {
    return fromBits(shl(addI(x, i(bias())), mantissa()));
  }

  /// 2 to (x - bias); only those bits of x count that an exponent has.
  Value fromExponent(Value x) { return fromBits(shl(x, mantissa())); }

  /// Whether `scale` is to be had.
  bool canScale() const { return scales; }
  /// x times 2 to an integer, with one rounding.
  Value scale(Value x, Value power) {
    if (isF64())
      power = mlir::arith::TruncIOp::create(b, like(b.getI32Type()), power);
    return mlir::LLVM::CallIntrinsicOp::create(b, type,
                                               b.getStringAttr("llvm.ldexp"),
                                               mlir::ValueRange{x, power})
        .getResult(0);
  }

  // ---- conditions ----
  Value less(Value x, Value y) { return compare(Kind::OLT, x, y); }
  Value equal(Value x, Value y) { return compare(Kind::OEQ, x, y); }
  Value differ(Value x, Value y) { return compare(Kind::UNE, x, y); }
  /// Of integers without sign.
  Value below(Value x, int64_t y) {
    return mlir::arith::CmpIOp::create(b, mlir::arith::CmpIPredicate::ult, x,
                                       i(y));
  }
  Value isOdd(Value x) { return hasBit(x, 0); }
  Value hasBit(Value x, unsigned bit) {
    return mlir::arith::CmpIOp::create(b, mlir::arith::CmpIPredicate::ne,
                                       andI(x, i(int64_t(1) << bit)), i(0));
  }
  Value both(Value x, Value y) { return mlir::arith::AndIOp::create(b, x, y); }
  Value either(Value x, Value y) { return mlir::arith::OrIOp::create(b, x, y); }
  Value select(Value condition, Value x, Value y) {
    return mlir::arith::SelectOp::create(b, condition, x, y);
  }
  /// Within bounds; NaN stays.
  Value clamp(Value x, double low, double high) {
    Value raised = select(less(x, f(low)), f(low), x);
    return select(less(f(high), raised), f(high), raised);
  }

  /// An integer and a float.
  using Parts = std::pair<Value, Value>;
  /// By a branch: `common` where the condition, a vector of any shape, holds
  /// for all lanes, else `rare`, which has to be right for such lanes too.
  Parts ifAll(Value condition, llvm::function_ref<Parts()> common,
              llvm::function_ref<Parts()> rare) {
    Value all = mlir::vector::ReductionOp::create(
        b, mlir::vector::CombiningKind::AND, condition);
    auto choice = mlir::scf::IfOp::create(b, {integers, type}, all, true, true);
    auto fill = [&](mlir::Block *block, llvm::function_ref<Parts()> make) {
      mlir::OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(block);
      Parts parts = make();
      mlir::scf::YieldOp::create(b,
                                 mlir::ValueRange{parts.first, parts.second});
    };
    fill(choice.thenBlock(), common);
    fill(choice.elseBlock(), rare);
    return {choice.getResult(0), choice.getResult(1)};
  }

  // ---- other formats ----
  Value extend(Value x) { return mlir::arith::ExtFOp::create(b, type, x); }
  Value narrow(Value x, mlir::Type to) {
    return mlir::arith::TruncFOp::create(b, to, x);
  }

private:
  using Kind = mlir::arith::CmpFPredicate;

  unsigned width() const {
    return mlir::getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  }
  mlir::Type like(mlir::Type element) const {
    if (auto vector = mlir::dyn_cast<mlir::VectorType>(type))
      return vector.clone(element);
    return element;
  }
  Value constant(mlir::TypedAttr value) {
    auto vector = mlir::dyn_cast<mlir::VectorType>(type);
    if (!vector)
      return mlir::arith::ConstantOp::create(b, value);
    auto splat = mlir::DenseElementsAttr::get(vector.clone(value.getType()),
                                              mlir::Attribute(value));
    return mlir::arith::ConstantOp::create(b, splat);
  }
  Value compare(Kind kind, Value x, Value y) {
    return mlir::arith::CmpFOp::create(b, kind, x, y);
  }
  mlir::ImplicitLocOpBuilder &b;
  mlir::Type type, integers;
  bool scales;
};

// The functions, in the format of the builder. ExpandExp.cpp, ExpandLog.cpp,
// ExpandTrigonometry.cpp, ExpandErf.cpp.
mlir::Value expandExp(MathBuilder &m, mlir::Value x);
/// The same for x not above 0, or NaN.
mlir::Value expOfNotPositive(MathBuilder &m, mlir::Value x);
mlir::Value expandExpM1(MathBuilder &m, mlir::Value x);
mlir::Value expandTanh(MathBuilder &m, mlir::Value x);
mlir::Value expandLog(MathBuilder &m, mlir::Value x);
mlir::Value expandLog1p(MathBuilder &m, mlir::Value x);
mlir::Value expandPow(MathBuilder &m, mlir::Value x, mlir::Value y);
mlir::Value expandSin(MathBuilder &m, mlir::Value x);
mlir::Value expandCos(MathBuilder &m, mlir::Value x);
mlir::Value expandTan(MathBuilder &m, mlir::Value x);
mlir::Value expandAsin(MathBuilder &m, mlir::Value x);
mlir::Value expandAcos(MathBuilder &m, mlir::Value x);
mlir::Value expandAtan(MathBuilder &m, mlir::Value x);
mlir::Value expandSinh(MathBuilder &m, mlir::Value x);
mlir::Value expandCosh(MathBuilder &m, mlir::Value x);
mlir::Value expandAsinh(MathBuilder &m, mlir::Value x);
mlir::Value expandAcosh(MathBuilder &m, mlir::Value x);
mlir::Value expandAtanh(MathBuilder &m, mlir::Value x);
mlir::Value expandErf(MathBuilder &m, mlir::Value x);
mlir::Value expandRsqrt(MathBuilder &m, mlir::Value x);

/// exp(x + rest) for x within [-746, 710] (f64) or [-104, 89] (f32), or NaN;
/// `rest` is tiny and may be null.
mlir::Value expInRange(MathBuilder &m, mlir::Value x, mlir::Value rest);

/// exp(x) for x between -80 and 80, or NaN.
mlir::Value expOfModerate(MathBuilder &m, mlir::Value x);

/// x = quadrant * pi / 2 + rest + low, |rest| <= pi / 4.
struct Angle {
  mlir::Value quadrant; ///< an integer; only its low two bits mean something
  mlir::Value rest, low;
};
/// Any f64; ReduceAngle.cpp.
Angle reduceWide(MathBuilder &m, mlir::Value x);

/// A sum of two floats, the second below the last place of the first.
struct Pair {
  mlir::Value high, low;
};
/// log(x) of an f64 to about 2^-60; ±infinity for 0 and infinity, NaN for NaN,
/// anything for negative x.
Pair logPair(MathBuilder &m, mlir::Value x);

} // namespace bp::lower

#endif // BACKPLANE_LOWER_MATHBUILDER_H
