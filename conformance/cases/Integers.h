// SPDX-License-Identifier: Apache-2.0
//
// Integers.h: large tensors of small integers, filled and read in any dtype of
// at least 8 bits.
#ifndef BACKPLANE_CONFORMANCE_CASES_INTEGERS_H
#define BACKPLANE_CONFORMANCE_CASES_INTEGERS_H

#include "Case.h"

namespace backplane::conformance {

/// Which integers: of every `one in` elements one is not zero, and lies in
/// [-limit, limit], or in [0, limit] of unsigned dtypes.
struct IntegerRange {
  int64_t limit = 1;
  uint64_t oneIn = 1;
};

/// Integers such that a sum of `terms` products of two of them can be stored
/// exactly in `result`: certainly where limits allow it, else but for a chance
/// below 2^-40 an element (8 standard deviations). None when they cannot.
std::optional<IntegerRange> exactIntegers(DType operand, DType result,
                                          int64_t terms);
void fillIntegers(Tensor &tensor, const IntegerRange &range, uint64_t seed);

/// `count` elements from `first` on. False when one is no integer of at most 62
/// bits: `bad` is then its offset from `first`.
bool readIntegers(const Tensor &tensor, size_t first, size_t count,
                  int64_t *values, size_t &bad);
/// All elements of a tensor that has nothing but integers.
std::vector<int64_t> allIntegers(const Tensor &tensor);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_CASES_INTEGERS_H
