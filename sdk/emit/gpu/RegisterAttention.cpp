// SPDX-License-Identifier: Apache-2.0
//
// Attention whose scores stay in registers, as the sums that matrix
// instructions leave are the factors that they take:
//
//   copy rows of Q and the first block of K and V to memory of the work-group
//   for each block:
//     wait for its copies, begin those of the next one
//     scores = Q * K, weights of them, correct the sums
//     sums += weights * V
//   finish and store the sums
//
// A row belongs to the lanes of one subgroup. Products are of fragments, or of
// several subgroups that read K and V from memory. These go on while lanes do
// something else: scores are a block ahead, and while weights are made of them
// the products of the block before are under way.
#include "sdk/emit/gpu/AttentionLoops.h"
#include "sdk/emit/gpu/Launch.h"
#include "sdk/emit/gpu/RegisterLoops.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace backplane {

/* ---- Memory ---- */

/// Blocks have barriers instead.
void RegisterLoops::endGroup() {
  if (!plan.copiesBlocks())
    (plan.scores.copiesLines() ? scores : sums).endGroup();
}

void RegisterLoops::waitForGroups(int64_t open) {
  if (!plan.copiesBlocks())
    (plan.scores.copiesLines() ? scores : sums).waitForGroups(open);
}

void RegisterLoops::makeBarriers() {
  if (!plan.copiesBlocks())
    return;
  scores.barrierWord = plan.barriersAt();
  sums.barrierWord = plan.barriersAt() + RegisterPlan::kBarrierWords;
  sums.byOne([&] {
    scores.makeBarriers();
    sums.makeBarriers();
  });
  gpu::BarrierOp::create(b);
}

void RegisterLoops::waitForKeys(Value first) {
  if (plan.copiesBlocks())
    scores.waitForBlock(scores.div(first, plan.keys()));
}

void RegisterLoops::waitForValues(Value first) {
  if (plan.copiesBlocks())
    sums.waitForBlock(sums.div(first, plan.keys()));
}

/// Begins to copy the block of a factor from a row and a k on, as one
/// invocation for all; `more` are bytes that come to the same barrier.
static void copyBlock(MatrixScope &scope, Value block, Value place, Value row,
                      Value k, int64_t more = 0) {
  const StagedFactor &factor = scope.plan.b;
  Value barrier = scope.barrierOf(scope.rem(block, scope.plan.stages));
  scope.plan.unit->blockCopies()->expect(scope.b, barrier,
                                         factor.bytes() + more);
  scope.copyBlocks(factor, place, row, k, barrier);
}

/// The first word of the stage of a block, of those from `start` on.
Value RegisterLoops::stageOf(Value first, int64_t start, int64_t words) {
  Value stage = sums.rem(sums.div(first, plan.keys()), RegisterPlan::kStages);
  return sums.add(sums.mul(stage, words), sums.index(start));
}

/// Runs what fills a block, if there is one from `first` on.
static LogicalResult ifAny(MatrixScope &scope, Value first, Value end,
                           function_ref<LogicalResult()> fill) {
  ImplicitLocOpBuilder &b = scope.b;
  Value exists =
      b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::ult, first, end);
  auto branch = scf::IfOp::create(b, exists);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  return fill();
}

LogicalResult RegisterLoops::fillKeysIfAny(Value first) {
  return ifAny(scores, first, end, [&] { return fillKeys(first); });
}

LogicalResult RegisterLoops::fillValuesIfAny(Value first) {
  return ifAny(sums, first, sums.sizeK, [&] { return fillValues(first); });
}

LogicalResult RegisterLoops::fillKeys(Value first) {
  if (plan.copiesBlocks()) {
    scores.byOne([&] {
      copyBlock(scores, scores.div(first, plan.keys()), keysAt(first), first,
                scores.index(0));
    });
    return success();
  }
  return scores.fill(plan.scores.b, keysAt(first), first, scores.sizeN,
                     scores.index(0));
}

LogicalResult RegisterLoops::fillValues(Value first) {
  if (plan.copiesBlocks()) {
    sums.byOne([&] {
      copyBlock(sums, sums.div(first, plan.keys()), valuesAt(first),
                sums.startN, first);
    });
    return success();
  }
  return sums.fill(plan.product.b, valuesAt(first), sums.startN, sums.sizeN,
                   first);
}

