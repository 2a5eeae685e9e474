// SPDX-License-Identifier: Apache-2.0
//
// CompareOutput.cpp: an output against what is expected of it.
#include "Common.h"
#include "sdk/support/ReadableText.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace backplane {
namespace {

/// How far `value` is from `want` in units of what is allowed.
double excess(double value, double want, double limit) {
  if (value == want || (std::isnan(value) && std::isnan(want)))
    return 0;
  if (!std::isfinite(value) || !std::isfinite(want))
    return INFINITY;
  double difference = std::abs(value - want);
  return limit > 0 ? difference / limit : INFINITY;
}

} // namespace

bool compareOutput(const RunOptions &options, const std::string &name,
                   const Tensor &tensor, const Tensor &expected) {
  if (expected.dims() != tensor.dims()) {
    std::printf("MISMATCH %s: shape %s, expected %s\n", readable(name).c_str(),
                shapeText(tensor.dims()).c_str(),
                shapeText(expected.dims()).c_str());
    return false;
  }
  int64_t count = tensor.elements(), bad = 0, worst = 0;
  double largest = 0, worstExcess = -1;
  for (int64_t i = 0; i < count; ++i)
    if (double y = std::abs(expected.number(i)); std::isfinite(y))
      largest = std::max(largest, y);
  double atol = options.atol >= 0 ? options.atol : 1e-5 * largest;
  for (int64_t i = 0; i < count; ++i) {
    double want = expected.number(i);
    double over =
        excess(tensor.number(i), want, options.rtol * std::abs(want) + atol);
    bad += over > 1;
    if (over > worstExcess) {
      worstExcess = over;
      worst = i;
    }
  }
  std::printf("%s %s: ", bad ? "MISMATCH" : "match", readable(name).c_str());
  if (bad)
    std::printf("%lld of %lld elements, ", static_cast<long long>(bad),
                static_cast<long long>(count));
  if (count)
    std::printf("worst at %s: %.9g, expected %.9g (%.3g of the limit)",
                indexText(tensor.dims(), worst).c_str(), tensor.number(worst),
                expected.number(worst), worstExcess);
  else
    std::printf("no elements");
  std::printf("\n");
  return bad == 0;
}

} // namespace backplane
