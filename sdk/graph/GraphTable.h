// SPDX-License-Identifier: Apache-2.0
//
// GraphTable.h: the C view of graphs (backplane/graph.h) over Graph, and how
// C++ code of the host hands graphs to C and back without going through bytes.
#ifndef BACKPLANE_GRAPH_GRAPHTABLE_H
#define BACKPLANE_GRAPH_GRAPHTABLE_H

#include "Graph.h"
#include "backplane/graph.h"

namespace backplane {

/// The table that plug-ins get as the extension "backplane.graph"; static.
const bp_graph_table_t *graphTable();

/// The graph behind an open handle; lives as long as the handle.
const Graph &graphOf(const bp_graph_t *graph);

/// A handle that owns a graph, which must verify. Freed with
/// graphTable()->graph_close.
bp_graph_t *wrapGraph(Graph graph);

} // namespace backplane

#endif // BACKPLANE_GRAPH_GRAPHTABLE_H
