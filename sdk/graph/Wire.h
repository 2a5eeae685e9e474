// SPDX-License-Identifier: Apache-2.0
//
// Wire.h: graphs as bytes (FlatBuffers, schema in graph.fbs) and back.
#ifndef BACKPLANE_GRAPH_WIRE_H
#define BACKPLANE_GRAPH_WIRE_H

#include "Graph.h"

namespace backplane {

/// The wire form. Deterministic: equal graphs give equal bytes.
Bytes writeGraph(const Graph &graph);
/// Verifies the buffer, reads it and verifies the graph. Safe on any bytes:
/// counts are checked before anything is allocated.
Result<Graph> readGraph(std::span<const uint8_t> wire);

} // namespace backplane

#endif // BACKPLANE_GRAPH_WIRE_H
