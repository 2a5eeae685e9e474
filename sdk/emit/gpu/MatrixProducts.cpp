// SPDX-License-Identifier: Apache-2.0
//
// Products whose factors stay in memory of the work-group.
#include "sdk/emit/gpu/MatrixScope.h"

using namespace mlir;

namespace backplane {

MatrixInMemory MatrixScope::inMemory(const StagedFactor &factor, Value first,
                                     Value row, int64_t k) {
  Value line = factor.alongK ? row : index(k);
  Value along = factor.alongK ? index(k) : row;
  Value word =
      add(first, placeWord(factor, line, div(along, factor.pieceElements())));
  return {addressOf(memory, word, 4), factor.alongK, 4 * factor.panelWords()};
}

ContractScope::Values MatrixScope::multiplyInMemory(Value firstA, Value firstB,
                                                    int64_t depth,
                                                    ValueRange sums) {
  const MatrixInstruction &i = *plan.instruction;
  Values all = plan.products->beginGroup(b, sums);
  for (int64_t k = 0; k < depth; k += i.k)
    all = plan.products->multiply(
        b, i, inMemory(plan.a, firstA, mul(subgroupM, i.m), k),
        inMemory(plan.b, firstB, mul(subgroupN, i.n), k), all);
  plan.products->endGroup(b);
  return all;
}

} // namespace backplane
