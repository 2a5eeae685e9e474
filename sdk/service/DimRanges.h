// SPDX-License-Identifier: Apache-2.0
//
// DimRanges.h: limits of a model's symbolic dims that a user states.
#ifndef BACKPLANE_SERVICE_DIMRANGES_H
#define BACKPLANE_SERVICE_DIMRANGES_H

#include "sdk/graph/Graph.h"

namespace backplane::rt {

/// A symbol with the values that calls will give it, both ends inclusive.
struct DimRange {
  std::string symbol;
  int64_t minimum = 0;
  int64_t maximum = 0;
};

/// Narrows the ranges of the graph's symbols, and with them the bounds of its
/// reads. Refuses a read that has no bound then, a range that is empty or
/// negative, one outside of what the model allows, and a symbol that the graph
/// does not have, naming those that it has.
Status narrowDims(Graph &graph, std::span<const DimRange> ranges);

} // namespace backplane::rt

#endif // BACKPLANE_SERVICE_DIMRANGES_H
