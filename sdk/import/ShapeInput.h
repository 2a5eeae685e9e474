// SPDX-License-Identifier: Apache-2.0
//
// ShapeInput.h: known integers as sizes, counts and bounds of result dims.
#ifndef BACKPLANE_IMPORT_SHAPEINPUT_H
#define BACKPLANE_IMPORT_SHAPEINPUT_H

#include "DataSizes.h"

namespace backplane::frontend {

/// An element that must not be negative: a plain negative number is rejected,
/// an expression that could be negative gets an assertion.
Dim requireSize(Node &node, const KnownElement &element, std::string_view what);
/// The same for one that may be data, which is then read: see readSize. It has
/// the number `at` among those called `what`.
Dim requireSize(Node &node, const DataElement &element, std::string_view what,
                size_t at, std::optional<Dim> most = std::nullopt,
                std::optional<size_t> axis = std::nullopt);
/// All elements of a rank-1 input as sizes. Those that are data have the bounds
/// of the axes of the first output.
Dims requireSizes(Node &node, size_t input, std::string_view what);
/// Checks that the static sizes of dims stay within what a tensor may have.
void checkCount(Node &node, const Dims &dims);

} // namespace backplane::frontend

#endif // BACKPLANE_IMPORT_SHAPEINPUT_H
