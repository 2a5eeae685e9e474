// SPDX-License-Identifier: Apache-2.0
#include "conformance/report/Relaxed.h"

#include <algorithm>

namespace backplane::conformance {

namespace {

uint32_t significandBits(std::string_view dtype) {
  return dtype == "f64"    ? 53
         : dtype == "f32"  ? 24
         : dtype == "f16"  ? 11
         : dtype == "bf16" ? 8
                           : 0;
}

/// Significand bits that sums have when they are not relaxed.
uint32_t fullAccumulator(std::string_view dtype) {
  return std::max(24u, significandBits(dtype));
}

} // namespace

std::vector<DeclaredNumerics> sumsOf(const RunFacts &facts) {
  std::vector<DeclaredNumerics> sums;
  for (DeclaredNumerics n : facts.numerics) {
    bool sum = n.opClass == "DOT" || n.opClass == "REDUCE";
    if (!sum || !significandBits(n.dtype))
      continue;
    if (!n.accumulatorBits)
      n.accumulatorBits = significandBits(n.dtype);
    sums.push_back(std::move(n));
  }
  return sums;
}

std::string describe(const DeclaredNumerics &n) {
  return n.opClass + " of " + n.dtype + " in " +
         std::to_string(n.accumulatorBits) + " bits";
}

std::vector<std::string> relaxedOf(const RunFacts &facts) {
  std::vector<std::string> relaxed;
  for (const DeclaredNumerics &n : sumsOf(facts))
    if (n.accumulatorBits < fullAccumulator(n.dtype))
      relaxed.push_back(describe(n));
  for (const DeclaredNumerics &n : facts.numerics) {
    const std::string what = n.opClass + " of " + n.dtype;
    if (n.operandBits)
      relaxed.push_back(what + " rounds operands to " +
                        std::to_string(n.operandBits) + " bits");
    if (n.rounding != 0)
      relaxed.push_back(what + " rounds to zero");
    if (n.flags & 1)
      relaxed.push_back(what + " flushes subnormal operands");
    if (n.flags & 2)
      relaxed.push_back(what + " flushes subnormal results");
  }
  return relaxed;
}

} // namespace backplane::conformance
