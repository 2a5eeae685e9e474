// SPDX-License-Identifier: Apache-2.0
//
// Relaxed.h: what a declaration leaves open.
#ifndef BACKPLANE_CONFORMANCE_REPORT_RELAXED_H
#define BACKPLANE_CONFORMANCE_REPORT_RELAXED_H

#include "conformance/report/Facts.h"

namespace backplane::conformance {

/// Declarations for sums of floats, those with 0 bits counted as the dtype's.
std::vector<DeclaredNumerics> sumsOf(const RunFacts &facts);
/// "DOT of f16 in 24 bits".
std::string describe(const DeclaredNumerics &numerics);
/// What is not as exact as it is by default: sums in fewer bits, rounding to
/// zero, subnormal numbers that are flushed.
std::vector<std::string> relaxedOf(const RunFacts &facts);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_REPORT_RELAXED_H
