// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/gpu/AttentionRows.h"

#include "sdk/emit/gpu/Reduction.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace backplane {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

AttentionRows::AttentionRows(const GpuAttention &attention,
                             ContractScope &scores, ContractScope &product,
                             ScoreTile tile)
    : attention(attention), scores(scores), product(product), b(product.b),
      tile(std::move(tile)),
      team(attention.scores.target.groupSize / this->tile.rows) {
  row = product.div(product.thread, team);
  member = product.rem(product.thread, team);
  rowAt = product.add(product.startM, row);
  int64_t groupSize = attention.scores.target.groupSize;
  partials = product.loops.share(groupSize, b.getF32Type());
  if (corrects())
    factors = product.loops.share(this->tile.rows, b.getF32Type());
}

Value AttentionRows::number(double value) {
  return arith::ConstantOp::create(b, b.getF32FloatAttr(float(value)));
}

/// Runs `step` for each first column of neighbours that this invocation has.
FailureOr<AttentionRows::Values>
AttentionRows::forColumns(ValueRange carried, ContractScope::Step step) {
  Value turns = product.index(tile.columns / (team * tile.width));
  return product.forPlaces(turns, 1, carried, [&](Value turn, ValueRange made) {
    Value number = product.add(member, product.mul(turn, team));
    return step(product.mul(number, tile.width), made);
  });
}

