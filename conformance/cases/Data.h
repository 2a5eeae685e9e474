// SPDX-License-Identifier: Apache-2.0
//
// Data.h: the named data sets. Element i of input j is a function of the data
// set, the rule of the input, the seed, i and j alone: no state, no standard
// distributions, the same bytes on every machine.
//
//   uniform     [-4, 4), integers in [-9, 9]
//   special     zeros, subnormals, limits, infinities, NaN, ties, all pairs
//   exhaustive  all bit patterns; all pairs for two inputs of 8 bits
//   bits        random bit patterns, subnormals and NaN among them
//   integers    small integers whose sums are exact in any order
//   one-hot     codes times a single 1: the output names the element read
//   cancel      x, -x, 2x, -2x, …
//   equal       one value everywhere
//   offset      1e6 + N(0, 1) in f32; in other dtypes a power of ten that
//               leaves the deviates a few bits; integers around 100
//   swamping    input 0: 2^11 (2^p where that is less), ones, -2^11, with a
//               period of 16; other inputs are 1. A narrow accumulator loses
//               the ones; one of 24 bits is exact for up to 65280 terms
//   alternating numbers in [0.5, 4) with alternating signs
//   sparse      zero but for one in eight, which is as in `uniform`
//   corners     as `uniform`, but NaN at all corners of tiles of 16 by 16 in
//               the last two axes; the same bits in integers
//   pi          m / 8 * pi * 2^e for m up to 15 and e up to 100, as far as the
//               dtype reaches, and their neighbours
//   ties        halfway between neighbours of each narrower float format, one
//               unit beside that, and so close to it that a format between
//               makes it a tie (double rounding); also n + 1/2 and beside.
//               Integers: halfway between neighbours of float formats
//   errors      as `uniform`, but indices outside of their bound and integer
//               divisors of 0 among the others: the device must report an error
//   one-index, falling-indices, next-indices
//               as `uniform`, but all indices equal, from the end of the range
//               to its beginning, or one after the other from some index on
//   shifted     2^(p/2) plus noise: variances of one pass have no digits
//   wide        up to +-100, f64 +-1000: exp overflows without a shift
//   far         1024 + N(0, 32): means that narrow floats cannot count
//   squares     +-[200, 1000): squares beyond f16
//   swing       input 0: 49152 twice, then -49152 twice; other inputs are 1
//   factors     256 twice, then 1/256 twice, then ones
//   reach-N     +-[0.5, 1.5), but NaN and infinities in single elements of
//               input N
//
// Values that models have (ValueData.h). Sums of products have them in the
// first operand; the others are numbers near 1:
//
//   mixture     all kinds below in one tensor; integers: rails and neighbours,
//               powers of two, any
//   magnitudes  1e-30 to 1e30, as far as the dtype reaches
//   large       from 1e4 to 1e7, with digits after the point
//   scaled      up to one bound, which is drawn from the seed
//   outliers    N(0, 1), in few channels times 100 to 1000
//   subnormals  subnormal numbers and the smallest normal ones
//   nans        NaN, quiet and signalling, with any sign and payload, among
//               numbers
//   zeros       zeros of both signs, three of four elements
//   cancellation  a number and its negative with half of the digits changed
//   rails       floats: the largest numbers, and halves up to +-260; integers:
//               the least and the largest
//
// Patterns that models have (PatternData.h), in the first operand, in the
// others or in all, as the case draws:
//
//   pruned      zero but for 0.2 to 10 %
//   all-zero    zeros; all-one: ones
//   rising      sorted from -4 to 4; falling: the other way
//   few-values  4 to 32 numbers, as of weights that were quantized to a table
//   positive    within 0 and 1, 4, 99 or 255; negative: the same below zero
//   distant     a mean of which the deviates change the last digits
//   masked      0 or -10000, as added to scores of attention
//   symmetric   in the last two axes, which are equal where the unit can be so
//   diagonal    zero beside the diagonal of the last two axes
//   equal-rows  all rows alike; equal-columns: all columns alike
//   even        0, 1, 2, … up to 1999 and again, or from -4 to 4 in even steps
//   one-number  one element alone is not 0; one-infinity: one is infinite
//   same        operands of one shape are equal
//   patterned   a pattern for each operand, drawn from the seed
#ifndef BACKPLANE_CONFORMANCE_CASES_DATA_H
#define BACKPLANE_CONFORMANCE_CASES_DATA_H

#include "Case.h"
#include "conformance/oracle/RandomBits.h"

namespace backplane::conformance {

/// FNV-1a of a text: seeds come from ids.
uint64_t hashText(std::string_view text);
/// The numbers that functions go wrong at, as bits, for any dtype.
std::vector<uint64_t> specialBits(DType dtype);
/// Whether there is a data set of this name. An unknown one leaves zeros.
bool isDataSet(std::string_view name);
/// Whether errors of a data set are random, so that statistics mean something.
bool isRandom(std::string_view dataSet);
/// Whether sums of products of a data set are exact in 24 bits.
bool isExact(std::string_view dataSet);
/// The input of this type at the sizes of a case.
Tensor madeInput(const TensorType &type, const InputRule &rule, size_t input,
                 const Case &testCase);
/// Fills a tensor that has dtype, dims and zeroed bytes.
void fill(Tensor &tensor, const InputRule &rule, size_t input,
          const Case &testCase);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_CASES_DATA_H
