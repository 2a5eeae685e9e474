// SPDX-License-Identifier: Apache-2.0
//
// Flops.h: the float work of a dispatch, for traces and estimates.
#ifndef BACKPLANE_COMPILER_FLOPS_H
#define BACKPLANE_COMPILER_FLOPS_H

#include "sdk/graph/Graph.h"

namespace backplane {

/// Multiplications and additions of the float contractions in a graph (matmul,
/// conv, conv_transpose: two for each pair of elements). None when it has none
/// or the expression is too large; other ops are not counted.
std::optional<Dim> flopsOf(const Graph &graph);

} // namespace backplane

#endif // BACKPLANE_COMPILER_FLOPS_H
