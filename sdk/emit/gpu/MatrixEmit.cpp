// SPDX-License-Identifier: Apache-2.0
//
// The loops of a contraction for a work-group whose subgroups have matrix
// instructions:
//
//   begin to copy the first blocks of A and B to memory of the work-group
//   for each block of k:
//     wait for its copies, begin those of a later block in place of the last
//     for each k of an instruction: load fragments, multiply
//       (or begin products that read the block themselves, and wait for those
//       of the block before; or load opaque matrices, multiply these, and store
//       what registers hold of the next block)
//   a few rows of C at a time to memory of the work-group, then finish and
//   store each element
#include "sdk/emit/gpu/Launch.h"
#include "sdk/emit/gpu/MatrixScope.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace backplane {
namespace {

struct MatrixEmitter : MatrixScope {
  MatrixEmitter(ImplicitLocOpBuilder &builder, GpuContraction &c,
                const MatrixPlan &plan)
      : MatrixScope(builder, c, plan) {}

  LogicalResult run();
  FailureOr<Values> accumulate();
  LogicalResult prefetch(Value k, Value stage);
  LogicalResult fillStage(Value k, Value stage);
  LogicalResult prefetchFirst();
  void arrive(Value block);
  FailureOr<Values> addBlock(Value k, ValueRange sums);
  FailureOr<Values> addHeldBlock(Value k, Value block, ValueRange sums);
  FailureOr<Values> holdBlock(Value k, Value stage);
  LogicalResult prefetchLater(Value k, Value block);
  Values multiply(Value stage, ValueRange sums);
  /// Blocks that are under way while one is multiplied. Products of the one
  /// before may still read theirs.
  int64_t ahead() const { return plan.stages - (plan.products ? 2 : 1); }
};

} // namespace

ContractScope::Values MatrixEmitter::multiply(Value stage, ValueRange sums) {
  Value second = add(stage, index(plan.a.words()));
  if (plan.opaque)
    return multiplyOpaque(stage, second, plan.a.depth, sums);
  return plan.products ? multiplyInMemory(stage, second, plan.a.depth, sums)
                       : multiplyFragments(stage, second, plan.a.depth, sums);
}

LogicalResult MatrixEmitter::fillStage(Value k, Value stage) {
  Value first = mul(stage, plan.stageWords());
  Value second = add(first, index(plan.a.words()));
  if (!plan.copiesBlocks())
    return success(succeeded(fill(plan.a, first, startM, sizeM, k)) &&
                   succeeded(fill(plan.b, second, startN, sizeN, k)));
  byOne([&] {
    Value barrier = barrierOf(stage);
    plan.unit->blockCopies()->expect(b, barrier,
                                     plan.a.bytes() + plan.b.bytes());
    copyBlocks(plan.a, first, startM, k, barrier);
    copyBlocks(plan.b, second, startN, k, barrier);
  });
  return success();
}

/// Begins to fill a stage with the block from k on, if there is one.
LogicalResult MatrixEmitter::prefetch(Value k, Value stage) {
  OpBuilder::InsertionGuard guard(b);
  Value exists =
      b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::ult, k, sizeK);
  if (matchPattern(exists, m_Zero()))
    return success();
  if (!matchPattern(exists, m_One())) {
    auto branch = scf::IfOp::create(b, exists);
    b.setInsertionPointToStart(branch.thenBlock());
  }
  return fillStage(k, stage);
}

LogicalResult MatrixEmitter::prefetchFirst() {
  for (int64_t i = 0; i < ahead(); ++i) {
    if (failed(prefetch(index(i * plan.a.depth), index(i))))
      return failure();
    endGroup();
  }
  return success();
}

LogicalResult MatrixEmitter::prefetchLater(Value k, Value block) {
  Value stage = rem(add(block, index(ahead())), plan.stages);
  if (failed(prefetch(add(k, index(ahead() * plan.a.depth)), stage)))
    return failure();
  endGroup();
  return success();
}

/// What was copied of a block is there, and nobody reads the block before.
void MatrixEmitter::arrive(Value block) {
  if (plan.copiesBlocks()) {
    waitForBlock(block);
  } else {
    waitForGroups(ahead() - 1);
    if (plan.products)
      plan.products->publish(b);
  }
  gpu::BarrierOp::create(b);
}

