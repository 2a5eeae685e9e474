// SPDX-License-Identifier: Apache-2.0
//
// erf: an odd polynomial below 1; above it 1 - erfc, of which little is left.
#include "sdk/lower/MathBuilder.h"

#include "sdk/lower/MathCoefficients.h"

using namespace mlir;
using namespace bp::lower;

namespace {

/// erfc for x in [1, 4] and beyond, where it no longer counts.
Value erfcNarrow(MathBuilder &m, Value magnitude) {
  Value end = m.f(4);
  Value bounded = m.select(m.less(end, magnitude), end, magnitude);
  Value logarithm = m.poly(bp::coefficients::logErfcF32, bounded);
  return expOfModerate(m, logarithm);
}

Value erfcWide(MathBuilder &m, Value magnitude) {
  Value x = m.clamp(magnitude, 0, 6);
  Value at = m.div(m.sub(x, m.f(2)), m.add(x, m.f(2)));
  Value scaled = m.poly(bp::coefficients::scaledErfcF64, at);
  return m.mul(scaled, expInRange(m, m.neg(m.mul(x, x)), Value()));
}

} // namespace

Value bp::lower::expandErf(MathBuilder &m, Value x) {
  Value magnitude = m.abs(x);
  Value square = m.mul(x, x);
  Value ratio = m.isF64() ? m.poly(bp::coefficients::erfF64, square)
                          : m.poly(bp::coefficients::erfF32, square);
  Value inner = m.fma(x, ratio, x);
  Value rest = m.isF64() ? erfcWide(m, magnitude) : erfcNarrow(m, magnitude);
  Value outer = m.copySign(m.sub(m.f(1), rest), x);
  return m.select(m.less(magnitude, m.f(1)), inner, outer);
}
