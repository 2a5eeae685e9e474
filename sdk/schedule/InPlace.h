// SPDX-License-Identifier: Apache-2.0
//
// InPlace.h: which operands of a dispatch its result may replace in memory, as
// far as the graph decides it. The kernel has the other half of the answer: it
// must read an element for the last time before it writes that element.
#ifndef BACKPLANE_SCHEDULE_INPLACE_H
#define BACKPLANE_SCHEDULE_INPLACE_H

#include "sdk/graph/Graph.h"

namespace backplane {

/// Numbers of the inputs of a dispatch of which element i is needed for element
/// i of the result only: every way from such an input to the result leads
/// through elementwise ops of one shape, and its elements are as wide as those
/// of the result. None when there are several results.
std::vector<uint32_t> replaceableInputs(const Graph &dispatch);

} // namespace backplane

#endif // BACKPLANE_SCHEDULE_INPLACE_H
