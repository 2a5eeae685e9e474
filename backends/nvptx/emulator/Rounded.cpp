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

template <class T>
T compute(Arithmetic operation, Rounding rounding, T left, T right, T third) {
  Mode mode(rounding);
  // Volatile: nothing moves out of the scope of the mode.
  volatile T a = left, b = right, c = third, result = 0;
  switch (operation) {
  case Arithmetic::Add:
    result = a + b;
    break;
  case Arithmetic::Sub:
    result = a - b;
    break;
  case Arithmetic::Mul:
    result = a * b;
    break;
  case Arithmetic::Fma:
    result = std::fma(T(a), T(b), T(c));
    break;
  case Arithmetic::Div:
    result = a / b;
    break;
  case Arithmetic::Sqrt:
    result = std::sqrt(T(a));
    break;
  }
  return result;
}

template <class To, class From> To convert(Rounding rounding, From value) {
  Mode mode(rounding);
  volatile From from = value;
  volatile To to = To(from);
  return to;
}

} // namespace

float rounded(Arithmetic operation, Rounding mode, float a, float b, float c) {
  return compute(operation, mode, a, b, c);
}
double rounded(Arithmetic operation, Rounding mode, double a, double b,
               double c) {
  return compute(operation, mode, a, b, c);
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
