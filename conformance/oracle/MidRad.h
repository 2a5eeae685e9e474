// SPDX-License-Identifier: Apache-2.0
//
// MidRad.h: a number with a bound on its error, and arithmetic that counts
// what each step of a right implementation may add to it (running error
// analysis: Higham, Accuracy and Stability of Numerical Algorithms, 3.3).
//
// A value says what is right as follows.
//   v NaN           only NaN
//   v infinite      only that infinity; e is 0
//   e finite        |x - v| <= e
//   e infinite      any number or infinity, not NaN
//   e NaN           anything at all, NaN too
#ifndef BACKPLANE_CONFORMANCE_ORACLE_MIDRAD_H
#define BACKPLANE_CONFORMANCE_ORACLE_MIDRAD_H

#include "Format.h"
#include "Numerics.h"

#include <cmath>
#include <limits>

namespace backplane::conformance {

inline constexpr Real infinity = std::numeric_limits<Real>::infinity();
inline constexpr Real notANumber = std::numeric_limits<Real>::quiet_NaN();

struct MidRad {
  Real v = 0;
  Real e = 0;

  Real low() const { return v - e; }
  Real high() const { return v + e; }
};

inline MidRad anything() { return {0, notANumber}; }
inline MidRad anyNumber(Real v) { return {v, infinity}; }
inline bool isAnything(const MidRad &x) { return std::isnan(x.e); }
/// Whether the value is one certain number, infinity or NaN.
inline bool isCertain(const MidRad &x) { return x.e == 0 || std::isnan(x.v); }
inline bool mayBeInfinite(const MidRad &x) {
  return std::isinf(x.v) || std::isinf(x.e);
}
inline bool mayBeZero(const MidRad &x) { return !(std::fabs(x.v) > x.e); }
/// The least bounded value that covers both.
MidRad hull(const MidRad &a, const MidRad &b);

/// Steps of sums, products and functions that a device computes in one
/// precision. Every result carries its own rounding.
class Arithmetic {
public:
  /// The precision that `numerics` declares for sums and for the inside of
  /// composites on `dtype`, with its largest and smallest numbers.
  Arithmetic(DType dtype, const Numerics &numerics, bool strict = false);

  /// A step's exact result with its error so far; adds the rounding of `ulps`
  /// units in the last place, ½ for a correctly rounded step.
  MidRad rounded(Real v, Real e, Real ulps = 0.5L) const;
  MidRad add(const MidRad &a, const MidRad &b) const;
  MidRad sub(const MidRad &a, const MidRad &b) const {
    return add(a, {-b.v, b.e});
  }
  MidRad mul(const MidRad &a, const MidRad &b) const;
  /// By `ulps` units, which the table of limits gives for div.
  MidRad div(const MidRad &a, const MidRad &b) const;
  MidRad sqrt(const MidRad &x) const;
  /// A number that a program carries in this precision.
  MidRad constant(Real value) const;

  Real u;       ///< largest relative error of one rounding
  Real sumU;    ///< likewise inside a sum, which ends with a rounding of u
  Real eta;     ///< largest absolute error of one rounding below all normals
  Real max;     ///< largest finite number
  int bits;     ///< significand bits
  bool strict;  ///< the limits of functions are the strict ones
  DType limits; ///< dtype whose column of the table limits functions

private:
  MidRad special(const MidRad &a, const MidRad &b, Real v,
                 bool nanNeedsZero) const;
};

/// f over the interval of x, f monotone on it: the value at v with the larger
/// distance to the values at the ends. Outside f's domain at one end: anything.
template <typename F> MidRad monotone(F f, const MidRad &x) {
  if (isCertain(x))
    return {f(x.v), 0};
  if (isAnything(x))
    return anything();
  Real v = f(x.v), low = f(x.low()), high = f(x.high());
  if (std::isnan(v) || std::isnan(low) || std::isnan(high))
    return anything();
  if (std::isinf(v))
    return low == v && high == v ? MidRad{v, 0} : anyNumber(0);
  return {v, std::max(std::fabs(low - v), std::fabs(high - v))};
}

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_ORACLE_MIDRAD_H
