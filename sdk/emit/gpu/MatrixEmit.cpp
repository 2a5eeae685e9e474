// SPDX-License-Identifier: Apache-2.0
//
// The loops of a contraction for a work-group whose subgroups have matrix
// instructions:
//
//   begin to copy the first blocks of A and B to memory of the work-group
//   for each block of k:
//     wait for its copies, begin those of a later block in place of the last
//     for each k of an instruction: load fragments, multiply
//   a few rows of C at a time to memory of the work-group, then finish and
//   store each element
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
  Values multiply(Value stage, ValueRange sums);
};

} // namespace

ContractScope::Values MatrixEmitter::multiply(Value stage, ValueRange sums) {
  return multiplyFragments(stage, add(stage, index(plan.a.words())),
                           plan.a.depth, sums);
}

LogicalResult MatrixEmitter::fillStage(Value k, Value stage) {
  return success(succeeded(fill(plan.a, stage, startM, sizeM, k)) &&
                 succeeded(fill(plan.b, add(stage, index(plan.a.words())),
                                startN, sizeN, k)));
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

FailureOr<ContractScope::Values> MatrixEmitter::accumulate() {
  int64_t depth = plan.a.depth, words = plan.stageWords();
  for (int64_t i = 0; i + 1 < plan.stages; ++i) {
    if (failed(prefetch(index(i * depth), index(i * words))))
      return failure();
    endGroup();
  }
  auto loop = scf::ForOp::create(b, index(0), sizeK, index(depth), startSums());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value k = loop.getInductionVar(), block = div(k, depth);
  // What the others have copied is there, and nobody reads the block before.
  waitForGroups(plan.stages - 2);
  gpu::BarrierOp::create(b);
  Value next = rem(add(block, index(plan.stages - 1)), plan.stages);
  if (failed(
          prefetch(add(k, index((plan.stages - 1) * depth)), mul(next, words))))
    return failure();
  endGroup();
  scf::YieldOp::create(b, multiply(mul(rem(block, plan.stages), words),
                                   loop.getRegionIterArgs()));
  return Values(loop.getResults());
}

LogicalResult MatrixEmitter::run() {
  readBufferSizes();
  enterGroup(plan.tileM(), plan.tileN());
  memory =
      loops.share(std::max(plan.stages * plan.stageWords(), plan.partWords()),
                  b.getI32Type());
  findLane();
  FailureOr<Values> sums = accumulate();
  if (failed(sums))
    return failure();
  return finishSums(*sums);
}

LogicalResult emitMatrixContraction(func::FuncOp func,
                                    GpuContraction &contraction,
                                    const MatrixPlan &plan) {
  ImplicitLocOpBuilder builder(contraction.op.getLoc(),
                               func.getBody().front().getTerminator());
  return MatrixEmitter(builder, contraction, plan).run();
}

} // namespace backplane
