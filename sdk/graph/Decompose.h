// SPDX-License-Identifier: Apache-2.0
//
// Decompose.h: composites into primitives. The decomposition of a composite is
// its meaning: backends that do not claim it run this.
#ifndef BACKPLANE_GRAPH_DECOMPOSE_H
#define BACKPLANE_GRAPH_DECOMPOSE_H

#include "Graph.h"

namespace backplane {

/// The graph with every composite for which `keep` is false decomposed, down
/// to primitives, in regions too unless `inRegions` is false. Locations carry
/// the name of the composite. Types of graph outputs stay.
Result<Graph> decompose(const Graph &graph,
                        const std::function<bool(const Op &)> &keep,
                        bool inRegions = true);

} // namespace backplane

#endif // BACKPLANE_GRAPH_DECOMPOSE_H
