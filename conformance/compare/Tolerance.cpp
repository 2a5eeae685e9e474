// SPDX-License-Identifier: Apache-2.0
#include "Tolerance.h"

#include <cmath>

namespace backplane::conformance {

bool mayOverflow(const FloatFormat &format, Real exact, Real limit) {
  return exact + limit > format.max;
}

bool mayFlush(const FloatFormat &format, Real exact, Real limit,
              const Numerics &numerics) {
  return numerics.flushesOutput &&
         std::fabs(exact) - limit < smallest(format, true);
}

double biasLimit(double rms, uint64_t count) {
  return 0.1 + 4 * rms / std::sqrt(static_cast<double>(count));
}

Real envelopeLimit(const Envelope &envelope) {
  return 8 * envelope.sigma + 4 * envelope.ulp;
}

double envelopeRms(int precision) { return precision >= 24 ? 2 : 3; }

} // namespace backplane::conformance
