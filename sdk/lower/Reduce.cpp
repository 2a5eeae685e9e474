// SPDX-License-Identifier: Apache-2.0
//
// Reductions along axes: linalg.generic with reduction loops over a filled
// accumulator.
#include "sdk/lower/Lowering.h"
#include "sdk/lower/Marks.h"

#include "sdk/dialect/Convert.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace bp;
using namespace bp::lower;

namespace {

/// The shape of a reduction: which loops reduce, and what is left.
struct Plan {
  Iterators iterators;
  AffineMap kept; ///< loops → accumulator
  Sizes sizes;    ///< of the accumulator
};

Plan planReduction(Lowering &lowering, Type type, ArrayRef<int64_t> axes) {
  MLIRContext *context = lowering.builder.getContext();
  Plan plan;
  SmallVector<AffineExpr> exprs;
  for (auto [dim, size] : llvm::enumerate(lowering.sizes(type))) {
    bool reduces = llvm::is_contained(axes, int64_t(dim));
    plan.iterators.push_back(reduces ? utils::IteratorType::reduction
                                     : utils::IteratorType::parallel);
    if (reduces)
      continue;
    exprs.push_back(getAffineDimExpr(dim, context));
    plan.sizes.push_back(size);
  }
  plan.kept = AffineMap::get(plan.iterators.size(), 0, exprs, context);
  return plan;
}

/// Sets the view of a reduced value; kept axes of size 1 have no index in
/// `tensor`. `wide` is the same before it was rounded, or null.
void setReduced(Lowering &lowering, Value bpResult, Value tensor, Value wide,
                ArrayRef<int64_t> axes, bool keep) {
  if (!keep)
    return lowering.setTensor(bpResult, tensor, wide);
  MLIRContext *context = lowering.builder.getContext();
  int64_t rank = cast<RankedTensorType>(bpResult.getType()).getRank();
  SmallVector<AffineExpr> exprs;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(axes, dim))
      exprs.push_back(getAffineDimExpr(dim, context));
  lowering.set(bpResult,
               {tensor, AffineMap::get(rank, 0, exprs, context), wide});
}

/// Floats of 16 bits accumulate in f32, bool in its storage type.
Type accumulatorOf(const Element &element) {
  return element.isBool ? element.storage : element.compute;
}

/// A sum of f32 along outer axes is one long chain of additions for each
/// result, whose rounding errors add up: it accumulates in f64. A sum along the
/// innermost axis has a partial sum for each vector lane.
bool accumulatesWide(ReduceOp op, const Element &element) {
  int64_t rank = cast<RankedTensorType>(op.getX().getType()).getRank();
  return op.getKind() == "sum" && element.compute.isF32() &&
         !llvm::is_contained(op.getAxes(), rank - 1);
}

Value accumulatedElement(ImplicitLocOpBuilder &body, Value stored,
                         const Element &element) {
  Value value = load(body, stored, element);
  return element.isBool ? store(body, value, element) : value;
}

/// A sum in f64 as f32.
Value narrowed(Lowering &lowering, Value tensor, const Sizes &sizes) {
  View input{tensor, lowering.builder.getMultiDimIdentityMap(sizes.size())};
  Type f32 = lowering.builder.getF32Type();
  auto body = [&](ImplicitLocOpBuilder &inner, ValueRange args) {
    return SmallVector<Value>{arith::TruncFOp::create(inner, f32, args[0])};
  };
  return lowering.parallel(input, lowering.empty(sizes, f32), body);
}