/// What lanes have copied is there, for all, and nobody reads what was there
/// before.
void RegisterLoops::arrive(int64_t open) {
  waitForGroups(open);
  if (plan.isInMemory() && !plan.copiesBlocks())
    plan.scores.products->publish(b);
  gpu::BarrierOp::create(b);
}

/// Q and the first block of K. What lanes have copied of Q is there before the
/// first product reads it.
LogicalResult RegisterLoops::fillQueries() {
  Value zero = scores.index(0);
  const StagedFactor &queries = plan.scores.a;
  if (queries.blocks) {
    scores.byOne([&] {
      copyBlock(scores, zero, keysAt(zero), zero, zero, queries.bytes());
      scores.copyBlocks(queries, zero, scores.startM, zero,
                        scores.barrierOf(zero));
    });
    return success();
  }
  if (failed(scores.fill(queries, zero, scores.startM, scores.sizeM, zero)) ||
      failed(fillKeys(zero)))
    return failure();
  scores.endGroup();
  if (!plan.copiesBlocks())
    return success();
  scores.waitForGroups(0);
  plan.scores.products->publish(b);
  return success();
}

/// Q and the first block, of zeros where there is none.
LogicalResult RegisterLoops::begin() {
  makeBarriers();
  if (failed(fillQueries()))
    return failure();
  Value zero = scores.index(0);
  if (failed(fillValues(zero)))
    return failure();
  if (plan.isInMemory()) {
    Value next = scores.index(plan.keys());
    if (failed(fillKeysIfAny(next)))
      return failure();
  }
  endGroup();
  arrive(1);
  if (!plan.isInMemory() && plan.keepsQueries())
    queries = scores.loadLeft(zero, plan.depth);
  return success();
}

/* ---- Loops ---- */

FailureOr<RegisterLoops::Values>
RegisterLoops::addBlock(Value first, ValueRange carried, RegisterRows &rows) {
  arrive(0);
  Value next = sums.add(first, sums.index(plan.keys()));
  if (failed(fillKeysIfAny(next)) || failed(fillValuesIfAny(next)))
    return failure();
  endGroup();
  Values weights = scoresOf(first);
  auto all = rows.weigh(first, carried.take_front(rows.carried()), weights);
  if (failed(all))
    return failure();
  Values old(carried.drop_front(rows.carried()));
  rows.scaleSums(old);
  llvm::append_range(
      *all, addFragments(first, weightWords(weights), plan.factors.parts, old));
  return all;
}

/// Rows see none of the columns of a block: its weights are zeros. What is in V
/// still counts, as zero times infinity does.
FailureOr<RegisterLoops::Values> RegisterLoops::addHidden(Value first,
                                                          ValueRange old) {
  arrive(0);
  Value next = sums.add(first, sums.index(plan.keys()));
  if (failed(fillValuesIfAny(next)))
    return failure();
  endGroup();
  const MatrixInstruction &i = *plan.product.instruction;
  int64_t words =
      plan.keys() / i.k * plan.product.rows * i.layoutA.elements() / 2;
  Value zero = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
  Values weights(size_t(words), zero);
  if (!plan.isInMemory())
    return addFragments(first, weights, 1, old);
  waitForValues(first);
  Values added = waitForProducts(beginWeighted(first, weights, 1, old), 0);
  added.truncate(sumCount());
  return added;
}

/// All blocks from `first` on.
FailureOr<RegisterLoops::Values> RegisterLoops::runHidden(Value first,
                                                          ValueRange old) {
  Value count = b.createOrFold<arith::SubIOp>(
      b.createOrFold<arith::MaxUIOp>(sums.sizeK, first), first);
  return sums.forPlaces(count, plan.keys(), old,
                        [&](Value place, ValueRange carried) {
                          return addHidden(sums.add(first, place), carried);
                        });
}

/// What is carried of rows, and the sums.
FailureOr<RegisterLoops::Values> RegisterLoops::run(RegisterRows &rows) {
  Values starts = rows.start();
  llvm::append_range(starts, sums.startSums());
  return sums.forPlaces(end, plan.keys(), starts,
                        [&](Value first, ValueRange carried) {
                          return addBlock(first, carried, rows);
                        });
}

