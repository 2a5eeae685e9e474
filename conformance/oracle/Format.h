// SPDX-License-Identifier: Apache-2.0
//
// Format.h: the floating-point formats, their parameters, and how numbers turn
// into their bits and back. Free of LLVM; a test compares it with APFloat on
// all values of the narrow formats.
#ifndef BACKPLANE_CONFORMANCE_ORACLE_FORMAT_H
#define BACKPLANE_CONFORMANCE_ORACLE_FORMAT_H

#include "Tensor.h"

namespace backplane::conformance {

/// A binary format. Values are s * m * 2^(e - precision + 1) with
/// 2^(precision-1) <= m < 2^precision for normal numbers.
struct FloatFormat {
  int precision;   ///< significand bits with the hidden one: f32 24
  int minExponent; ///< of the smallest normal number: f32 -126
  int maxExponent; ///< of the largest finite number: f32 127
  Real max;        ///< largest finite value (E4M3FN: 448)
  bool hasInfinity;
};

/// The format of a float dtype; the dtype must be one.
const FloatFormat &formatOf(DType dtype);

/// The number that these bits encode; NaN for every NaN.
Real decode(DType dtype, uint64_t bits);
/// The bits of the nearest value, ties to even, rounded once. Beyond the
/// largest value: infinity, NaN in a format without infinities, and in
/// f4e2m1fn, which has no NaN either and makes it 0, the largest value. In
/// f8e8m0fnu a tie goes to the higher power, and what is below the least, also
/// what is negative, becomes the least.
uint64_t encode(DType dtype, Real value);

/// Distance between neighbours of `value` in a format: 2^(max(floor(log2|y|),
/// minExponent) - precision + 1), Muller et al., Handbook of Floating-Point
/// Arithmetic (2nd ed.), section 2.1.
Real ulp(const FloatFormat &format, Real value);
/// Unit roundoff for round to nearest: 2^-precision.
Real unitRoundoff(int precision);
/// Smallest positive number; of the normal ones when subnormals are flushed.
Real smallest(const FloatFormat &format, bool flushed);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_ORACLE_FORMAT_H
