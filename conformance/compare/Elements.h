// SPDX-License-Identifier: Apache-2.0
//
// Elements.h: elements of any dtype as text and packed; Value.h has them as
// numbers.
#ifndef BACKPLANE_CONFORMANCE_COMPARE_ELEMENTS_H
#define BACKPLANE_CONFORMANCE_COMPARE_ELEMENTS_H

#include "conformance/oracle/Value.h"

namespace backplane::conformance {

/// "1.5 (0x3fc00000)", as many digits as tell neighbours apart.
std::string textOf(DType dtype, uint64_t bits);
/// Bytes of a packed tensor of `count` elements.
size_t packedBytes(DType dtype, size_t count);
/// What the oracle expects, rounded to its dtype.
Tensor tensorOf(const Expected &expected);
/// The inverse, of what another system stored: integers must be equal, floats
/// match within limits, all zero here, for the caller to set.
Expected expectedOf(const Tensor &stored);

/// The largest absolute value of the finite elements; 0 when there are none.
double largestMagnitude(const Tensor &tensor);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_COMPARE_ELEMENTS_H
