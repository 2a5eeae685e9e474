// SPDX-License-Identifier: Apache-2.0
//
// Rounding.h: the rule of intermediate precision, and the check that it is
// kept.
//
// Several ops that stand for one - the decomposition of a composite, what an
// importer makes of a node - compute in f32 or wider where the operands are
// narrower floats, and round each result once. Between two roundings to f16 a
// square overflows from 256 on, and a mean of long lines has no digits left.
// A contraction (matmul, conv, conv_transpose) keeps narrow operands, which
// hardware multiplies, and has an attribute `wide` for sums that are not
// rounded yet. What is multiplied may have been rounded for it, as the weights
// of an attention are: sums of such factors count as exact.
#ifndef BACKPLANE_GRAPH_ROUNDING_H
#define BACKPLANE_GRAPH_ROUNDING_H

#include "Graph.h"

namespace backplane {

/// A float of less than 32 bits.
bool isNarrowFloat(DType dtype);

/// Whether the op may round its first result to a narrow float. Moves,
/// choices, sign changes and whole numbers of floats are exact.
bool roundsToNarrow(const Graph &graph, const Op &op);

/// Of the ops from number `first` on that have this location, and of those in
/// the regions among them, where one iteration takes what another gave: the one
/// that rounds to a narrow float what others of them rounded to one already;
/// null where the rule is kept.
const Op *secondRounding(const Graph &graph, size_t first,
                         std::string_view location);

} // namespace backplane

#endif // BACKPLANE_GRAPH_ROUNDING_H
