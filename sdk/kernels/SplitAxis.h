// SPDX-License-Identifier: Apache-2.0
//
// SplitAxis.h: a graph whose first axis is several in a model. Free of LLVM.
#ifndef BACKPLANE_KERNELS_SPLITAXIS_H
#define BACKPLANE_KERNELS_SPLITAXIS_H

#include "sdk/graph/Graph.h"

namespace backplane {

/// A graph that computes the same bytes as another one of less axes.
struct SplitGraph {
  Graph graph;
  std::string symbol; ///< of the other graph: the product of some of this one
  Dim product;
};

/// The graph with `extra` axes more in front of all values whose first axis is
/// that of the first output: [m, k] becomes [m_0, m_1, k]. None where that axis
/// is no bare symbol, is an axis elsewhere, or is what an op works on.
std::optional<SplitGraph> splitFirstAxis(const Graph &graph, size_t extra);

/// As many as `extra` is worth trying.
inline constexpr size_t maxExtraAxes = 2;

} // namespace backplane

#endif // BACKPLANE_KERNELS_SPLITAXIS_H
