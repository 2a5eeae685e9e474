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
  Value subgroupM, subgroupN; ///< where this subgroup is in the work-group
  Value lineInPiece, piece;   ///< that this lane names in a load

  MatrixEmitter(OpBuilder &builder, GpuContraction &c, const MatrixPlan &plan)
      : MatrixScope(builder, c, plan) {}

  LogicalResult run();
  void findLane();
  FailureOr<Values> accumulate();
  LogicalResult prefetch(Value k, Value stage);
  LogicalResult fillStage(Value k, Value stage);
  Values multiply(Value stage, ValueRange sums);
  void multiplyOnce(Value stage, int64_t k, Values &sums);
  Values loadWords(const StagedFactor &factor, Value first, Value row,
                   int64_t k, MatrixPlace one, MatrixPlace two, int64_t count);
  Value choose(int64_t one, int64_t two);
  void keepRows(ValueRange sums);
  LogicalResult finishRows(int64_t part);
};

} // namespace

void MatrixEmitter::findLane() {
  int64_t size = c.target.clusterSize;
  Value subgroup = div(thread, size);
  lane = rem(thread, size);
  subgroupM = div(subgroup, plan.subgroupsN);
  subgroupN = rem(subgroup, plan.subgroupsN);
  lineInPiece = rem(lane, MatrixUnit::kLines);
  piece = div(lane, MatrixUnit::kLines);
}

/// What the first two bits of the number of a lane's piece add up to.
Value MatrixEmitter::choose(int64_t one, int64_t two) {
  return add(mul(rem(piece, 2), one), mul(rem(div(piece, 2), 2), two));
}

/// `count` words of this lane of the pieces at (row, k), and at that plus
/// `one`, plus `two`, and plus both.
ContractScope::Values MatrixEmitter::loadWords(const StagedFactor &factor,
                                               Value first, Value row,
                                               int64_t k, MatrixPlace one,
                                               MatrixPlace two, int64_t count) {
  Value rowAt = add(row, choose(one.row, two.row));
  Value kAt = add(index(k), choose(one.column, two.column));
  Value line = add(factor.alongK ? rowAt : kAt, lineInPiece);
  Value inLine = div(factor.alongK ? kAt : rowAt, factor.pieceElements());
  Value word = add(first, wordOf(factor, line, lineInPiece, inLine));
  return plan.unit->loadLines(b, addressOf(memory, word, 4), count,
                              !factor.alongK);
}

/// All products of one instruction's k.
void MatrixEmitter::multiplyOnce(Value stage, int64_t k, Values &sums) {
  const MatrixInstruction &i = *plan.instruction;
  auto bit = [](const FragmentLayout &layout, const StagedFactor &factor,
                unsigned number) {
    return layout.element[llvm::Log2_64(factor.wordElements()) + number];
  };
  Value rowA = mul(subgroupM, plan.rows * i.m);
  Value rowB = mul(subgroupN, plan.columns * i.n);
  Value firstB = add(stage, index(plan.a.words()));
  SmallVector<Values> as, bs;
  for (int64_t row = 0; row < plan.rows; ++row)
    as.push_back(loadWords(plan.a, stage, add(rowA, index(row * i.m)), k,
                           bit(i.layoutA, plan.a, 0), bit(i.layoutA, plan.a, 1),
                           4));
  int64_t atOnce = std::min<int64_t>(plan.columns, 2);
  for (int64_t column = 0; column < plan.columns; column += atOnce) {
    Values words = loadWords(plan.b, firstB, add(rowB, index(column * i.n)), k,
                             bit(i.layoutB, plan.b, 0), {i.n, 0}, 2 * atOnce);
    for (int64_t j = 0; j < atOnce; ++j)
      bs.push_back(Values(ArrayRef(words).slice(size_t(2 * j), 2)));
  }
  auto each = size_t(i.layoutC.elements());
  size_t at = 0;
  for (const Values &wordsA : as)
    for (const Values &wordsB : bs) {
      Values old(ArrayRef(sums).slice(at, each));
      llvm::copy(plan.unit->multiply(b, i, wordsA, wordsB, old),
                 sums.begin() + at);
      at += each;
    }
}

ContractScope::Values MatrixEmitter::multiply(Value stage, ValueRange sums) {
  Values all(sums);
  for (int64_t k = 0; k < plan.a.depth; k += plan.instruction->k)
    multiplyOnce(stage, k, all);
  return all;
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
  Value zero = arith::ConstantOp::create(b, c.sums.init);
  Values starts(
      size_t(plan.rows * plan.columns * plan.instruction->layoutC.elements()),
      zero);
  auto loop = scf::ForOp::create(b, index(0), sizeK, index(depth), starts);
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

/// One row of instructions of each subgroup, in place of the blocks.
void MatrixEmitter::keepRows(ValueRange sums) {
  const MatrixInstruction &i = *plan.instruction;
  MatrixPlaceValues own = placeOfLane(i.layoutC);
  Value row = add(mul(subgroupM, i.m), own.row);
  Value column = add(mul(subgroupN, plan.columns * i.n), own.column);
  Value start = add(mul(row, plan.partStride()), column);
  for (auto [number, sum] : llvm::enumerate(sums)) {
    int64_t each = i.layoutC.elements();
    MatrixPlace place = i.layoutC.placeOf(int64_t(number) % each);
    int64_t offset = place.row * plan.partStride() + place.column +
                     int64_t(number) / each * i.n;
    storeWord(sum, add(start, index(offset)));
  }
}

LogicalResult MatrixEmitter::finishRows(int64_t part) {
  int64_t count = plan.partRows() * plan.tileN(), m = plan.instruction->m;
  int64_t lanes = lanesOfResult(count);
  auto loop = scf::ForOp::create(
      b, index(0), index(count / c.target.groupSize / lanes), index(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(loop.getBody()->getTerminator());
  Value number =
      mul(add(thread, mul(loop.getInductionVar(), c.target.groupSize)), lanes);
  Value row = div(number, plan.tileN()), column = rem(number, plan.tileN());
  Value inTile =
      add(add(mul(div(row, m), plan.rows * m), rem(row, m)), index(part * m));
  Value word = add(mul(row, plan.partStride()), column);
  return storeSums(add(startM, inTile), add(startN, column), lanes,
                   plan.tileM(), plan.tileN(), [&](int64_t lane) {
                     return loadWord(add(word, index(lane)), c.type());
                   });
}

LogicalResult MatrixEmitter::run() {
  enterGroup(plan.tileM(), plan.tileN());
  memory =
      loops.share(std::max(plan.stages * plan.stageWords(), plan.partWords()),
                  b.getI32Type());
  findLane();
  FailureOr<Values> sums = accumulate();
  if (failed(sums))
    return failure();
  size_t each = sums->size() / size_t(plan.rows);
  for (int64_t part = 0; part < plan.rows; ++part) {
    gpu::BarrierOp::create(b);
    keepRows(ArrayRef(*sums).slice(size_t(part) * each, each));
    gpu::BarrierOp::create(b);
    if (failed(finishRows(part)))
      return failure();
  }
  return success();
}

LogicalResult emitMatrixContraction(func::FuncOp func,
                                    GpuContraction &contraction,
                                    const MatrixPlan &plan) {
  OpBuilder builder(func.getBody().front().getTerminator());
  return MatrixEmitter(builder, contraction, plan).run();
}

} // namespace backplane
