// SPDX-License-Identifier: Apache-2.0
//
// Repeats.h: large data made of few distinct slices. Along an axis whose slices
// are computed each on its own, slice i of a large tensor is slice map(i) of a
// small one. The oracle computes the small tensors; every element of the large
// outputs then has a known answer, whatever the sizes.
//
// The first slices are the distinct ones in order, the others are drawn: a
// device that takes another slice than it should is found unless both happen to
// be equal, each with a chance of 1 in the number of distinct ones.
#ifndef BACKPLANE_CONFORMANCE_CASES_REPEATS_H
#define BACKPLANE_CONFORMANCE_CASES_REPEATS_H

#include "Case.h"
#include "conformance/compare/Compare.h"

namespace backplane::conformance {

class Repeats {
public:
  /// Chooses how many slices are distinct, so that the oracle has at most
  /// `oracleWork` to do.
  Repeats(const Unit &unit, const Case &testCase);

  /// Sizes of the small tensors.
  const SymbolValues &sizes() const { return small_; }
  /// The small inputs of the model.
  std::vector<Tensor> inputs() const;
  /// A large tensor of a type of the model.
  Tensor enlarge(const Tensor &small, const Dims &dims) const;
  /// Judges all elements of a large output.
  Verdict compareAll(const Expected &small, const Dims &dims, const Tensor &got,
                     const Numerics &numerics) const;

private:
  std::vector<size_t> map(const Dim &dim, int64_t size) const;
  std::vector<std::vector<size_t>> maps(const Dims &dims,
                                        const std::vector<int64_t> &smallDims,
                                        size_t unit) const;

  const Unit &unit_;
  const Case &case_;
  SymbolValues small_;
};

/// The inputs of a case of Method::Repeats, of the model.
std::vector<Tensor> repeatedInputs(const Unit &unit, const Case &testCase);
/// One verdict per output of the model.
std::vector<Verdict> judgeRepeats(const Unit &unit, const Case &testCase,
                                  const std::vector<Tensor> &outputs,
                                  const Declaration &declaration);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_CASES_REPEATS_H
