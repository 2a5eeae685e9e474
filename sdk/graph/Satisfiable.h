// SPDX-License-Identifier: Apache-2.0
//
// Satisfiable.h: whether any sizes fit a graph.
#ifndef BACKPLANE_GRAPH_SATISFIABLE_H
#define BACKPLANE_GRAPH_SATISFIABLE_H

#include "Graph.h"

namespace backplane {

/// Fails, naming the op, when it is proven that no values of the symbols within
/// their ranges satisfy the assertions of the graph. The search is bounded:
/// what it cannot decide passes, and each call asks the assertions anyway.
Status checkSatisfiable(const Graph &graph);

} // namespace backplane

#endif // BACKPLANE_GRAPH_SATISFIABLE_H
