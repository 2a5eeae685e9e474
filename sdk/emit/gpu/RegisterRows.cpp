// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/gpu/RegisterRows.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <cmath>

using namespace mlir;

namespace backplane {

RegisterRows::RegisterRows(const GpuAttention &attention, MatrixScope &scores,
                           MatrixScope &product, int64_t exponent)
    : attention(attention), scores(scores), product(product), b(product.b),
      reader(attention, scores, product), exponent(exponent) {
  const MatrixPlan &plan = scores.plan;
  int64_t each = plan.instruction->layoutC.elements();
  for (int64_t i = 0; i < plan.rows * plan.columns * each; ++i)
    if (int64_t row = scores.placeOf(size_t(i)).row;
        !llvm::is_contained(rows, row))
      rows.push_back(row);
  own = scores.placeOfLane(plan.instruction->layoutC);
  own.row = scores.add(
      own.row, scores.mul(scores.subgroupM, plan.rows * plan.instruction->m));
}

size_t RegisterRows::rowOf(const MatrixScope &scope, size_t number) const {
  return size_t(llvm::find(rows, scope.placeOf(number).row) - rows.begin());
}

/// Where a row of this lane is in the product.
Value RegisterRows::rowAt(size_t row) {
  return product.add(product.add(product.startM, own.row),
                     product.index(rows[row]));
}

Value RegisterRows::columnOf(Value first, size_t number) {
  return scores.add(scores.add(first, own.column),
                    scores.index(scores.placeOf(number).column));
}

/// What the lanes of a row have made of their parts.
Value RegisterRows::meet(Value all, function_ref<Value(Value, Value)> combine) {
  auto lanes = int32_t(scores.c.target.clusterSize);
  for (auto [bit, place] :
       llvm::enumerate(scores.plan.instruction->layoutC.lane))
    if (place.row == 0) {
      auto other = gpu::ShuffleOp::create(b, all, 1 << bit, lanes,
                                          gpu::ShuffleMode::XOR);
      all = combine(all, other.getShuffleResult());
    }
  return all;
}

RegisterRows::Values RegisterRows::start() {
  Values all(rows.size(), reader.unseen());
  all.append(rows.size(), reader.number(0));
  return all;
}

Value RegisterRows::withinColumns(Value end) {
  end = b.createOrFold<arith::MaxSIOp>(end, product.index(0));
  return b.createOrFold<arith::MinSIOp>(end, product.sizeK);
}

/// Those of the first and the last row bound what is between, unless another
/// stretch of rows begins there.
LogicalResult RegisterRows::findTileEnds(bool repeats) {
  int64_t distance = scores.plan.tileM() - 1;
  Value lastRow = product.add(product.startM, product.index(distance));
  auto both = reader.endsOfColumns({product.startM, lastRow});
  if (failed(both))
    return failure();
  Value first = both->front(), last = both->back();
  firstEnd = withinColumns(first);
  lastEnd = withinColumns(last);
  if (!repeats)
    return success();
  Value isOne =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, last,
                            product.add(first, product.index(distance)));
  firstEnd = arith::SelectOp::create(b, isOne, firstEnd, product.index(0));
  lastEnd = arith::SelectOp::create(b, isOne, lastEnd, product.sizeK);
  return success();
}

/// Later rows see more: their work-groups come first, so that no long one is
/// left to the end.
void RegisterRows::reverseTiles() {
  int64_t rowsOfTile = scores.plan.tileM();
  Value tiles = b.createOrFold<arith::CeilDivUIOp>(product.sizeM,
                                                   product.index(rowsOfTile));
  Value last = product.mul(
      b.createOrFold<arith::SubIOp>(tiles, product.index(1)), rowsOfTile);
  product.startM = b.createOrFold<arith::SubIOp>(last, product.startM);
  scores.startM = product.startM;
}

LogicalResult RegisterRows::begin() {
  auto form = reader.findForm();
  if (failed(form))
    return failure();
  if (form->isPlain)
    onlyScale = reader.scale();
  ends.assign(rows.size(), product.sizeK);
  firstEnd = lastEnd = product.sizeK;
  if (!form->hasEnd)
    return success();
  reverseTiles();
  if (failed(findTileEnds(form->repeats)))
    return failure();
  if (!onlyScale)
    return success();
  Values places;
  for (size_t row = 0; row < rows.size(); ++row)
    places.push_back(rowAt(row));
  auto all = reader.endsOfColumns(places);
  if (failed(all))
    return failure();
  for (auto [end, own] : llvm::zip(ends, *all))
    end = withinColumns(own);
  return success();
}