/// The products of the block from `first` on, and weights of the next one.
FailureOr<RegisterLoops::Values>
RegisterLoops::addBlockAhead(Value first, ValueRange carried,
                             RegisterRows &rows) {
  arrive(0);
  Value next = sums.add(first, sums.index(plan.keys()));
  Value later = sums.add(first, sums.index(2 * plan.keys()));
  if (failed(fillKeysIfAny(later)) || failed(fillValues(next)))
    return failure();
  endGroup();
  ValueRange old = carried.drop_front(rows.carried());
  waitForKeys(next);
  Values weights = beginScores(next);
  waitForValues(first);
  Values added = beginWeighted(first, old.drop_front(sumCount()),
                               plan.factors.parts, old.take_front(sumCount()));
  weights = waitForProducts(weights, 1);
  auto all = rows.weigh(next, carried.take_front(rows.carried()), weights);
  if (failed(all))
    return failure();
  // Weights are made while the products are under way, not behind them; what
  // these read stays as it is.
  size_t ofProducts = added.size();
  llvm::append_range(added, weightWords(weights));
  added = waitForProducts(added, 0);
  Values corrected(ArrayRef(added).take_front(sumCount()));
  rows.scaleSums(corrected);
  llvm::append_range(*all, corrected);
  llvm::append_range(*all, ArrayRef(added).drop_front(ofProducts));
  return all;
}

FailureOr<RegisterLoops::Values> RegisterLoops::runAhead(RegisterRows &rows) {
  Value zero = sums.index(0), keys = sums.index(plan.keys());
  waitForKeys(zero);
  Values weights = waitForProducts(beginScores(zero), 0);
  auto starts = rows.weigh(zero, rows.start(), weights);
  if (failed(starts))
    return failure();
  llvm::append_range(*starts, sums.startSums());
  llvm::append_range(*starts, weightWords(weights));
  Value last = b.createOrFold<arith::SubIOp>(end, keys);
  auto done = sums.forPlaces(last, plan.keys(), *starts,
                             [&](Value first, ValueRange carried) {
                               return addBlockAhead(first, carried, rows);
                             });
  if (failed(done))
    return failure();
  arrive(0);
  Value hidden = sums.add(last, keys);
  if (failed(fillValuesIfAny(hidden)))
    return failure();
  endGroup();
  ArrayRef<Value> carried = *done;
  ArrayRef<Value> old = carried.drop_front(rows.carried());
  Values all(carried.take_front(rows.carried()));
  waitForValues(last);
  Values added = beginWeighted(last, old.drop_front(sumCount()),
                               plan.factors.parts, old.take_front(sumCount()));
  added = waitForProducts(added, 0);
  llvm::append_range(all, ArrayRef(added).take_front(sumCount()));
  return all;
}

/// Blocks that rows see, at least one.
void RegisterLoops::findEnd(const RegisterRows &rows) {
  Value keys = sums.index(plan.keys());
  end = b.createOrFold<arith::MaxUIOp>(rows.endOfColumns(), sums.index(1));
  end = sums.mul(b.createOrFold<arith::CeilDivUIOp>(end, keys), plan.keys());
}

LogicalResult RegisterLoops::emit() {
  enterGroup(scores, sums);
  scores.memory = sums.memory = sums.loops.share(plan.words(), b.getI32Type());
  askForMemory(sums.memory, attention.product.target, plan.isInMemory());
  RegisterRows rows(attention, scores, sums, plan.factors.exponent());
  if (failed(rows.begin()))
    return failure();
  findEnd(rows);
  if (failed(begin()))
    return failure();
  auto done = plan.isInMemory() ? runAhead(rows) : run(rows);
  if (failed(done))
    return failure();
  ArrayRef<Value> ofRows = ArrayRef(*done).take_front(rows.carried());
  auto all = runHidden(end, ArrayRef(*done).drop_front(rows.carried()));
  waitForGroups(0);
  if (failed(all) || failed(rows.finish(ofRows)))
    return failure();
  rows.scaleSums(*all);
  return sums.finishSums(*all);
}

FailureOr<bool> emitRegisterAttention(func::FuncOp func,
                                      GpuAttention &attention,
                                      const MatrixUnit &unit) {
  auto plan = planRegisters(attention, unit);
  if (!plan)
    return false;
  if (plan->isInMemory()) {
    askForThreads(func, plan->product.threads());
    attention.scores.target.groupSize = plan->product.threads();
    attention.product.target.groupSize = plan->product.threads();
  }
  ImplicitLocOpBuilder builder(attention.product.op.getLoc(),
                               func.getBody().front().getTerminator());
  if (failed(RegisterLoops(builder, attention, *plan).emit()))
    return failure();
  return true;
}

} // namespace backplane
