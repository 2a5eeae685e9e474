// SPDX-License-Identifier: Apache-2.0
//
// Sums.h: the limits of long sums, of products or of single elements.
#ifndef BACKPLANE_CONFORMANCE_ORACLE_SUMS_H
#define BACKPLANE_CONFORMANCE_ORACLE_SUMS_H

#include "Value.h"

namespace backplane::conformance {

/// One sum: y, the absolute sums of its positive and of its negative terms, and
/// what errors of operands make. Terms of both signs that overflow on the way
/// may meet as NaN.
struct Sum {
  Real value = 0;
  Real positive = 0;
  Real negative = 0;
  Real error = 0;

  /// A term with the largest absolute value that it may have.
  void add(Real term, Real largest, Real termError = 0) {
    value += term;
    (term < 0 ? negative : positive) += largest;
    error += termError;
  }
  /// B, the sum of absolute terms.
  Real magnitude() const { return positive + negative; }
};

/// An operand unpacked.
struct Elements {
  explicit Elements(const Value &value);
  Real error(size_t i) const { return errors.empty() ? 0 : errors[i]; }
  /// The largest q such that every finite element is a multiple of 2^q; the
  /// exponent of nothing but zeros is 0. Far below all formats when elements
  /// are not certain.
  int lowBit() const;
  /// Adds what rounding to fewer significand bits makes of the elements; those
  /// that have no more stay as they are.
  void demote(const FloatFormat &format, int bits);

  std::vector<Real> values, errors; ///< errors: empty when all are certain
};

/// E = R n u_a B + R u_o (|y| + R n u_a B) + n eta_a + eta_o, and zero where
/// every term is a multiple of 2^lowBit and B shows that no partial sum can
/// need rounding.
class Limits {
public:
  Limits(const Step &step, Real terms, int lowBit);
  /// MidRad elements with sigma.
  void fill(const std::vector<Sum> &sums, Value &result) const;
  /// One sum before it is rounded to the result.
  MidRad accumulated(const Sum &sum) const;

  const Step &step;
  Arithmetic arithmetic;
  Real terms;
  int lowBit;
};

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_ORACLE_SUMS_H
