// SPDX-License-Identifier: Apache-2.0
//
// erf: an odd polynomial near 0; beyond it 1 - erfc, of which little is left.
#include "sdk/lower/MathBuilder.h"

#include "sdk/lower/MathCoefficients.h"

using namespace mlir;
using namespace bp::lower;

namespace {

/// Where one polynomial ends and the next begins.
constexpr double borderF32 = 1.085, borderF64 = 1;

// erfc(x)^(1/4) in powers of x - 1.65 for x from the border to 4. Fitted to the
// error of its fourth power by iteratively weighted least squares: 5.5e-9
// before rounding.
constexpr double rootErfcF32[] = {
    0.374282230523,   -0.353533533926,    0.0824261979421,
    0.0251741017229,  -0.0132736822343,   -0.000483034720418,
    0.00114468266411, -0.000136536857099, -1.57938700699e-05};

/// |erf(x)| for |x| from the border to 4, and 1 beyond.
Value outerNarrow(MathBuilder &m, Value magnitude) {
  Value end = m.f(4);
  Value bounded = m.select(m.less(end, magnitude), end, magnitude);
  Value root = m.poly(rootErfcF32, m.sub(bounded, m.f(1.65)));
  Value square = m.mul(root, root);
  return m.fma(m.neg(square), square, m.f(1));
}

/// erfc for x in [1, 6].
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
  Value outer = m.isF64() ? m.sub(m.f(1), erfcWide(m, magnitude))
                          : outerNarrow(m, magnitude);
  Value border = m.f(m.isF64() ? borderF64 : borderF32);
  return m.select(m.less(magnitude, border), inner, m.copySign(outer, x));
}
