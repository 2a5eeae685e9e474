// SPDX-License-Identifier: Apache-2.0
//
// Patterns.h: data sets that make wide sums, norms and exponentials go wrong.
// Element i of input j is a function of the dtype, the dims, i, j and random
// bits. They are shaped by how a sum sees them: neighbours meet in one sum.
//
//   offset       a large number plus normal noise: one-pass variances fail
//   swamping     integers: a large number, 15 ones, minus the large number, …;
//                ones for the other inputs. Sums are exact in 24 bits and lose
//                the ones in 11
//   alternating  signs alternate along the first input
//   sparse       zeros but for one element in sixteen
//   wide         up to +-100 (f64: +-1000), where exp overflows
//   nan-corner   integers, and NaN at the first and last element of the first
//                input and on both sides of the corner of a tile of 16
#ifndef BACKPLANE_CONFORMANCE_CASES_PATTERNS_H
#define BACKPLANE_CONFORMANCE_CASES_PATTERNS_H

#include "Case.h"

namespace backplane::conformance {

/// The number of element i, or none for a data set that is not listed above.
std::optional<Real> patternOf(std::string_view dataSet, const Tensor &tensor,
                              size_t input, size_t i, uint64_t random);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_CASES_PATTERNS_H
