// SPDX-License-Identifier: Apache-2.0
//
// MatchChecks.h: whether ops that look like a pattern may be one call. Private
// to sdk/kernels.
#ifndef BACKPLANE_KERNELS_MATCHCHECKS_H
#define BACKPLANE_KERNELS_MATCHCHECKS_H

#include "sdk/kernels/Matcher.h"

namespace bp {

/// Why not: a condition that is not proved, a value within the group that is
/// used outside, or a path that leaves the group and comes back; empty: they
/// may.
std::string checkMatch(const MatchedModel &model, const PatternMatch &match,
                       const ValueMap &values);

} // namespace bp

#endif // BACKPLANE_KERNELS_MATCHCHECKS_H
