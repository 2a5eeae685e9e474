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
  Values loadLines(const StagedFactor &factor, Value first, Value row,
                   int64_t k, MatrixPlace one, MatrixPlace two, int64_t count);
  Values loadWords(const StagedFactor &factor, const FragmentLayout &layout,
                   Value first, Value row, int64_t k);
  SmallVector<Values> loadFragments(const StagedFactor &factor,
                                    const FragmentLayout &layout, Value first,
                                    Value row, int64_t k, int64_t count,
                                    int64_t rows);
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
  lineInPiece = rem(lane, LineLoads::kLines);
  piece = div(lane, LineLoads::kLines);
}

/// What the first two bits of the number of a lane's piece add up to.
Value MatrixEmitter::choose(int64_t one, int64_t two) {
  return add(mul(rem(piece, 2), one), mul(rem(div(piece, 2), 2), two));
}

/// `count` words of this lane of the pieces at (row, k), and at that plus
/// `one`, plus `two`, and plus both.
ContractScope::Values MatrixEmitter::loadLines(const StagedFactor &factor,
                                               Value first, Value row,
                                               int64_t k, MatrixPlace one,
                                               MatrixPlace two, int64_t count) {
  Value rowAt = add(row, choose(one.row, two.row));
  Value kAt = add(index(k), choose(one.column, two.column));
  Value line = add(factor.alongK ? rowAt : kAt, lineInPiece);
  Value inLine = div(factor.alongK ? kAt : rowAt, factor.pieceElements());
  Value word = add(first, wordOf(factor, line, lineInPiece, inLine));
  return plan.loads->load(b, addressOf(memory, word, 4), count, !factor.alongK);
}

/// The words of a fragment that this lane has, each by a load of its own.
ContractScope::Values MatrixEmitter::loadWords(const StagedFactor &factor,
                                               const FragmentLayout &layout,
                                               Value first, Value row,
                                               int64_t k) {
  MatrixPlaceValues own = placeOfLane(layout);
  Values words;
  for (int64_t i = 0; i < factor.fragmentWords(layout); ++i) {
    MatrixPlace place = layout.placeOf(i * factor.wordElements());
    Value line = add(add(row, own.row), index(place.row));
    Value kAt = add(own.column, index(k + place.column));
    Value word = wordOf(factor, line, rem(line, LineLoads::kLines),
                        div(kAt, factor.pieceElements()));
    Value inPiece =
        div(rem(kAt, factor.pieceElements()), factor.wordElements());
    words.push_back(loadWord(add(add(first, word), inPiece), b.getI32Type()));
  }
  return words;
}

/// `count` fragments of `rows` rows each, one behind the other.
SmallVector<ContractScope::Values> MatrixEmitter::loadFragments(
    const StagedFactor &factor, const FragmentLayout &layout, Value first,
    Value row, int64_t k, int64_t count, int64_t rows) {
  constexpr int64_t kMostWords = 4;
  int64_t words = factor.fragmentWords(layout);
  unsigned bit = llvm::Log2_64(uint64_t(factor.wordElements()));
  SmallVector<Values> fragments;
  for (int64_t done = 0; done < count;) {
    Value rowAt = add(row, index(done * rows));
    if (!plan.loads) {
      fragments.push_back(loadWords(factor, layout, first, rowAt, k));
      ++done;
      continue;
    }
    int64_t atOnce = std::min(count - done, kMostWords / words);
    MatrixPlace two =
        words == kMostWords ? layout.element[bit + 1] : MatrixPlace{rows, 0};
    Values loaded = loadLines(factor, first, rowAt, k, layout.element[bit], two,
                              words * atOnce);
    for (int64_t i = 0; i < atOnce; ++i)
      fragments.push_back(
          Values(ArrayRef(loaded).slice(size_t(i * words), size_t(words))));
    done += atOnce;
  }
  return fragments;
}

/// All products of one instruction's k.
void MatrixEmitter::multiplyOnce(Value stage, int64_t k, Values &sums) {
  const MatrixInstruction &i = *plan.instruction;
  auto as = loadFragments(plan.a, i.layoutA, stage,
                          mul(subgroupM, plan.rows * i.m), k, plan.rows, i.m);
  auto bs =
      loadFragments(plan.b, i.layoutB, add(stage, index(plan.a.words())),
                    mul(subgroupN, plan.columns * i.n), k, plan.columns, i.n);
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
  readBufferSizes();
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
