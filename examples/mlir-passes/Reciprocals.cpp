// SPDX-License-Identifier: Apache-2.0
//
// Reciprocals.cpp: a pass for machines that multiply sooner than they divide.
// x / 8 becomes x * 0.125: of a power of 2 the reciprocal is exact, and so is
// the result, rounding included.
#include "backplane/mlir/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace {

/// The exact reciprocal of a constant that is the same for all elements.
std::optional<APFloat> reciprocalOf(Value divisor) {
  APFloat value(0.0), reciprocal(0.0);
  if (!matchPattern(divisor, m_ConstantFloat(&value)) ||
      !value.getExactInverse(&reciprocal))
    return std::nullopt;
  return reciprocal;
}

TypedAttr constantOf(Type type, const APFloat &value) {
  if (auto shaped = dyn_cast<ShapedType>(type))
    return DenseElementsAttr::get(shaped, value);
  return FloatAttr::get(type, value);
}

struct Reciprocals : PassWrapper<Reciprocals, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Reciprocals)

  StringRef getArgument() const override { return "acme-mlir-reciprocals"; }
  StringRef getDescription() const override {
    return "Divisions by powers of 2 to products, which are exact";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect>();
  }

  void runOnOperation() override {
    getOperation().walk([](arith::DivFOp division) {
      std::optional<APFloat> reciprocal = reciprocalOf(division.getRhs());
      if (!reciprocal)
        return;
      OpBuilder builder(division);
      Value factor = arith::ConstantOp::create(
          builder, division.getLoc(),
          constantOf(division.getType(), *reciprocal));
      Value product = arith::MulFOp::create(builder, division.getLoc(),
                                            division.getLhs(), factor);
      division.replaceAllUsesWith(product);
      division.erase();
    });
  }
};

} // namespace

void bp_mlir_passes_v0(backplane::PassSink *sink) { sink->put<Reciprocals>(); }
