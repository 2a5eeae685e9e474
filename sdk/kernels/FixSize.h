// SPDX-License-Identifier: Apache-2.0
//
// FixSize.h: a graph for one value of a symbol. A mean divides by a size: where
// a model has that as a number, it has been computed with. Free of LLVM.
#ifndef BACKPLANE_KERNELS_FIXSIZE_H
#define BACKPLANE_KERNELS_FIXSIZE_H

#include "sdk/graph/Graph.h"

namespace backplane {

/// The symbol whose value ops of a graph of primitives compute with; none:
/// there is none, or there are several.
std::optional<std::string> computedSymbol(const Graph &primitives);

/// The graph with a size in the place of a symbol; none: it cannot be this one.
std::optional<Graph> fixSymbol(Graph graph, const std::string &symbol,
                               int64_t size);

} // namespace backplane

#endif // BACKPLANE_KERNELS_FIXSIZE_H
