// SPDX-License-Identifier: Apache-2.0
//
// Elementwise.h: the numbers that elementwise ops and casts are tested with.
#ifndef BACKPLANE_REFERENCE_TEST_ELEMENTWISE_H
#define BACKPLANE_REFERENCE_TEST_ELEMENTWISE_H

#include "Harness.h"

#include <cmath>
#include <functional>
#include <limits>

namespace reftest {

inline const double inf = std::numeric_limits<double>::infinity();
inline const double nan_ = std::numeric_limits<double>::quiet_NaN();

inline std::vector<double> interesting() {
  std::vector<double> values = {0.0,  -0.0, 1.0,    -1.0,   0.5,  -0.5, 1.5,
                                2.5,  -2.5, 3.75,   -7.25,  1e-3, 20,   -20,
                                inf,  -inf, nan_,   65504,  1e-8, 3e-5, 100,
                                -100, 0.1,  5.9e-8, 6.1e-5, 2e30, -2e30};
  std::mt19937 random(7);
  while (values.size() < 600)
    values.push_back(double(random()) / 4294967296.0 * 12 - 6);
  return values;
}

/// Edge values and random bits of an integer dtype.
inline std::vector<int64_t> integers(bp_dtype_t dtype) {
  std::vector<int64_t> values = {lowest(dtype),
                                 wrapped(dtype, lowest(dtype) + 1),
                                 wrapped(dtype, -1),
                                 0,
                                 1,
                                 2,
                                 7,
                                 highest(dtype),
                                 wrapped(dtype, highest(dtype) - 1)};
  std::mt19937_64 random(3);
  while (values.size() < 24)
    values.push_back(wrapped(dtype, int64_t(random())));
  return values;
}

/// Calls `check` with each direction of `compare` and the relation that it is.
template <typename T> void checkDirections(auto check) {
  check("eq", std::equal_to<T>());
  check("ne", std::not_equal_to<T>());
  check("lt", std::less<T>());
  check("le", std::less_equal<T>());
  check("gt", std::greater<T>());
  check("ge", std::greater_equal<T>());
}

/// The number that the bits of a stored integer mean.
inline __int128 meaning(const Tensor &tensor, int64_t index) {
  int64_t value = tensor.i(index);
  return tensor.dtype == BP_DTYPE_U64 ? __int128(uint64_t(value))
                                      : __int128(value);
}

} // namespace reftest

#endif // BACKPLANE_REFERENCE_TEST_ELEMENTWISE_H