/// Whether `value` takes the place of `best`: NaN wins over numbers; of equals
/// the first stays, or the last comes in.
Value wins(ImplicitLocOpBuilder &body, Value value, Value best, ArgReduceOp op,
           const Element &element) {
  bool lowest = op.getKind() == "min";
  if (!element.isFloat()) {
    using Kind = arith::CmpIPredicate;
    Kind below = element.isUnsigned ? (op.getLast() ? Kind::ule : Kind::ult)
                                    : (op.getLast() ? Kind::sle : Kind::slt);
    return lowest ? arith::CmpIOp::create(body, below, value, best)
                  : arith::CmpIOp::create(body, below, best, value);
  }
  using Kind = arith::CmpFPredicate;
  // One that is NaN is better than a number: unordered.
  Kind below = op.getLast() ? Kind::OLE : Kind::ULT;
  Value better = lowest ? arith::CmpFOp::create(body, below, value, best)
                        : arith::CmpFOp::create(body, below, best, value);
  if (op.getLast()) {
    Value isNan = arith::CmpFOp::create(body, Kind::UNO, value, value);
    return arith::OrIOp::create(body, better, isNan);
  }
  Value number = arith::CmpFOp::create(body, Kind::ORD, best, best);
  return arith::AndIOp::create(body, better, number);
}

} // namespace

LogicalResult lower::lowerReduce(Lowering &lowering, ReduceOp op) {
  ArrayRef<int64_t> axes = op.getAxes();
  if (axes.empty()) {
    lowering.set(op.getResult(), lowering.view(op.getX()));
    return success();
  }
  Element element = elementOf(op.getX().getType());
  bool wide = accumulatesWide(op, element);
  Type type = wide ? lowering.builder.getF64Type() : accumulatorOf(element);
  bool marked = element.isFloat() && isHiddenByNan(op);
  Plan plan = planReduction(lowering, op.getX().getType(), axes);
  View input = lowering.permutedView(op.getX()).unrounded();
  Value start =
      lowering.filled(lowering.empty(plan.sizes, type),
                      neutral(op.getKind(), type, element.isUnsigned));
  auto body = [&](ImplicitLocOpBuilder &inner, ValueRange args) {
    Value value = accumulatedElement(inner, args[0], element);
    if (wide)
      value = arith::ExtFOp::create(inner, type, value);
    Value best =
        combine(inner, op.getKind(), args[1], value, element.isUnsigned);
    if (marked)
      best.getDefiningOp()->setAttr(numbersMark, inner.getUnitAttr());
    return SmallVector<Value>{best};
  };
  Value sum = lowering
                  .generic(input.base, start, {input.map, plan.kept},
                           plan.iterators, body)
                  .getResult(0);
  if (wide)
    sum = narrowed(lowering, sum, plan.sizes);
  bool rounds = element.isFloat() && element.converts();
  Value narrow = rounds ? lowering.rounded(sum, element, plan.sizes) : sum;
  setReduced(lowering, op.getResult(), narrow, rounds ? sum : Value(), axes,
             op.getKeep());
  return success();
}

LogicalResult lower::lowerArgReduce(Lowering &lowering, ArgReduceOp op) {
  ImplicitLocOpBuilder &builder = lowering.builder;
  Element element = elementOf(op.getX().getType());
  Type i64 = builder.getI64Type();
  int64_t axis = op.getAxis();
  Plan plan = planReduction(lowering, op.getX().getType(), axis);
  View input = lowering.permutedView(op.getX());
  Value best = lowering.filled(
      lowering.empty(plan.sizes, element.compute),
      neutral(op.getKind(), element.compute, element.isUnsigned));
  Value index = lowering.filled(lowering.empty(plan.sizes, i64),
                                builder.getI64IntegerAttr(0));
  auto body = [&](ImplicitLocOpBuilder &inner, ValueRange args) {
    Value value = load(inner, args[0], element);
    Value better = wins(inner, value, args[1], op, element);
    Value at = linalg::IndexOp::create(inner, axis);
    at = arith::IndexCastOp::create(inner, i64, at);
    return SmallVector<Value>{
        arith::SelectOp::create(inner, better, value, args[1]),
        arith::SelectOp::create(inner, better, at, args[2])};
  };
  auto loops =
      lowering.generic(input.base, {best, index},
                       {input.map, plan.kept, plan.kept}, plan.iterators, body);
  setReduced(lowering, op.getResult(), loops.getResult(1), Value(), axis,
             op.getKeep());
  return success();
}
