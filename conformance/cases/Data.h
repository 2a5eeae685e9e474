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
//   cancel      x, -x, tiny
//   equal       one value everywhere
//   others      Patterns.h
#ifndef BACKPLANE_CONFORMANCE_CASES_DATA_H
#define BACKPLANE_CONFORMANCE_CASES_DATA_H

#include "Case.h"

namespace backplane::conformance {

/// Random bits of a counter (SplitMix64 of seed and index).
uint64_t randomBits(uint64_t seed, uint64_t index);
/// FNV-1a of a text: seeds come from ids.
uint64_t hashText(std::string_view text);
/// The numbers that functions go wrong at, as bits, for any dtype.
std::vector<uint64_t> specialBits(DType dtype);
/// Whether errors of a data set are random, so that statistics mean something.
bool isRandom(std::string_view dataSet);
/// Whether sums of products of a data set are exact in 24 bits.
bool isExact(std::string_view dataSet);
/// Fills a tensor that has dtype, dims and zeroed bytes.
void fill(Tensor &tensor, const InputRule &rule, size_t input,
          const Case &testCase);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_CASES_DATA_H
