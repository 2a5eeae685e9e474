// SPDX-License-Identifier: Apache-2.0
//
// DataSets.h: the table of data sets that Data.h documents. Each is a function
// from one element's location to its bits.
#ifndef BACKPLANE_CONFORMANCE_CASES_DATASETS_H
#define BACKPLANE_CONFORMANCE_CASES_DATASETS_H

#include "Case.h"

namespace backplane::conformance {

/// An element to fill.
struct Location {
  const Tensor &tensor; ///< dtype and dims count, not the bytes
  const InputRule &rule;
  const std::vector<uint64_t> &special; ///< specialBits of the dtype
  int64_t terms;                        ///< value of rule.terms, at least 1
  size_t input;
  size_t index;
  uint64_t seed;   ///< of this input
  uint64_t random; ///< of this element

  DType dtype() const { return tensor.dtype; }
};

using DataSet = uint64_t (*)(const Location &location);
using NamedDataSet = std::pair<std::string_view, DataSet>;

/// The data set of this name; null for an unknown one.
DataSet findDataSet(std::string_view name);
/// The same of some.
DataSet findIn(std::span<const NamedDataSet> dataSets, std::string_view name);
/// Of those in NarrowData.cpp.
DataSet findNarrowData(std::string_view name);

/// Mixes the number of an input into the seed of a case; done twice, it is that
/// of the case again.
uint64_t withInput(uint64_t seed, size_t input);
/// All bits that an element of a dtype has.
uint64_t maskOf(DType dtype);
/// Bits of a number: nearest for floats, wrapped for integers.
uint64_t bitsOfNumber(DType dtype, Real value);
/// The same in the dtype of the element.
uint64_t put(const Location &location, Real value);
/// The largest numbers of f32 in sums are those of bf16, which tf32 has, too: a
/// target that rounds factors to these still has results to compare.
uint64_t summable(const Location &location, uint64_t bits);
/// In [0, 1), with 53 bits.
double fractionOf(uint64_t random);
/// Mean 0, deviation 1, nearly normal: the sum of four uniform numbers.
double normalDeviate(uint64_t random);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_CASES_DATASETS_H
