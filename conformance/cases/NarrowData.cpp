// SPDX-License-Identifier: Apache-2.0
//
// Data that narrow intermediates cannot hold, and single numbers that must
// stay where they belong.
#include "DataSets.h"

#include "conformance/oracle/MidRad.h"

namespace backplane::conformance {

namespace {

Real signOf(const Location &location) {
  return (location.random >> 32) % 2 ? Real(-1) : Real(1);
}

/// 1024 and a nearly normal deviate of 32: few of them sum up beyond f16, and a
/// mean of many keeps no digit in 8 or 11 bits.
uint64_t far(const Location &location) {
  return put(location, 1024 + 32 * normalDeviate(location.random));
}

/// Either sign, from 200 to 1000: most squares are beyond f16.
uint64_t squares(const Location &location) {
  return put(location,
             signOf(location) * (200 + 800 * fractionOf(location.random)));
}

/// Two large numbers, then their negatives: sums stay small, but what two of
/// them make is beyond f16. Other inputs are 1.
uint64_t swing(const Location &location) {
  if (location.input != 0)
    return put(location, 1);
  return put(location, location.index % 4 < 2 ? 49152 : -49152);
}

/// Twice 256, twice its reciprocal, then ones: the product of two is beyond
/// f16, that of all is 1, and in any order f32 holds what there is of them.
uint64_t factors(const Location &location) {
  size_t step = location.index % 120;
  return put(location, step < 2 ? Real(256) : step < 4 ? Real(1) / 256 : 1);
}

/// Small numbers, and in one input NaN and infinities far from each other.
template <size_t Input> uint64_t reach(const Location &location) {
  size_t step = location.index % 37;
  if (location.input == Input && step == 5)
    return put(location, notANumber);
  if (location.input == Input && step == 23)
    return put(location, signOf(location) * infinity);
  return put(location,
             signOf(location) * (Real(0.5) + fractionOf(location.random)));
}

constexpr NamedDataSet dataSets[] = {
    {"far", far},          {"squares", squares},  {"swing", swing},
    {"factors", factors},  {"reach-0", reach<0>}, {"reach-1", reach<1>},
    {"reach-2", reach<2>},
};

} // namespace

DataSet findNarrowData(std::string_view name) { return findIn(dataSets, name); }

} // namespace backplane::conformance
