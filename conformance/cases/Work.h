// SPDX-License-Identifier: Apache-2.0
//
// Work.h: how large a case is: what a badge says was tested, and what a budget
// of a device is spent on.
#ifndef BACKPLANE_CONFORMANCE_CASES_WORK_H
#define BACKPLANE_CONFORMANCE_CASES_WORK_H

#include "sdk/graph/Graph.h"

namespace backplane::conformance {

struct Work {
  uint64_t elements = 0; ///< of the largest tensor, interior ones included
  uint64_t rank = 0;     ///< of the value with the most axes
  /// Multiply-adds of products, convolutions and pools; any other op counts one
  /// for each element of its largest operand or result. Regions count once.
  uint64_t macs = 0;
};

/// The work of one call with these sizes. Values whose size depends on anything
/// else are left out; counts end at UINT64_MAX.
Work workOf(const Graph &graph, const SymbolValues &symbols);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_CASES_WORK_H
