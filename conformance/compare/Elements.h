// SPDX-License-Identifier: Apache-2.0
//
// Elements.h: elements of any dtype as numbers and as text.
#ifndef BACKPLANE_CONFORMANCE_COMPARE_ELEMENTS_H
#define BACKPLANE_CONFORMANCE_COMPARE_ELEMENTS_H

#include "conformance/oracle/Format.h"

namespace backplane::conformance {

/// The integer that these bits stand for; u64 beyond INT64_MAX wraps.
int64_t integerOf(DType dtype, uint64_t bits);
/// The number that these bits stand for; bool is its byte.
Real numberOf(DType dtype, uint64_t bits);
/// "1.5 (0x3fc00000)", as many digits as tell neighbours apart.
std::string textOf(DType dtype, uint64_t bits);
/// Bytes of a packed tensor of `count` elements.
size_t packedBytes(DType dtype, size_t count);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_COMPARE_ELEMENTS_H
