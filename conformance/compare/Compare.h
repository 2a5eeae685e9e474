// SPDX-License-Identifier: Apache-2.0
//
// Compare.h: judges what a device gave against what the oracle expects.
//
// A comparison never skips an element, and a NaN is only equal to an expected
// NaN. Every formula is a function of Tolerance.h.
#ifndef BACKPLANE_CONFORMANCE_COMPARE_COMPARE_H
#define BACKPLANE_CONFORMANCE_COMPARE_COMPARE_H

#include "conformance/oracle/Oracle.h"

#include <array>

namespace backplane::conformance {

/// Bins of error in units in the last place: 0, <=½, <=1, <=2, <=4, <=16,
/// <=256, more.
using UlpHistogram = std::array<uint64_t, 8>;

/// The judgement of one output.
struct Verdict {
  bool pass = false;
  std::string reason; ///< why not, for people
  /// Largest error as a share of its limit; above 1 fails. 0 for exact ones
  /// that match, infinity for exact ones that do not.
  double limitUsed = 0;
  size_t worst = 0;      ///< index of that element
  std::string got, want; ///< that element in text, with its bits
  double limit = 0;      ///< of that element
  double rms = 0;        ///< RMS of error / sigma, 0 without statistics
  double bias = 0;       ///< mean of error / sigma
  uint64_t elements = 0; ///< compared
  /// Of these, elements for which the oracle lets every number pass. The runner
  /// mistrusts a case that has no others.
  uint64_t unbounded = 0;
  UlpHistogram ulps{};
};

/// dtype, dims and every element of `got` against `expected`.
Verdict compare(const Expected &expected, const Tensor &got,
                const Numerics &numerics);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_COMPARE_COMPARE_H
