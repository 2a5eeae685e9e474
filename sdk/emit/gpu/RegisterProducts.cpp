// SPDX-License-Identifier: Apache-2.0
//
// The products of an attention whose scores stay in registers.
#include "sdk/emit/gpu/RegisterLoops.h"

using namespace mlir;

namespace backplane {

RegisterLoops::Values RegisterLoops::beginScores(Value first) {
  return scores.multiplyInMemory(scores.index(0), keysAt(first), plan.depth,
                                 scores.startSums());
}

RegisterLoops::Values RegisterLoops::scoresOf(Value first) {
  Value keys = keysAt(first);
  if (!plan.keepsQueries())
    return scores.multiplyFragments(scores.index(0), keys, plan.depth,
                                    scores.startSums());
  Values all = scores.startSums();
  for (auto [i, fragments] : llvm::enumerate(queries))
    scores.multiplyLeft(fragments, keys,
                        int64_t(i) * plan.scores.instruction->k, all);
  return all;
}

/// The words of the left factor of the product: of each k of an instruction,
/// each part and each row of instructions those of a fragment.
RegisterLoops::Values RegisterLoops::weightWords(ArrayRef<Value> weights) {
  const MatrixInstruction &i = *plan.product.instruction;
  llvm::SmallDenseMap<std::pair<int64_t, int64_t>, Value> at;
  for (auto [number, weight] : llvm::enumerate(weights)) {
    MatrixPlace place = scores.placeOf(number);
    at[{place.row, place.column}] = weight;
  }
  Values words;
  int64_t each = i.layoutA.elements();
  for (int64_t k = 0; k < plan.keys(); k += i.k)
    for (int64_t row = 0; row < plan.product.rows; ++row) {
      SmallVector<Values> parts(size_t(plan.factors.parts));
      for (int64_t element = 0; element < each; element += 2) {
        MatrixPlace one = i.layoutA.placeOf(element);
        MatrixPlace two = i.layoutA.placeOf(element + 1);
        Values packed =
            packWeights(b, *plan.product.unit, plan.factors,
                        at.lookup({row * i.m + one.row, k + one.column}),
                        at.lookup({row * i.m + two.row, k + two.column}));
        for (auto [part, word] : llvm::zip(parts, packed))
          part.push_back(word);
      }
      for (const Values &part : parts)
        llvm::append_range(words, part);
    }
  return words;
}

RegisterLoops::Values RegisterLoops::addFragments(Value first, ValueRange words,
                                                  int64_t parts,
                                                  ValueRange old) {
  Value values = valuesAt(first);
  const MatrixInstruction &i = *plan.product.instruction;
  auto each = size_t(i.layoutA.elements() / 2);
  Values all(old);
  for (int64_t k = 0; k < plan.keys(); k += i.k) {
    SmallVector<MatrixScope::Fragments> left{size_t(parts)};
    for (int64_t row = 0; row < plan.product.rows; ++row)
      for (MatrixScope::Fragments &part : left) {
        part.push_back(Values(words.take_front(each)));
        words = words.drop_front(each);
      }
    sums.multiplyLeft(left, values, k, all);
  }
  return all;
}

/// Begins the products of a block's weights; the sums, and the words that they
/// are read from.
RegisterLoops::Values RegisterLoops::beginWeighted(Value first,
                                                   ValueRange words,
                                                   int64_t parts,
                                                   ValueRange old) {
  const MatrixInstruction &i = *plan.product.instruction;
  const MemoryProducts &products = *plan.product.products;
  auto each = size_t(i.layoutA.elements() / 2);
  Value values = valuesAt(first);
  Values all(old);
  llvm::append_range(all, words);
  all = products.beginGroup(b, all);
  Values left(ArrayRef(all).drop_front(old.size()));
  all.truncate(old.size());
  ArrayRef<Value> rest = left;
  for (int64_t k = 0; k < plan.keys(); k += i.k) {
    MatrixInMemory right =
        sums.inMemory(plan.product.b, values, sums.index(0), k);
    for (int64_t part = 0; part < parts; ++part) {
      all = products.multiply(b, i, rest.take_front(each), right, all);
      rest = rest.drop_front(each);
    }
  }
  products.endGroup(b);
  llvm::append_range(all, left);
  return all;
}

} // namespace backplane
