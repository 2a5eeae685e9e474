// SPDX-License-Identifier: Apache-2.0
//
// Element.h: one number as the bytes of one element, for constants that stand
// in a graph.
#ifndef BACKPLANE_SUPPORT_ELEMENT_H
#define BACKPLANE_SUPPORT_ELEMENT_H

#include "Bytes.h"
#include "DType.h"

#include <cstddef>
#include <span>

namespace backplane {

/// `value` as an element: floats round to nearest even, integers truncate and
/// saturate (NaN is 0), bool is value != 0. A 4-bit element takes the low half
/// of one byte.
Bytes encodeElement(DType type, double value);
/// Element `index` of packed elements; 0 outside. 64-bit integers round.
double decodeElement(DType type, std::span<const uint8_t> data, size_t index);

} // namespace backplane

#endif // BACKPLANE_SUPPORT_ELEMENT_H
