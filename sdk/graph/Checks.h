// SPDX-License-Identifier: Apache-2.0
//
// Checks.h: what building and verifying a graph share. Private to sdk/graph.
#ifndef BACKPLANE_GRAPH_CHECKS_H
#define BACKPLANE_GRAPH_CHECKS_H

#include "OpTable.h"

namespace backplane {

/// Of a tensor of static sizes, as importers hold it too: products of sizes and
/// widths stay within 64 bits.
inline constexpr int64_t maxElements = int64_t(1) << 46;

/// Name, range and divisor make sense.
Status checkSymbol(const Symbol &symbol);
/// A variable_read or variable_write names a variable of its type; other ops
/// pass.
Status checkVariableUse(const Graph &graph, const OpUse &use);
/// Verifies a region of an op of `around`, whose symbols it sees.
Status verifyRegion(const Graph &region, const Graph &around);
/// What has to hold when a program is called, because plain algebra does not
/// show it: element counts of a reshape are equal, slices stay inside, sizes
/// are not negative.
/// The ranges of the symbols count as known.
std::vector<DimAssertion> obligations(const OpUse &use,
                                      std::span<const TensorType> results,
                                      std::span<const Symbol> symbols,
                                      const std::string &location);

} // namespace backplane

#endif // BACKPLANE_GRAPH_CHECKS_H
