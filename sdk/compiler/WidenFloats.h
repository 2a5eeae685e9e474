// SPDX-License-Identifier: Apache-2.0
//
// WidenFloats.h: ops in dtypes that a target holds and does not compute in.
#ifndef BACKPLANE_COMPILER_WIDENFLOATS_H
#define BACKPLANE_COMPILER_WIDENFLOATS_H

#include "sdk/compiler/Target.h"

namespace backplane {

/// The dtype in which an op computes and the target does not; none: the target
/// can run it as it is. What moves, chooses and converts elements computes in
/// none; composites are their backend's.
std::optional<DType> missingDType(const Target &target, const Graph &graph,
                                  const Op &op);

/// The graph with casts around each op of floats that the target holds and does
/// not compute in, so that the op is one of the next wider floats in which it
/// does. Ops of which there are none stay; so do those in regions.
Result<Graph> widenFloats(const Target &target, Graph graph);

} // namespace backplane

#endif // BACKPLANE_COMPILER_WIDENFLOATS_H
