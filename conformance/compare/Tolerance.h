// SPDX-License-Identifier: Apache-2.0
//
// Tolerance.h: every limit of the suite as one function, with its derivation
// or its source. No limit is chosen by hand and none comes from a vendor: what
// a target declares (Numerics.h) gives precisions, the data give magnitudes,
// and the functions give what a right implementation can be off by
// (docs/explanation/conformance.md).
//
// u is the unit roundoff 2^-p, eta the smallest positive number, B the sum of
// absolute products, n the number of terms.
#ifndef BACKPLANE_CONFORMANCE_COMPARE_TOLERANCE_H
#define BACKPLANE_CONFORMANCE_COMPARE_TOLERANCE_H

#include "conformance/oracle/Format.h"
#include "conformance/oracle/Numerics.h"

namespace backplane::conformance {

// ---- ULP: functions of one element ----

/// k * ulp(y) + eta. ulp is that of the binade of the exact value, so the
/// correctly rounded result passes for every k >= 1/2 (Muller et al., Handbook
/// of Floating-Point Arithmetic, section 2.1); eta covers results below the
/// normal range, which some targets round twice or flush.
Real ulpLimit(const FloatFormat &format, Real exact, double k, bool flushed);
/// Whether a result within `limit` of `exact` may lie above the largest number
/// of the format, so that infinity is right (NaN where the format has no
/// infinities): y + limit > max. IEEE 754-2019, section 7.4. For the negative
/// end give -y.
bool mayOverflow(const FloatFormat &format, Real exact, Real limit);
/// Whether a zero of either sign is right because the target flushes results
/// below the normal range: |y| - limit < 2^minExponent.
bool mayFlush(const FloatFormat &format, Real exact, Real limit,
              const Numerics &numerics);

// ---- DOT: sums of products ----

/// One output of a sum of products.
struct Dot {
  FloatFormat output;
  int accumulatorBits = 24;     ///< p of the accumulator
  Real accumulatorSmallest = 0; ///< eta of the accumulator
  bool roundsToZero = false;
  double terms = 0;    ///< n: K, and 1 more for a bias
  Real magnitude = 0;  ///< B: sum of |a||b|, and |c|
  int operandBits = 0; ///< p of demoted operands; 0: not demoted
};

/// The largest error of any order of summation, tree or use of FMA:
///   R n u_a B + R u_o (|y| + R n u_a B) + n eta_a + eta_o (+ 2 u_in B)
/// with R = 1 for round to nearest (Jeannerod and Rump, Improved error bounds
/// for inner products in floating-point arithmetic, SIAM J. Matrix Anal. Appl.
/// 34, 2013: n u without a second-order term) and R = 2 for rounding to zero,
/// where the term is multiplied by 1 + 2 n u_a.
Real dotLimit(const Dot &dot, Real exact);
/// Standard deviation of the error of random data: 0.29 sqrt(n) u_a B +
/// u_o |y|. A rounding error is uniform in one ulp, so its deviation is
/// 1/sqrt(12) = 0.29 of it; errors add like a random walk (Higham and Mary, A
/// new approach to probabilistic rounding error analysis, SIAM J. Sci. Comput.
/// 41, 2019).
Real dotSigma(const Dot &dot, Real exact);
/// Whether every partial sum is exact, so that the limit is zero in any order:
/// integers with a sum of |ab| of at most 2^accumulatorBits. (oneDNN's benchdnn
/// uses such data.)
bool isExactDot(const Dot &dot);

// ---- gates over many outputs ----

/// Outputs from which on statistics mean something.
inline constexpr uint64_t statisticsFrom = 1000;
/// Largest RMS of error / sigma. Right implementations stay below 0.4 in the
/// simulation of ToleranceTest; a dropped term gives 28 and more.
inline constexpr double rmsLimit = 3;
/// Largest |mean(error / sigma)| of `count` outputs: 0.1 + 4 rms / sqrt(count),
/// four standard errors of the mean beside a tenth of sigma.
double biasLimit(double rms, uint64_t count);

// ---- REDUCE ----

/// A sum of n terms has n - 1 additions; a mean one operation more.
Real sumLimit(Dot dot, Real exact, bool mean);
/// |y| ((1 + u)^n - 1): n roundings of relative size u (Higham, Accuracy and
/// Stability of Numerical Algorithms, lemma 3.1), rounding to the output
/// included in n.
Real productLimit(Real exact, double terms, int precision);

// ---- QUANT ----

/// Whether `got` is right for round(x) saturated to [low, high] when x was
/// computed in floats of `precision` bits: the nearest integer, ties to even,
/// or the neighbour when x lies within 2 u |x| of a tie.
bool requantizeAccepts(Real scaled, int precision, int64_t low, int64_t high,
                       int64_t got);

// ---- GRAPH ----

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
