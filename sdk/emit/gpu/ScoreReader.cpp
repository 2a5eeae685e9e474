// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/gpu/ScoreReader.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace backplane {

Value wholeInput(linalg::GenericOp op) {
  for (OpOperand *input : op.getDpsInputOperands())
    if (op.getMatchingIndexingMap(input).isIdentity())
      return input->get();
  llvm_unreachable("a reduction of rows reads them");
}

Value ScoreReader::number(double value) {
  return arith::ConstantOp::create(b, b.getF32FloatAttr(float(value)));
}

Value ScoreReader::unseen() {
  return number(-std::numeric_limits<double>::infinity());
}

FailureOr<Value> ScoreReader::chooseOne(Value condition, Value otherwise,
                                        function_ref<FailureOr<Value>()> make) {
  auto made = choose(condition, otherwise, [&]() -> FailureOr<Values> {
    auto one = make();
    if (failed(one))
      return failure();
    return Values{*one};
  });
  if (failed(made))
    return failure();
  return made->front();
}

FailureOr<ScoreReader::Values>
ScoreReader::choose(Value condition, ValueRange otherwise,
                    function_ref<FailureOr<Values>()> make) {
  if (!condition)
    return make();
  auto branch =
      scf::IfOp::create(b, otherwise.getTypes(), condition, /*withElse=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(branch.elseBlock());
  scf::YieldOp::create(b, otherwise);
  b.setInsertionPointToEnd(branch.thenBlock());
  auto made = make();
  if (failed(made))
    return failure();
  scf::YieldOp::create(b, *made);
  return Values(branch.getResults());
}

/// Where the element of a row and a column of the scores is in a tensor: all
/// have the same order.
ScoreReader::Values ScoreReader::placeIn(Value tensor, Value row,
                                         Value column) {
  Values place;
  for (unsigned loop : product.c.outer)
    place.push_back(product.at[loop]);
  place.push_back(row);
  auto from = cast<RankedTensorType>(attention.weights.getType());
  auto to = cast<RankedTensorType>(tensor.getType());
  if (from.getShape() != to.getShape()) {
    SmallVector<OpFoldResult> sizes, parts;
    for (unsigned loop : product.c.outer)
      sizes.push_back(getAsOpFoldResult(product.loops.sizes[loop]));
    sizes.push_back(getAsOpFoldResult(product.sizeM));
    for (int64_t axis = 0; axis + 1 < to.getRank(); ++axis)
      parts.push_back(
          getAsOpFoldResult(scores.reader.size(b.getLoc(), tensor, axis)));
    Value number = affine::AffineLinearizeIndexOp::create(b, place, sizes,
                                                          /*disjoint=*/true);
    auto split = affine::AffineDelinearizeIndexOp::create(
        b, number, parts, /*hasOuterBound=*/true);
    place.assign(split.getResults().begin(), split.getResults().end());
  }
  place.push_back(column);
  return place;
}

/// Tells the reader this score, and what is known of its row.
void ScoreReader::know(Value score) {
  linalg::GenericOp op = attention.scores.op;
  scores.reader.know(op.getResult(0), score);
  for (auto [tensor, number] : ofRow)
    scores.reader.know(tensor, number);
}

FailureOr<Value> ScoreReader::read(Value tensor, Value row, Value column,
                                   Value score) {
  ElementReader::Scope scope(scores.reader);
  know(score);
  Value element = scores.reader.read(tensor, placeIn(tensor, row, column));
  if (!element)
    return failure();
  if (!element.getType().isF32())
    element = arith::ExtFOp::create(b, b.getF32Type(), element);
  return element;
}

FailureOr<ScoreReader::Values> ScoreReader::reduce(linalg::GenericOp op,
                                                   Value row, Value column,
                                                   Value score,
                                                   ValueRange carried) {
  ElementReader::Scope scope(scores.reader);
  know(score);
  return scores.reader.runBody(op, placeIn(wholeInput(op), row, column),
                               carried);
}

bool ScoreReader::readsMemory() const {
  llvm::SetVector<Operation *> work;
  auto reach = [&](Value value) {
    Operation *op = value.getDefiningOp();
    if (op && op != attention.scores.op)
      work.insert(op);
  };
  reach(wholeInput(attention.softmax->top));
  for (size_t i = 0; i < work.size(); ++i) {
    if (isa<bufferization::ToTensorOp>(work[i]))
      return true;
    for (Value operand : work[i]->getOperands())
      reach(operand);
  }
  return false;
}

std::optional<double> ScoreReader::scale() const {
  double all = 1;
  for (const ScoreScale &scale : attention.scales) {
    auto number = dyn_cast<FloatAttr>(scale.number);
    if (!number)
      return std::nullopt;
    double by = number.getValueAsDouble();
    all *= scale.divides ? 1 / by : by;
  }
  // Within what f32 has, so that no rounding of it matters.
  constexpr double kSmall = 1e-30, kLarge = 1e30;
  return all > kSmall && all < kLarge ? std::optional(all) : std::nullopt;
}

Value ScoreReader::safe(Value top) {
  Value isNone =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, top, unseen());
  return arith::SelectOp::create(b, isNone, number(0), top);
}

/// The larger one of a number and of zero, which none is below.
Value ScoreReader::weight(Value power) {
  if (!attention.softmax->zeroesNan)
    return power;
  return arith::MaxNumFOp::create(b, power, number(0));
}

/// A number of this row that the body of an op makes.
FailureOr<Value> ScoreReader::readRow(linalg::GenericOp op, Value row,
                                      const GpuOperand &operand) {
  auto element = scores.readOperand(
      op, operand, placeIn(op.getResult(0), row, product.index(0)));
  if (succeeded(element) && !element->getType().isF32())
    element = Value(arith::ExtFOp::create(b, b.getF32Type(), *element));
  return element;
}

/// The ops say exp(row - shift), and what to divide by.
FailureOr<Value> ScoreReader::lastFactorInside(Value row, Value top,
                                               Value sum) {
  RunningSoftmax softmax = *attention.softmax;
  ElementReader::Scope scope(scores.reader);
  scores.reader.know(softmax.top.getResult(0), top);
  auto shift = readRow(softmax.powers, row, softmax.shift);
  if (failed(shift))
    return failure();
  Value distance = arith::SubFOp::create(b, safe(top), *shift);
  Value scale = math::ExpOp::create(b, distance);
  Value total = arith::MulFOp::create(b, sum, scale);
  scores.reader.know(softmax.sum.getResult(0), total);
  auto divisor = readRow(softmax.share, row, softmax.divisor);
  if (failed(divisor))
    return failure();
  Value factor = softmax.divides
                     ? arith::DivFOp::create(b, scale, *divisor).getResult()
                     : arith::MulFOp::create(b, scale, *divisor).getResult();
  if (softmax.zeroesNan) {
    Value isNone =
        arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, factor, factor);
    factor = arith::SelectOp::create(b, isNone, number(0), factor);
  }
  Value none = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, product.sizeK,
                                     product.index(0));
  return Value(arith::SelectOp::create(b, none, number(1), factor));
}

FailureOr<Value> ScoreReader::lastFactor(Value row, int64_t tileRows, Value top,
                                         Value sum) {
  Value inside = product.below(row, product.sizeM, tileRows, Value());
  return chooseOne(inside, number(1),
                   [&] { return lastFactorInside(row, top, sum); });
}

} // namespace backplane