/// The scores as the softmax reads them, of a block that may reach beyond the
/// last column of a row.
RegisterRows::Values RegisterRows::hideBeyond(Value first,
                                              ValueRange scoresOfBlock) {
  Value none = reader.unseen();
  int64_t columns = scores.plan.tileN();
  bool toTheEnd = !onlyScale || firstEnd == product.sizeK;
  if (toTheEnd && !product.below(first, product.sizeK, columns, Value()))
    return scoresOfBlock;
  Value end = product.add(first, product.index(columns));
  Value isCut = arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, end,
                                      toTheEnd ? product.sizeK : firstEnd);
  auto branch = scf::IfOp::create(b, scoresOfBlock.getTypes(), isCut,
                                  /*withElse=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(branch.elseBlock());
  scf::YieldOp::create(b, scoresOfBlock);
  b.setInsertionPointToEnd(branch.thenBlock());
  Values hidden;
  for (auto [i, score] : llvm::enumerate(scoresOfBlock)) {
    Value inside =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ult, columnOf(first, i),
                              ends[rowOf(scores, i)]);
    hidden.push_back(arith::SelectOp::create(b, inside, score, none));
  }
  scf::YieldOp::create(b, hidden);
  return Values(branch.getResults());
}

/// What the ops in front of the softmax make of the scores. Those that read
/// memory do so for places within the scores alone.
FailureOr<RegisterRows::Values> RegisterRows::prepare(Value first,
                                                      ValueRange sums) {
  if (onlyScale)
    return hideBeyond(first, sums);
  bool reads = reader.readsMemory();
  Value tensor = wholeInput(attention.softmax->top);
  Values all;
  for (auto [i, sum] : llvm::enumerate(sums)) {
    Value row = rowAt(rowOf(scores, i)), column = columnOf(first, i);
    Value inside, score = scaled(b, attention, sum);
    if (reads) {
      inside = product.below(row, product.sizeM, scores.plan.tileM(), Value());
      inside =
          product.below(column, product.sizeK, scores.plan.tileN(), inside);
    }
    auto made = reader.chooseOne(inside, reader.unseen(), [&] {
      return reader.read(tensor, row, column, score);
    });
    if (failed(made))
      return failure();
    all.push_back(*made);
  }
  return reads ? all : hideBeyond(first, all);
}

FailureOr<RegisterRows::Values>
RegisterRows::weigh(Value first, ValueRange carried, Values &sums) {
  auto made = prepare(first, sums);
  if (failed(made))
    return failure();
  size_t count = rows.size();
  Values next(carried);
  for (auto [i, score] : llvm::enumerate(*made)) {
    Value &top = next[rowOf(scores, i)];
    top = arith::MaximumFOp::create(b, top, score);
  }
  const MatrixUnit &unit = *product.plan.unit;
  double scale = onlyScale.value_or(1);
  Values shifts;
  factors.clear();
  for (size_t row = 0; row < count; ++row) {
    Value &top = next[row], &sum = next[count + row];
    top = meet(top, [&](Value x, Value y) -> Value {
      return arith::MaximumFOp::create(b, x, y);
    });
    shifts.push_back(unit.shift(b, reader.safe(top), scale, exponent));
    Value before = unit.shift(b, carried[row], scale, exponent);
    Value change = arith::SubFOp::create(b, shifts.back(), before);
    factors.push_back(reader.weight(unit.shiftBy(b, change)));
    sum = arith::MulFOp::create(b, sum, factors.back());
  }
  for (auto [i, score] : llvm::enumerate(*made)) {
    size_t row = rowOf(scores, i);
    sums[i] = reader.weight(unit.exp(b, score, scale, shifts[row]));
    Value &sum = next[count + row];
    sum = arith::AddFOp::create(b, sum, sums[i]);
  }
  return next;
}

LogicalResult RegisterRows::finish(ValueRange carried) {
  factors.clear();
  Value small = reader.number(std::ldexp(1.0, -int(exponent)));
  for (size_t row = 0; row < rows.size(); ++row) {
    Value sum =
        meet(carried[rows.size() + row], [&](Value x, Value y) -> Value {
          return arith::AddFOp::create(b, x, y);
        });
    sum = arith::MulFOp::create(b, sum, small);
    Value top = carried[row];
    if (onlyScale)
      top = scaled(b, attention, top);
    auto factor = reader.lastFactor(rowAt(row), scores.plan.tileM(), top, sum);
    if (failed(factor))
      return failure();
    factors.push_back(arith::MulFOp::create(b, *factor, small));
  }
  return success();
}

void RegisterRows::scaleSums(Values &sums) {
  for (auto [i, sum] : llvm::enumerate(sums))
    sum = arith::MulFOp::create(b, sum, factors[rowOf(product, i)]);
}

} // namespace backplane
