// SPDX-License-Identifier: Apache-2.0
#include "Foreign.h"

namespace emulatortest {
namespace {

Whole longIntegersOf(const In &in) {
  return each([&](int i) {
    int64_t x = 0;
    std::memcpy(&x, &in.a[size_t(i / 2 * 2)], 8);
    int64_t y = i % 97 - 48;
    y = y ? y : 5;
    auto high = int64_t((__int128(x) * y) >> 64);
    return double(int32_t(x / y) ^ int32_t(x % y) ^ int32_t(high) ^
                  int32_t(uint64_t(x) / 7));
  });
}
uint32_t bits(uint32_t x, uint32_t y, int) {
  uint32_t reversed = 0;
  for (int k = 0; k < 32; ++k)
    reversed |= (x >> k & 1) << (31 - k);
  uint64_t both = uint64_t(y) << 32 | x;
  auto funnel = uint32_t(both << (y & 31) >> 32);
  uint32_t permuted = (x & 0xff) | (y & 0xff) << 8 | (x >> 8 & 0xff) << 16 |
                      (y >> 8 & 0xff) << 24;
  return uint32_t(__builtin_popcount(x)) +
         uint32_t(y ? __builtin_clz(y) : 32) * 64 +
         uint32_t(__builtin_ffs(int(x))) * 4096 + (reversed ^ funnel) +
         permuted + uint32_t(uint64_t(x) * y >> 32);
}
uint32_t dotOfBytes(uint32_t x, uint32_t y, int i) {
  int four = i, two = i * 3;
  for (int k = 0; k < 4; ++k)
    four += int8_t(x >> 8 * k) * int8_t(y >> 8 * k);
  for (int k = 0; k < 2; ++k)
    two += int16_t(x >> 16 * k) * int8_t(y >> 8 * k);
  return uint32_t(four ^ two);
}
uint32_t collatz(uint32_t, uint32_t, int i) {
  uint32_t x = uint32_t(i) + 1, steps = 0;
  for (; x != 1; ++steps)
    x = x % 2 ? 3 * x + 1 : x / 2;
  return steps;
}
uint32_t cases(uint32_t a, uint32_t, int i) {
  int r = i;
  switch (a & 15) {
  case 0:
    return uint32_t(r * 3 + 1);
  case 1:
    return uint32_t(r ^ 0x55);
  case 2:
    return uint32_t(r / 3);
  case 3:
    return uint32_t(r % 11);
  case 4:
    return uint32_t(-r);
  case 5:
    return uint32_t(r << 3);
  case 6:
    return uint32_t((r >> 1) + 7);
  case 7:
    return uint32_t(r + 7);
  case 8:
    return uint32_t(r * r);
  case 9:
    return uint32_t(std::min(r, 100));
  default:
    return 1000 + (a & 15);
  }
}
double calls(double a, double b, int i) {
  double x = a;
  int y = i;
  if (i % 3)
    x = x * b + y, y += float(x) > 0 ? 1 : -1;
  x = x * 0.5 + y, y += float(x) > 0 ? 1 : -1;
  return x + y;
}
double halves(double a, double b, int) {
  return std::max(4 * a, -1.0) + std::max(4 * b, -1.0);
}

} // namespace

std::vector<Row> nvccElements() {
  return {
      element(
          "saxpy", [](double a, double b, int) { return 2.5 * a + b; }, 1e-6),
      element(
          "gelu",
          [](double a, double, int) {
            return 0.5 * a * (1 + std::erf(a * 0.70710678));
          },
          1e-6),
      element(
          "hyperbolic",
          [](double a, double b, int) {
            return std::tanh(a) + std::sinh(double(float(b) * 0.1f));
          },
          1e-6),
      element(
          "exponentials",
          [](double a, double b, int) {
            return std::exp(a) + std::log1p(std::fabs(b));
          },
          1e-6),
      element(
          "powers",
          [](double a, double b, int) {
            return std::pow(double(float(std::fabs(a)) + 0.1f), b * 0.25);
          },
          1e-5),
      element(
          "angles",
          [](double a, double b, int) {
            return std::sin(a) * std::cos(double(float(b) * 1e5f));
          },
          1e-6),
      element(
          "roots",
          [](double a, double b, int) {
            return std::sqrt(std::fabs(a)) + 1 / std::sqrt(std::fabs(b) + 1);
          },
          1e-6),
      element(
          "quotients",
          [](double a, double b, int) {
            return double(float(a) / float(b)) + std::fmod(b, 0.75);
          },
          1e-6),
      element(
          "roundings",
          [](double a, double b, int) {
            return std::nearbyint(a) + std::floor(b) * 4 + std::ceil(a) * 16 +
                   std::trunc(b) * 64;
          },
          0),
      element(
          "doubles",
          [](double x, double y, int) {
            return std::exp(x) / (1 + y * y) + std::log(std::fabs(y) + 1) -
                   std::cbrt(x);
          },
          1e-7),
  };
}

std::vector<Row> nvccIntegers() {
  return {
      {"longIntegers", 4, 256, true, true, 0, longIntegersOf},
      integer("bits", bits),
      integer("dotOfBytes", dotOfBytes),
      element("halves", halves, 4e-3),
      element(
          "brainFloats",
          [](double a, double b, int) {
            double x = shortened(a, 7), y = shortened(b, 7);
            return shortened(x * y + x, 7);
          },
          0),
      integer("collatz", collatz),
      integer("cases", cases),
      element("calls", calls, 1e-5),
  };
}

} // namespace emulatortest
