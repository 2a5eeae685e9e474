// SPDX-License-Identifier: Apache-2.0
//
// Products of matrices of which nobody knows which lane has what.
#include "sdk/emit/gpu/MatrixScope.h"

using namespace mlir;

namespace backplane {

/// So many matrices of a factor, one below or beside the other, from a row and
/// a k on.
ContractScope::Values MatrixScope::loadOpaque(const StagedFactor &factor,
                                              OpaqueMatrices::Factor which,
                                              Value first, Value row, int64_t k,
                                              int64_t count) {
  const MatrixInstruction &i = *plan.instruction;
  bool isA = which == OpaqueMatrices::Factor::A;
  Values all;
  for (int64_t number = 0; number < count; ++number) {
    Value rowAt = add(row, index(number * (isA ? i.m : i.n)));
    Value line = factor.alongK ? rowAt : index(k);
    Value along = factor.alongK ? index(k) : rowAt;
    Value word =
        add(mul(line, factor.lineWords()), div(along, factor.wordElements()));
    // Lines along k are rows of A and columns of B.
    MatrixLines lines = {memory, add(first, word), factor.lineWords(),
                         factor.alongK == isA};
    all.push_back(plan.opaque->load(b, i, which, lines));
  }
  return all;
}

ContractScope::Values MatrixScope::multiplyOpaque(Value firstA, Value firstB,
                                                  int64_t depth,
                                                  ValueRange sums) {
  const MatrixInstruction &i = *plan.instruction;
  Value rowA = mul(subgroupM, plan.rows * i.m);
  Value rowB = mul(subgroupN, plan.columns * i.n);
  Values all(sums);
  for (int64_t k = 0; k < depth; k += i.k) {
    Values lefts = loadOpaque(plan.a, OpaqueMatrices::Factor::A, firstA, rowA,
                              k, plan.rows);
    Values rights = loadOpaque(plan.b, OpaqueMatrices::Factor::B, firstB, rowB,
                               k, plan.columns);
    Value *sum = all.begin();
    for (Value left : lefts)
      for (Value right : rights) {
        *sum = plan.opaque->multiply(b, left, right, *sum);
        ++sum;
      }
  }
  return all;
}

void MatrixScope::keepOpaqueRows(ValueRange sums) {
  const MatrixInstruction &i = *plan.instruction;
  Value start = add(mul(subgroupM, i.m * plan.partStride()),
                    mul(subgroupN, plan.columns * i.n));
  for (auto [number, sum] : llvm::enumerate(sums)) {
    Value first = add(start, index(int64_t(number) * i.n));
    plan.opaque->store(b, sum, {memory, first, plan.partStride(), true});
  }
}

} // namespace backplane
