// SPDX-License-Identifier: Apache-2.0
//
// DecomposeRules.h: the decomposition of each composite; private to sdk/graph.
#ifndef BACKPLANE_GRAPH_DECOMPOSERULES_H
#define BACKPLANE_GRAPH_DECOMPOSERULES_H

#include "Graph.h"

namespace backplane {

/// Appends the primitives that a composite stands for, and gives its result.
/// Composites of narrow floats compute in f32, so that the result is rounded
/// once.
Result<ValueId> decomposeOp(Graph &graph, const Op &composite,
                            const std::vector<ValueId> &operands,
                            const std::string &location);

} // namespace backplane

#endif // BACKPLANE_GRAPH_DECOMPOSERULES_H
