// SPDX-License-Identifier: Apache-2.0
//
// ProbeData.h: the layout of the probes' data, which their judgement reads back
// from the outputs.
#ifndef BACKPLANE_CONFORMANCE_CASES_PROBEDATA_H
#define BACKPLANE_CONFORMANCE_CASES_PROBEDATA_H

#include "Probes.h"

namespace backplane::conformance::probe {

/// Terms of one sum.
inline constexpr size_t terms = 64;
/// Lines per number of bits: the same numbers at other places, so that every
/// order of summation brings some of them together.
inline constexpr size_t placements = 8;

/// Exponents of the ones: products of two numbers, and numbers. Half of one is
/// a normal number of every dtype, and so is a 64th of all ones.
inline constexpr int productUnit = -12, sumUnit = -9;

/// Which numbers the sums of a class can be probed with.
struct Shape {
  int unit;    ///< exponent of the ones
  int largest; ///< most bits of a large number in units
};
Shape shapeOf(std::string_view opClass, DType dtype);

/// Lines of a probe of operands for one number of bits.
inline constexpr size_t linesOfWidth = 2 * terms;
/// Bits to which operands of a dtype may be rounded, most first: those of tf32
/// and bf16, as far as it has more.
std::vector<int> narrowWidths(DType dtype);

} // namespace backplane::conformance::probe

#endif // BACKPLANE_CONFORMANCE_CASES_PROBEDATA_H