/// The products of a block, from k on. Those that read it from memory go on
/// while the next block comes, and are waited for behind the one after it.
FailureOr<ContractScope::Values> MatrixEmitter::addBlock(Value k,
                                                         ValueRange sums) {
  Value block = div(k, plan.a.depth);
  arrive(block);
  if (plan.opaque && (canHold(plan.a) || canHold(plan.b)))
    return addHeldBlock(k, block, sums);
  if (!plan.products && failed(prefetchLater(k, block)))
    return failure();
  Values all = multiply(mul(rem(block, plan.stages), plan.stageWords()), sums);
  if (!plan.products)
    return all;
  if (failed(prefetchLater(k, block)))
    return failure();
  plan.products->waitForGroups(b, 1);
  return all;
}

/// Begins to read the block from k on, if there is one, and copies what cannot
/// be held; words of A, then of B.
FailureOr<ContractScope::Values> MatrixEmitter::holdBlock(Value k,
                                                          Value stage) {
  Value first = mul(stage, plan.stageWords());
  Value second = add(first, index(plan.a.words()));
  Values held;
  for (auto [factor, to, start, size] :
       {std::tuple(&plan.a, first, startM, sizeM),
        std::tuple(&plan.b, second, startN, sizeN)}) {
    if (!canHold(*factor)) {
      if (failed(fill(*factor, to, start, size, k)))
        return failure();
      continue;
    }
    auto words = hold(*factor, start, size, k);
    if (failed(words))
      return failure();
    llvm::append_range(held, *words);
  }
  return held;
}

/// The same where copies come through registers: what is read of the next block
/// arrives there while this one is multiplied, and is stored then. Where there
/// is no next one, zeros come to memory that nobody reads.
FailureOr<ContractScope::Values>
MatrixEmitter::addHeldBlock(Value k, Value block, ValueRange sums) {
  auto wordsOf = [&](const StagedFactor &factor) {
    return canHold(factor) ? size_t(factor.units() / c.target.groupSize *
                                    factor.lanes / factor.wordElements())
                           : 0;
  };
  size_t wordsA = wordsOf(plan.a), wordsB = wordsOf(plan.b);
  Value next = add(k, index(plan.a.depth));
  Value stage = rem(add(block, index(1)), plan.stages);
  Value exists =
      b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::ult, next, sizeK);
  auto held = guarded(exists, int64_t(wordsA + wordsB), b.getI32Type(),
                      [&] { return holdBlock(next, stage); });
  if (failed(held))
    return failure();
  Values all = multiply(mul(rem(block, plan.stages), plan.stageWords()), sums);
  Value first = mul(stage, plan.stageWords());
  ValueRange words = *held;
  release(plan.a, first, words.take_front(wordsA));
  release(plan.b, add(first, index(plan.a.words())), words.drop_front(wordsA));
  return all;
}

FailureOr<ContractScope::Values> MatrixEmitter::accumulate() {
  if (failed(prefetchFirst()))
    return failure();
  auto sums = forPlaces(
      sizeK, plan.a.depth, startSums(),
      [&](Value k, ValueRange carried) { return addBlock(k, carried); });
  if (failed(sums) || !plan.products)
    return sums;
  return plan.products->finish(b, *sums);
}

LogicalResult MatrixEmitter::run() {
  readBufferSizes();
  enterGroup(plan.tileM(), plan.tileN());
  memory = loops.share(plan.memoryWords(), b.getI32Type());
  if (!plan.opaque)
    askForMemory(memory, c.target, plan.products != nullptr);
  findLane();
  if (plan.copiesBlocks()) {
    barrierWord = plan.stages * plan.stageWords();
    byOne([&] { makeBarriers(); });
    gpu::BarrierOp::create(b);
  }
  FailureOr<Values> sums = accumulate();
  if (failed(sums))
    return failure();
  return finishSums(*sums);
}

LogicalResult emitMatrixContraction(func::FuncOp func,
                                    GpuContraction &contraction,
                                    const MatrixPlan &plan) {
  if (plan.products) {
    contraction.target.groupSize = plan.threads();
    askForThreads(func, plan.threads());
  }
  ImplicitLocOpBuilder builder(contraction.op.getLoc(),
                               func.getBody().front().getTerminator());
  return MatrixEmitter(builder, contraction, plan).run();
}

} // namespace backplane
