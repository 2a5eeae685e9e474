// SPDX-License-Identifier: Apache-2.0
//
// GeneratedCost.h: how long generated code is expected to take for a graph,
// which the cost of a registered kernel is compared with.
#ifndef BACKPLANE_COMPILER_GENERATEDCOST_H
#define BACKPLANE_COMPILER_GENERATEDCOST_H

#include "sdk/compiler/Target.h"

#include <set>

namespace backplane {

/// Estimated ns of one worker: what takes longer, the arithmetic or moving
/// inputs and outputs, with a constant for the dispatch. Of what other ops
/// compute in the same dispatch, `fused`, nothing is moved, nor would be by
/// them, and the dispatch is theirs. The rates are the
/// target's properties `flops_per_us` and `bytes_per_us`, or come from its
/// vectors. None: the sizes give no number.
std::optional<double> generatedNs(const Target &target, const Graph &graph,
                                  const SymbolValues &sizes,
                                  const std::set<int32_t> &fused = {});

} // namespace backplane

#endif // BACKPLANE_COMPILER_GENERATEDCOST_H