/// What `make` makes where the condition holds; null: always.
FailureOr<AttentionRows::Values>
AttentionRows::choose(Value condition, ValueRange otherwise,
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

/// The condition that a column of the block, in this row, is one of the scores.
Value AttentionRows::insideOf(Value first, Value column) {
  Value inside = product.below(rowAt, product.sizeM, tile.rows, Value());
  return product.below(product.add(first, column), product.sizeK, tile.columns,
                       inside);
}

/// Where the element of this row and a column of the scores is in a tensor: all
/// have the same order.
AttentionRows::Values AttentionRows::placeIn(Value tensor, Value column) {
  Values place;
  for (unsigned loop : product.c.outer)
    place.push_back(product.at[loop]);
  place.push_back(rowAt);
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

/// Tells the reader this score, and what is known of the row.
void AttentionRows::know(Value score) {
  linalg::GenericOp op = attention.scores.op;
  scores.reader.know(op.getResult(0), score);
  for (auto [result, value] : known)
    scores.reader.know(result, value);
}

/// What the whole team has made of its parts.
Value AttentionRows::meet(Value memory, Value own, Value start,
                          function_ref<Value(Value, Value)> combine) {
  memref::StoreOp::create(b, own, memory, product.thread);
  gpu::BarrierOp::create(b);
  Value all = start, first = product.mul(row, team);
  for (int64_t i = 0; i < team; ++i) {
    Value part =
        memref::LoadOp::create(b, memory, product.add(first, product.index(i)));
    all = all ? combine(all, part) : part;
  }
  return all;
}

/* ---- Reductions ---- */

/// The input that has an element for each of the loops.
static Value wholeInput(linalg::GenericOp op) {
  for (OpOperand *input : op.getDpsInputOperands())
    if (op.getMatchingIndexingMap(input).isIdentity())
      return input->get();
  llvm_unreachable("a reduction of rows reads them");
}

Value AttentionRows::startReduction(const RowReduction &reduction) {
  return arith::ConstantOp::create(b, reduction.init);
}

FailureOr<Value> AttentionRows::reduce(const RowReduction &reduction,
                                       Value first, Value partial) {
  linalg::GenericOp op = reduction.op;
  auto step = [&](Value column, ValueRange carried) -> FailureOr<Values> {
    Values sums(carried);
    for (int64_t i = 0; i < tile.width; ++i) {
      Value at = product.add(column, product.index(i));
      auto next = choose(insideOf(first, at), sums, [&] {
        ElementReader::Scope scope(scores.reader);
        know(tile.load(row, at));
        return scores.reader.runBody(
            op, placeIn(wholeInput(op), product.add(first, at)), sums);
      });
      if (failed(next))
        return failure();
      sums = *next;
    }
    return sums;
  };
  auto sums = forColumns(partial, step);
  if (failed(sums))
    return failure();
  return sums->front();
}

void AttentionRows::finishReduction(const RowReduction &reduction,
                                    Value partial) {
  linalg::GenericOp op = reduction.op;
  Value memory = partial.getType().isF32()
                     ? partials
                     : product.loops.share(attention.scores.target.groupSize,
                                           partial.getType());
  // The others may still read what they had of the reduction before.
  gpu::BarrierOp::create(b);
  Value all = meet(memory, partial, Value(), [&](Value sum, Value part) {
    return combinePartial(b, reduction.combiner, reduction.sumOperand, sum,
                          part);
  });
  known.push_back({op.getResult(0), all});
}

/* ---- Weights ---- */

AttentionRows::Values AttentionRows::start() {
  return corrects() ? Values{number(-kInfinity), number(0)} : Values();
}

FailureOr<AttentionRows::Values> AttentionRows::weigh(Value first,
                                                      ValueRange carried) {
  if (corrects())
    return weighSoftmax(first, carried);
  auto step = [&](Value column, ValueRange) -> FailureOr<Values> {
    Values weights;
    for (int64_t i = 0; i < tile.width; ++i) {
      Value at = product.add(column, product.index(i));
      auto weight = choose(insideOf(first, at), number(0), [&] {
        return readWhole(attention.weights, first, at);
      });
      if (failed(weight))
        return failure();
      weights.push_back(weight->front());
    }
    tile.keep(row, column, weights);
    return Values();
  };
  auto done = forColumns({}, step);
  gpu::BarrierOp::create(b);
  return done;
}

/// An element, as f32, of what is made of the scores of this row.
FailureOr<AttentionRows::Values>
AttentionRows::readWhole(Value tensor, Value first, Value column) {
  ElementReader::Scope scope(scores.reader);
  know(tile.load(row, column));
  Value element =
      scores.reader.read(tensor, placeIn(tensor, product.add(first, column)));
  if (!element)
    return failure();
  if (!element.getType().isF32())
    element = arith::ExtFOp::create(b, b.getF32Type(), element);
  return Values{element};
}

/* ---- Softmax ---- */

/// The maximum, or zero where nothing above -infinity was seen: powers of its
/// scores are zeros then.
Value AttentionRows::safe(Value top) {
  Value none = number(-kInfinity);
  Value isNone = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, top, none);
  return arith::SelectOp::create(b, isNone, number(0), top);
}

static Value larger(ImplicitLocOpBuilder &b, Value x, Value y) {
  return arith::MaximumFOp::create(b, x, y);
}

static Value power(ImplicitLocOpBuilder &b, Value x, Value top) {
  return math::ExpOp::create(b, arith::SubFOp::create(b, x, top).getResult());
}

/// Whether the ops in front of the softmax read memory, as masks are.
static bool readsMemory(const GpuAttention &attention) {
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

/// What the ops in front of the softmax make of scores takes their place.
/// Invocations side by side have columns side by side, as masks have them.
LogicalResult AttentionRows::prepareScores(Value first) {
  Value rows = wholeInput(attention.softmax->top);
  int64_t group = attention.scores.target.groupSize;
  Value turns = product.index(tile.rows * tile.columns / group);
  Value ownRow = row, ownRowAt = rowAt;
  auto step = [&](Value turn, ValueRange) -> FailureOr<Values> {
    Value place = product.add(product.thread, product.mul(turn, group));
    Value line = product.div(place, tile.span);
    row = product.rem(line, tile.rows);
    Value column =
        product.add(product.mul(product.div(line, tile.rows), tile.span),
                    product.rem(place, tile.span));
    rowAt = product.add(product.startM, row);
    auto score = choose(insideOf(first, column), number(-kInfinity),
                        [&] { return readWhole(rows, first, column); });
    if (failed(score))
      return failure();
    tile.store(row, column, score->front());
    return Values();
  };
  auto done = product.forPlaces(turns, 1, {}, step);
  row = ownRow;
  rowAt = ownRowAt;
  gpu::BarrierOp::create(b);
  return done;
}

/// The largest score that this invocation has, of those that the ops in front
/// of the softmax make, which take the place of the scores.
FailureOr<Value> AttentionRows::largestScore(Value first) {
  Value rows = wholeInput(attention.softmax->top);
  bool isMade = readsMemory(attention);
  if (isMade && failed(prepareScores(first)))
    return failure();
  auto step = [&](Value column, ValueRange carried) -> FailureOr<Values> {
    Value largest = carried.front();
    for (int64_t i = 0; i < tile.width; ++i) {
      Value at = product.add(column, product.index(i));
      if (isMade) {
        largest = larger(b, largest, tile.load(row, at));
        continue;
      }
      auto score = choose(insideOf(first, at), number(-kInfinity),
                          [&] { return readWhole(rows, first, at); });
      if (failed(score))
        return failure();
      tile.store(row, at, score->front());
      largest = larger(b, largest, score->front());
    }
    return Values{largest};
  };
  auto largest = forColumns(number(-kInfinity), step);
  if (failed(largest))
    return failure();
  return largest->front();
}

/// Makes weights of the scores, and adds them up.
Value AttentionRows::keepPowers(Value top) {
  auto step = [&](Value column, ValueRange carried) -> FailureOr<Values> {
    Value sum = carried.front();
    Values weights;
    for (int64_t i = 0; i < tile.width; ++i) {
      Value score = tile.load(row, product.add(column, product.index(i)));
      weights.push_back(power(b, score, top));
      sum = arith::AddFOp::create(b, sum, weights.back());
    }
    tile.keep(row, column, weights);
    return Values{sum};
  };
  return forColumns(number(0), step)->front();
}

FailureOr<AttentionRows::Values>
AttentionRows::weighSoftmax(Value first, ValueRange carried) {
  auto largest = largestScore(first);
  if (failed(largest))
    return failure();
  Value before = carried[0];
  Value top = meet(partials, *largest, before,
                   [&](Value x, Value y) { return larger(b, x, y); });
  Value reference = safe(top);
  Value correction = power(b, before, reference);
  storeFactor(correction);
  Value sum = arith::MulFOp::create(b, carried[1], correction);
  sum = arith::AddFOp::create(b, sum, keepPowers(reference));
  gpu::BarrierOp::create(b);
  return Values{top, sum};
}

/// One of the team does it for all.
void AttentionRows::storeFactor(Value factor) {
  Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, member,
                                        product.index(0));
  auto branch = scf::IfOp::create(b, isFirst);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  memref::StoreOp::create(b, factor, factors, row);
}

Value AttentionRows::factor(Value row) {
  return memref::LoadOp::create(b, factors, row);
}

/// A number of this row that the body of an op makes.
FailureOr<Value> AttentionRows::readRow(linalg::GenericOp op,
                                        const GpuOperand &operand) {
  auto element = scores.readOperand(op, operand,
                                    placeIn(op.getResult(0), product.index(0)));
  if (succeeded(element) && !element->getType().isF32())
    element = Value(arith::ExtFOp::create(b, b.getF32Type(), *element));
  return element;
}

/// Sums so far are of exp(row - reference); the ops say exp(row - shift), and
/// what to divide by. Of no columns the sum is zero whatever they say.
FailureOr<AttentionRows::Values> AttentionRows::lastFactor(Value top,
                                                           Value sum) {
  RunningSoftmax softmax = *attention.softmax;
  ElementReader::Scope scope(scores.reader);
  scores.reader.know(softmax.top.getResult(0), top);
  auto shift = readRow(softmax.powers, softmax.shift);
  if (failed(shift))
    return failure();
  Value scale = power(b, safe(top), *shift);
  Value total = arith::MulFOp::create(b, sum, scale);
  scores.reader.know(softmax.sum.getResult(0), total);
  auto divisor = readRow(softmax.share, softmax.divisor);
  if (failed(divisor))
    return failure();
  Value factor = softmax.divides
                     ? arith::DivFOp::create(b, scale, *divisor).getResult()
                     : arith::MulFOp::create(b, scale, *divisor).getResult();
  Value none = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, product.sizeK,
                                     product.index(0));
  return Values{arith::SelectOp::create(b, none, number(1), factor)};
}

LogicalResult AttentionRows::finish(ValueRange carried) {
  if (!corrects())
    return success();
  gpu::BarrierOp::create(b);
  Value sum = meet(partials, carried[1], Value(), [&](Value x, Value y) {
    return arith::AddFOp::create(b, x, y);
  });
  Value inside = product.below(rowAt, product.sizeM, tile.rows, Value());
  auto factor =
      choose(inside, number(1), [&] { return lastFactor(carried[0], sum); });
  if (failed(factor))
    return failure();
  storeFactor(factor->front());
  gpu::BarrierOp::create(b);
  return success();
}

} // namespace backplane
