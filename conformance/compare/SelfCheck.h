// SPDX-License-Identifier: Apache-2.0
//
// SelfCheck.h: whether the comparator itself works, run before every
// conformance run. A fixed set of small comparisons with known answers; each
// kind of broken comparator that other suites had is named by one of them.
#ifndef BACKPLANE_CONFORMANCE_COMPARE_SELFCHECK_H
#define BACKPLANE_CONFORMANCE_COMPARE_SELFCHECK_H

#include "Compare.h"

namespace backplane::conformance {

/// How a comparator can be broken on purpose, to show that the self-checks
/// would notice (mutants 52 to 55). Nothing but tests and the mutant run sets
/// one of these.
struct Weakness {
  bool comparesExpectedWithItself = false; ///< 52: NaN test on `expected`
  double toleranceFactor = 1;              ///< 53: limits times this
  size_t onlyFirst = SIZE_MAX;             ///< 54: elements looked at
  bool passesWhatItSkips = false; ///< 55: wrong dtype, dims or size is a pass
};

/// compare with a weakness.
Verdict compareWeakly(const Expected &expected, const Tensor &got,
                      const Numerics &numerics, const Weakness &weakness);

using Comparator =
    std::function<Verdict(const Expected &, const Tensor &, const Numerics &)>;

/// The names of the self-checks that a comparator fails; empty when it works.
std::vector<std::string> failedSelfChecks(const Comparator &comparator);

/// Success, or an internal error that names what the comparator gets wrong.
Status checkComparator(const Comparator &comparator = compare);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_COMPARE_SELFCHECK_H
