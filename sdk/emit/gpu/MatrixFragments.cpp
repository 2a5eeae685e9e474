// SPDX-License-Identifier: Apache-2.0
//
// What the lanes of a subgroup have of matrices: fragments of the factors, from
// memory of the work-group, and of sums, to it.
#include "sdk/emit/gpu/MatrixScope.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace backplane {

void MatrixScope::findLane() {
  int64_t size = plan.lanes();
  Value subgroup = plan.opaque ? Value(gpu::SubgroupIdOp::create(b, nullptr))
                               : div(thread, size);
  lane = rem(thread, size);
  subgroupM = div(subgroup, plan.subgroupsN);
  subgroupN = rem(subgroup, plan.subgroupsN);
  lineInPiece = rem(lane, LineLoads::kLines);
  piece = div(lane, LineLoads::kLines);
}

/// What the first two bits of the number of a lane's piece add up to.
Value MatrixScope::choose(int64_t one, int64_t two) {
  return add(mul(rem(piece, 2), one), mul(rem(div(piece, 2), 2), two));
}

/// `count` words of this lane of the pieces at (row, k), and at that plus
/// `one`, plus `two`, and plus both.
ContractScope::Values MatrixScope::loadLines(const StagedFactor &factor,
                                             Value first, Value row, int64_t k,
                                             MatrixPlace one, MatrixPlace two,
                                             int64_t count) {
  Value rowAt = add(row, choose(one.row, two.row));
  Value kAt = add(index(k), choose(one.column, two.column));
  Value line = add(factor.alongK ? rowAt : kAt, lineInPiece);
  Value inLine = div(factor.alongK ? kAt : rowAt, factor.pieceElements());
  Value word = add(first, wordOf(factor, line, lineInPiece, inLine));
  return plan.loads->load(b, addressOf(memory, word, 4), count, !factor.alongK);
}

/// The words of a fragment that this lane has, each by a load of its own.
ContractScope::Values MatrixScope::loadWords(const StagedFactor &factor,
                                             const FragmentLayout &layout,
                                             Value first, Value row,
                                             int64_t k) {
  MatrixPlaceValues own = placeOfLane(layout);
  Values words;
  for (int64_t i = 0; i < factor.fragmentWords(layout); ++i) {
    MatrixPlace place = layout.placeOf(i * factor.wordElements());
    Value rowAt = add(add(row, own.row), index(place.row));
    Value kAt = add(own.column, index(k + place.column));
    Value line = factor.alongK ? rowAt : kAt;
    Value along = factor.alongK ? kAt : rowAt;
    Value word = wordOf(factor, line, rem(line, LineLoads::kLines),
                        div(along, factor.pieceElements()));
    Value inPiece =
        div(rem(along, factor.pieceElements()), factor.wordElements());
    words.push_back(loadWord(add(add(first, word), inPiece), b.getI32Type()));
  }
  return words;
}

/// `count` fragments of `rows` rows each, one behind the other.
SmallVector<ContractScope::Values>
MatrixScope::loadFragments(const StagedFactor &factor,
                           const FragmentLayout &layout, Value first, Value row,
                           int64_t k, int64_t count, int64_t rows) {
  constexpr int64_t kMostWords = 4;
  int64_t words = factor.fragmentWords(layout);
  unsigned bit = llvm::Log2_64(uint64_t(factor.wordElements()));
  SmallVector<Values> fragments;
  for (int64_t done = 0; done < count;) {
    Value rowAt = add(row, index(done * rows));
    if (!plan.loads || factor.isOfWords()) {
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

MatrixScope::Fragments MatrixScope::loadLeftAt(Value first, int64_t k) {
  const MatrixInstruction &i = *plan.instruction;
  return loadFragments(plan.a, i.layoutA, first,
                       mul(subgroupM, plan.rows * i.m), k, plan.rows, i.m);
}

SmallVector<MatrixScope::Fragments> MatrixScope::loadLeft(Value first,
                                                          int64_t depth) {
  SmallVector<Fragments> all;
  for (int64_t k = 0; k < depth; k += plan.instruction->k)
    all.push_back(loadLeftAt(first, k));
  return all;
}

void MatrixScope::multiplyLeft(ArrayRef<Fragments> lefts, Value firstB,
                               int64_t k, Values &sums) {
  const MatrixInstruction &i = *plan.instruction;
  auto bs =
      loadFragments(plan.b, i.layoutB, firstB,
                    mul(subgroupN, plan.columns * i.n), k, plan.columns, i.n);
  auto each = size_t(i.layoutC.elements());
  for (const Fragments &as : lefts) {
    size_t at = 0;
    for (const Values &wordsA : as)
      for (const Values &wordsB : bs) {
        Values old(ArrayRef(sums).slice(at, each));
        llvm::copy(plan.unit->multiply(b, i, wordsA, wordsB, old),
                   sums.begin() + at);
        at += each;
      }
  }
}

ContractScope::Values MatrixScope::multiplyFragments(Value firstA, Value firstB,
                                                     int64_t depth,
                                                     ValueRange sums) {
  Values all(sums);
  for (int64_t k = 0; k < depth; k += plan.instruction->k)
    multiplyLeft(loadLeftAt(firstA, k), firstB, k, all);
  return all;
}

ContractScope::Values MatrixScope::startSums() {
  Value zero = arith::ConstantOp::create(b, c.sums.init);
  if (plan.opaque)
    return Values(size_t(plan.rows * plan.columns),
                  plan.opaque->fill(b, *plan.instruction, zero));
  int64_t each = plan.instruction->layoutC.elements();
  return Values(size_t(plan.rows * plan.columns * each), zero);
}

MatrixPlace MatrixScope::placeOf(size_t number) const {
  const MatrixInstruction &i = *plan.instruction;
  int64_t each = i.layoutC.elements(), matrix = int64_t(number) / each;
  MatrixPlace place = i.layoutC.placeOf(int64_t(number) % each);
  return {place.row + matrix / plan.columns * i.m,
          place.column + matrix % plan.columns * i.n};
}

/// One row of instructions of each subgroup, in place of the blocks.
void MatrixScope::keepRows(ValueRange sums) {
  if (plan.opaque)
    return keepOpaqueRows(sums);
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

LogicalResult MatrixScope::finishRows(int64_t part) {
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

LogicalResult MatrixScope::finishSums(ValueRange sums) {
  size_t each = sums.size() / size_t(plan.rows);
  for (int64_t part = 0; part < plan.rows; ++part) {
    gpu::BarrierOp::create(b);
    keepRows(sums.slice(size_t(part) * each, each));
    gpu::BarrierOp::create(b);
    if (failed(finishRows(part)))
      return failure();
  }
  return success();
}

} // namespace backplane
