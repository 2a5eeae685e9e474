// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/gpu/AttentionRows.h"

#include "sdk/emit/gpu/Reduction.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace backplane {

AttentionRows::AttentionRows(const GpuAttention &attention,
                             ContractScope &scores, ContractScope &product,
                             ScoreTile tile)
    : attention(attention), product(product), b(product.b),
      reader(attention, scores, product), tile(std::move(tile)),
      team(attention.scores.target.groupSize / this->tile.rows) {
  row = product.div(product.thread, team);
  member = product.rem(product.thread, team);
  rowAt = product.add(product.startM, row);
  int64_t groupSize = attention.scores.target.groupSize;
  partials = product.loops.share(groupSize, b.getF32Type());
  if (corrects())
    factors = product.loops.share(this->tile.rows, b.getF32Type());
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

/// The condition that a column of the block, in this row, is one of the scores.
Value AttentionRows::insideOf(Value first, Value column) {
  Value inside = product.below(rowAt, product.sizeM, tile.rows, Value());
  return product.below(product.add(first, column), product.sizeK, tile.columns,
                       inside);
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
      auto next = reader.choose(insideOf(first, at), sums, [&] {
        return reader.reduce(op, rowAt, product.add(first, at),
                             tile.load(row, at), sums);
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
  reader.knowOfRow(op.getResult(0), all);
}

/* ---- Weights ---- */

AttentionRows::Values AttentionRows::start() {
  return corrects() ? Values{reader.unseen(), reader.number(0)} : Values();
}

FailureOr<AttentionRows::Values> AttentionRows::weigh(Value first,
                                                      ValueRange carried) {
  if (corrects())
    return weighSoftmax(first, carried);
  auto step = [&](Value column, ValueRange) -> FailureOr<Values> {
    Values weights;
    for (int64_t i = 0; i < tile.width; ++i) {
      Value at = product.add(column, product.index(i));
      auto weight =
          reader.chooseOne(insideOf(first, at), reader.number(0), [&] {
            return readWhole(attention.weights, first, at);
          });
      if (failed(weight))
        return failure();
      weights.push_back(*weight);
    }
    tile.keep(row, column, weights);
    return Values();
  };
  auto done = forColumns({}, step);
  gpu::BarrierOp::create(b);
  return done;
}

/// An element, as f32, of what is made of the scores of this row.
FailureOr<Value> AttentionRows::readWhole(Value tensor, Value first,
                                          Value column) {
  return reader.read(tensor, rowAt, product.add(first, column),
                     tile.load(row, column));
}

/* ---- Softmax ---- */

static Value larger(ImplicitLocOpBuilder &b, Value x, Value y) {
  return arith::MaximumFOp::create(b, x, y);
}

static Value power(ImplicitLocOpBuilder &b, Value x, Value top) {
  return math::ExpOp::create(b, arith::SubFOp::create(b, x, top).getResult());
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
    auto score =
        reader.chooseOne(insideOf(first, column), reader.unseen(),
                         [&] { return readWhole(rows, first, column); });
    if (failed(score))
      return failure();
    tile.store(row, column, *score);
    return Values();
  };
  auto done = product.forPlaces(turns, 1, {}, step);
  row = ownRow;
  rowAt = ownRowAt;
  gpu::BarrierOp::create(b);
  return done;
}

/// A score as the softmax reads it, where nothing else is read. It is loaded
/// whether it is one or not: under a condition that says where it is, LLVM
/// would load one place in all invocations, while others store to it.
FailureOr<Value> AttentionRows::ownScore(Value first, Value column) {
  auto score = readWhole(wholeInput(attention.softmax->top), first, column);
  Value inside = insideOf(first, column);
  if (failed(score))
    return failure();
  if (!inside)
    return score;
  return Value(arith::SelectOp::create(b, inside, *score, reader.unseen()));
}

/// The largest score that this invocation has, of those that the ops in front
/// of the softmax make, which take the place of the scores.
FailureOr<Value> AttentionRows::largestScore(Value first) {
  bool isMade = reader.readsMemory();
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
      auto score = ownScore(first, at);
      if (failed(score))
        return failure();
      tile.store(row, at, *score);
      largest = larger(b, largest, *score);
    }
    return Values{largest};
  };
  auto largest = forColumns(reader.unseen(), step);
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
      weights.push_back(reader.weight(power(b, score, top)));
      sum = arith::AddFOp::create(b, sum, weights.back());
    }
    tile.keep(row, column, weights);
    return Values{sum};
  };
  return forColumns(reader.number(0), step)->front();
}

FailureOr<AttentionRows::Values>
AttentionRows::weighSoftmax(Value first, ValueRange carried) {
  auto largest = largestScore(first);
  if (failed(largest))
    return failure();
  Value before = carried[0];
  Value top = meet(partials, *largest, before,
                   [&](Value x, Value y) { return larger(b, x, y); });
  Value reference = reader.safe(top);
  Value correction = reader.weight(power(b, before, reference));
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

LogicalResult AttentionRows::finish(ValueRange carried) {
  if (!corrects())
    return success();
  gpu::BarrierOp::create(b);
  Value sum = meet(partials, carried[1], Value(), [&](Value x, Value y) {
    return arith::AddFOp::create(b, x, y);
  });
  auto factor = reader.lastFactor(rowAt, tile.rows, carried[0], sum);
  if (failed(factor))
    return failure();
  storeFactor(*factor);
  gpu::BarrierOp::create(b);
  return success();
}

} // namespace backplane
