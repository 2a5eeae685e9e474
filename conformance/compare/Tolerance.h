// SPDX-License-Identifier: Apache-2.0
//
// Tolerance.h: what results may be off by beyond the errors that the oracle
// bounds, each limit with its derivation or its source. None is chosen by hand
// and none comes from a vendor (docs/explanation/conformance.md).
#ifndef BACKPLANE_CONFORMANCE_COMPARE_TOLERANCE_H
#define BACKPLANE_CONFORMANCE_COMPARE_TOLERANCE_H

#include "conformance/oracle/Format.h"
#include "conformance/oracle/Numerics.h"

namespace backplane::conformance {

// ---- single elements ----

/// Whether a result within `limit` of `exact` may lie above the largest number
/// of the format, so that infinity is right (NaN where the format has no
/// infinities): y + limit > max. IEEE 754-2019, section 7.4. For the negative
/// end give -y.
bool mayOverflow(const FloatFormat &format, Real exact, Real limit);
/// Whether a zero of either sign is right because the target flushes results
/// below the normal range: |y| - limit < 2^minExponent.
bool mayFlush(const FloatFormat &format, Real exact, Real limit,
              const Numerics &numerics);

// ---- gates over many outputs ----

/// Outputs from which on statistics mean something.
inline constexpr uint64_t statisticsFrom = 1000;
/// Largest RMS of error / sigma. Right implementations stay below 0.4 in the
/// SimulationTest; a dropped term gives 28 and more.
inline constexpr double rmsLimit = 3;
/// Largest |mean(error / sigma)| of `count` outputs: 0.1 + 4 rms / sqrt(count),
/// four standard errors of the mean beside a tenth of sigma.
double biasLimit(double rms, uint64_t count);

// ---- graphs ----

/// Spread of reference runs with random order and random rounding of edges.
struct Envelope {
  Real sigma = 0; ///< standard deviation of this element over the runs
  Real ulp = 0;   ///< of the output dtype at the exact value
};
/// 8 sigma + 4 ulp: the limit of one element.
Real envelopeLimit(const Envelope &envelope);
/// The largest RMS of error / sigma over a tensor: 2 for precisions of f32 and
/// more, 3 below (TorchInductor's rule, made element-wise).
double envelopeRms(int precision);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_COMPARE_TOLERANCE_H
