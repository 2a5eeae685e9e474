// SPDX-License-Identifier: Apache-2.0
//
// Foreign.h: rows of kernels that other compilers made, each with what its
// formula gives on the CPU.
#ifndef BACKPLANE_NVPTX_EMULATOR_TEST_FOREIGN_H
#define BACKPLANE_NVPTX_EMULATOR_TEST_FOREIGN_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

namespace emulatortest {

inline constexpr int kSize = 1024; // elements of each buffer
inline constexpr int kUsed = 1000; // of them, those that element kernels have

struct In {
  std::vector<float> a, b;
  int intA(int i) const { return bits(a, i); }
  int intB(int i) const { return bits(b, i); }
  static int bits(const std::vector<float> &from, int i) {
    int value = 0;
    std::memcpy(&value, &from[size_t(i)], 4);
    return value;
  }
};

using Whole = std::vector<double>;

struct Row {
  const char *name;
  unsigned blocks, threads;
  bool integers;    // of the result
  bool randomBits;  // of a and b: any integers
  double tolerance; // relative, with an absolute part
  std::function<Whole(const In &)> expected;
};

inline Whole each(const std::function<double(int)> &value, int count = kUsed) {
  Whole made(size_t(kSize), 0);
  for (int i = 0; i < count; ++i)
    made[size_t(i)] = value(i);
  return made;
}

// A row that computes element by element.
inline Row element(const char *name, double (*f)(double, double, int),
                   double tolerance) {
  return {name, 4, 256, false, false, tolerance, [f](const In &in) {
            return each([&](int i) { return f(in.a[i], in.b[i], i); });
          }};
}
inline Row integer(const char *name, uint32_t (*f)(uint32_t, uint32_t, int)) {
  return {name, 4, 256, true, true, 0, [f](const In &in) {
            return each([&](int i) {
              return double(
                  int32_t(f(uint32_t(in.intA(i)), uint32_t(in.intB(i)), i)));
            });
          }};
}

inline Whole blocksOf(
    const In &in, int size,
    const std::function<void(const float *, const float *, double *)> &body) {
  Whole made(kSize);
  for (int from = 0; from < kSize; from += size)
    body(&in.a[size_t(from)], &in.b[size_t(from)], &made[size_t(from)]);
  return made;
}

// Rounded to `bits` of fraction.
inline double shortened(double value, int bits) {
  int exponent = 0;
  double fraction = std::frexp(value, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, bits + 1)),
                    exponent - bits - 1);
}

// Of nvcc: what computes element by element, with functions of floats or with
// integers, narrow floats and branches, and what blocks compute together.
std::vector<Row> nvccElements();
std::vector<Row> nvccIntegers();
std::vector<Row> nvccBlocks();

} // namespace emulatortest

#endif // BACKPLANE_NVPTX_EMULATOR_TEST_FOREIGN_H
