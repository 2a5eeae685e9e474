// SPDX-License-Identifier: Apache-2.0
#include "Rounded.h"

#include <cfenv>

#pragma STDC FENV_ACCESS ON

namespace emulator {
namespace {

class Mode {
public:
  explicit Mode(Rounding mode) : isOther(mode != Rounding::Nearest) {
    constexpr int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD,
                             FE_UPWARD, FE_TONEAREST};
    if (isOther)
      std::fesetround(modes[int(mode)]);
  }
  ~Mode() {
    if (isOther)
      std::fesetround(FE_TONEAREST);
  }
  Mode(const Mode &) = delete;
  Mode &operator=(const Mode &) = delete;

private:
  bool isOther;
};

template <class T> T compute(Arithmetic operation, T a, T b, T c) {
  switch (operation) {
  case Arithmetic::Add:
    return a + b;
  case Arithmetic::Sub:
    return a - b;
  case Arithmetic::Mul:
    return a * b;
  case Arithmetic::Fma:
    return std::fma(a, b, c);
  case Arithmetic::Div:
    return a / b;
  case Arithmetic::Sqrt:
    return std::sqrt(a);
  }
  return a;
}

template <class T>
void computeLanes(Arithmetic operation, Rounding rounding, uint32_t mask, T *to,
                  const T *a, const T *b, const T *c) {
  Mode mode(rounding);
  for (uint32_t i = 0; i < 32; ++i) {
    if (!(mask >> i & 1))
      continue;
    // Volatile: nothing moves out of the scope of the mode.
    volatile T left = a[i], right = b[i], third = c[i];
    volatile T result = compute<T>(operation, left, right, third);
    to[i] = result;
  }
}

template <class To, class From> To convert(Rounding rounding, From value) {
  Mode mode(rounding);
  volatile From from = value;
  volatile To to = To(from);
  return to;
}

} // namespace

void rounded(Arithmetic operation, Rounding mode, uint32_t mask, float *to,
             const float *a, const float *b, const float *c) {
  computeLanes(operation, mode, mask, to, a, b, c);
}
void rounded(Arithmetic operation, Rounding mode, uint32_t mask, double *to,
             const double *a, const double *b, const double *c) {
  computeLanes(operation, mode, mask, to, a, b, c);
}
float narrowed(Rounding mode, double value) {
  return convert<float>(mode, value);
}
float floatOf(Rounding mode, int64_t value) {
  return convert<float>(mode, value);
}
// The processor converts signed numbers only, in one step; half of a large
// number, with its last bit kept for rounding, is one.
float floatOf(Rounding mode, uint64_t value) {
  if (value >> 63 == 0)
    return convert<float>(mode, int64_t(value));
  return 2 * convert<float>(mode, int64_t(value >> 1 | (value & 1)));
}
double doubleOf(Rounding mode, int64_t value) {
  return convert<double>(mode, value);
}
double doubleOf(Rounding mode, uint64_t value) {
  if (value >> 63 == 0)
    return convert<double>(mode, int64_t(value));
  return 2 * convert<double>(mode, int64_t(value >> 1 | (value & 1)));
}

} // namespace emulator
