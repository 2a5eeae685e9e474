// SPDX-License-Identifier: Apache-2.0
//
// GraphRules.h: how the inputs of any graph are filled, from what its ops do
// with them.
#ifndef BACKPLANE_CONFORMANCE_KERNELS_GRAPHRULES_H
#define BACKPLANE_CONFORMANCE_KERNELS_GRAPHRULES_H

#include "conformance/cases/Case.h"

namespace backplane::conformance {

/// One rule for each input of the graph: indices lie within the axis that they
/// choose from, integers that something is divided by are not 0, what roots and
/// logarithms are taken of is positive. Other floats lie in [-1, 1).
std::vector<InputRule> rulesOf(const Graph &graph);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_KERNELS_GRAPHRULES_H
