// SPDX-License-Identifier: Apache-2.0
//
// ForeignTest.cpp: kernels that other compilers made from kernels/, against
// what the same formula gives on the CPU. nvcc's are there where nvcc is.
#include "Harness.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <sstream>

namespace emulatortest {
namespace {

constexpr int kSize = 1024; // elements of each buffer
constexpr int kUsed = 1000; // of them, those that element kernels have

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

Whole each(const std::function<double(int)> &value, int count = kUsed) {
  Whole made(size_t(kSize), 0);
  for (int i = 0; i < count; ++i)
    made[size_t(i)] = value(i);
  return made;
}

// A row that computes element by element.
Row element(const char *name, double (*f)(double, double, int),
            double tolerance) {
  return {name, 4, 256, false, false, tolerance, [f](const In &in) {
            return each([&](int i) { return f(in.a[i], in.b[i], i); });
          }};
}
Row integer(const char *name, uint32_t (*f)(uint32_t, uint32_t, int)) {
  return {name, 4, 256, true, true, 0, [f](const In &in) {
            return each([&](int i) {
              return double(
                  int32_t(f(uint32_t(in.intA(i)), uint32_t(in.intB(i)), i)));
            });
          }};
}

Whole blocksOf(
    const In &in, int size,
    const std::function<void(const float *, const float *, double *)> &body) {
  Whole made(kSize);
  for (int from = 0; from < kSize; from += size)
    body(&in.a[size_t(from)], &in.b[size_t(from)], &made[size_t(from)]);
  return made;
}

Whole softmax(const In &in) {
  return blocksOf(in, 256, [](const float *a, const float *, double *c) {
    double sum = 0;
    for (int i = 0; i < 256; ++i)
      sum += std::exp(double(a[i]));
    for (int i = 0; i < 256; ++i)
      c[i] = std::exp(double(a[i])) / sum;
  });
}
Whole layernorm(const In &in) {
  return blocksOf(in, 256, [](const float *a, const float *b, double *c) {
    double mean = 0, square = 0;
    for (int i = 0; i < 256; ++i)
      mean += a[i] / 256.0;
    for (int i = 0; i < 256; ++i)
      square += (a[i] - mean) * (a[i] - mean) / 256.0;
    for (int i = 0; i < 256; ++i)
      c[i] = (a[i] - mean) / std::sqrt(square + 1e-5) * b[i];
  });
}
Whole sumAll(const In &in) {
  Whole made(kSize);
  for (int i = 0; i < kUsed; ++i)
    made[0] += in.a[size_t(i)];
  return made;
}
Whole histogram(const In &in) {
  Whole made(kSize);
  for (int i = 0; i < kUsed; ++i)
    made[size_t(in.intA(i) & 63)] += 1;
  return made;
}
Whole scan(const In &in) {
  return blocksOf(in, 256, [](const float *a, const float *, double *c) {
    double sum = 0;
    for (int i = 0; i < 256; ++i)
      c[i] = sum += a[i];
  });
}
Whole transpose(const In &in) {
  return each([&](int i) { return double(in.a[i % 32 * 32 + i / 32]); }, kSize);
}
Whole matmul(const In &in) {
  return each(
      [&](int i) {
        double sum = 0;
        for (int k = 0; k < 32; ++k)
          sum += double(in.a[i / 32 * 32 + k]) * in.b[k * 32 + i % 32];
        return sum;
      },
      kSize);
}
Whole compaction(const In &in) {
  Whole made(kSize);
  for (int block = 0; block < 32; ++block) {
    int to = block * 32;
    for (int i = block * 32; i < block * 32 + 32; ++i)
      if (i < kUsed && in.a[i] > 0)
        made[size_t(to++)] = in.a[i];
  }
  return made;
}
Whole localArray(const In &in) {
  return each([&](int i) {
    double stack[16], sum = 0;
    for (int k = 0; k < 16; ++k)
      stack[(k * 7 + i) % 16] = in.a[(i + k) % kUsed];
    for (int k = 0; k < 16; ++k)
      sum += stack[(in.intB(i) + k * 3) & 15] * k;
    return sum;
  });
}
Whole constants(const In &in) {
  const double table[8] = {1, 2, 4, 8, 0.5, 0.25, -1, 3};
  return each([&](int i) { return table[in.intB(i) & 7] * in.a[i] + 40; });
}
Whole bitonic(const In &in) {
  return blocksOf(in, 256, [](const float *a, const float *, double *c) {
    std::copy_n(a, 256, c);
    std::sort(c, c + 256);
  });
}
Whole atomicMaximum(const In &in) {
  Whole made(kSize);
  made[0] = *std::max_element(in.a.begin(), in.a.begin() + kUsed);
  return made;
}
Whole quantize(const In &in) {
  // Four bytes of each result.
  Whole made(kSize);
  for (int i = 0; i < kUsed / 4; ++i) {
    uint32_t word = 0;
    for (int k = 0; k < 4; ++k) {
      double q = std::nearbyint(double(in.a[i * 4 + k]) * 16);
      word |= uint32_t(uint8_t(int8_t(std::clamp(q, -128.0, 127.0)))) << 8 * k;
    }
    made[size_t(i)] = int32_t(word);
  }
  return made;
}
Whole groups(const In &in) {
  return each(
      [&](int i) {
        int base = i / 32 * 32, same = 0, most = 0;
        for (int k = base; k < base + 32; ++k) {
          same += (in.intA(k) & 3) == (in.intA(i) & 3);
          most = std::max(most, in.intA(k) & 3);
        }
        return double(same + 64 * most + (most == 3) * 1024);
      },
      kSize);
}
double halfOf(const std::vector<float> &from, int i) {
  uint16_t bits = 0;
  std::memcpy(&bits, reinterpret_cast<const char *>(from.data()) + i * 2, 2);
  int exponent = bits >> 10 & 31;
  double magnitude = exponent ? std::ldexp(1024 + (bits & 1023), exponent - 25)
                              : std::ldexp(bits & 1023, -24);
  return bits >> 15 ? -magnitude : magnitude;
}
Whole wmmaHalves(const In &in) {
  return each(
      [&](int i) {
        double sum = 1;
        for (int k = 0; k < 64; ++k)
          sum += halfOf(in.a, i / 16 * 64 + k) * halfOf(in.b, i % 16 * 64 + k);
        return sum / 2;
      },
      256);
}
Whole wmmaBytes(const In &in) {
  const auto *a = reinterpret_cast<const int8_t *>(in.a.data());
  const auto *b = reinterpret_cast<const int8_t *>(in.b.data());
  return each(
      [&](int i) {
        int sum = 7;
        for (int k = 0; k < 16; ++k)
          sum += a[i / 32 * 16 + k] * b[k * 32 + i % 32];
        return double(sum);
      },
      256);
}
Whole pipeline(const In &in) {
  return each(
      [&](int i) {
        int tile = i / 256 * 256;
        return double(in.a[tile + 255 - i % 256]);
      },
      kSize);
}

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

// Rounded to `bits` of fraction.
double shortened(double value, int bits) {
  int exponent = 0;
  double fraction = std::frexp(value, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, bits + 1)),
                    exponent - bits - 1);
}

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

std::vector<Row> nvccBlocks() {
  return {
      {"softmax", 4, 256, false, false, 1e-5, softmax},
      {"layernorm", 4, 256, false, false, 1e-4, layernorm},
      {"sumAll", 4, 256, false, false, 1e-5, sumAll},
      {"histogram", 4, 256, true, true, 0, histogram},
      {"scan", 4, 256, false, false, 1e-4, scan},
      {"transpose", 1, 256, false, false, 0, transpose},
      {"matmul", 4, 256, false, false, 1e-5, matmul},
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
      {"compaction", 32, 32, false, false, 0, compaction},
      integer("collatz", collatz),
      integer("cases", cases),
      element("calls", calls, 1e-5),
      {"localArray", 4, 256, false, false, 1e-5, localArray},
      {"constants", 4, 256, false, false, 1e-6, constants},
      {"bitonic", 4, 256, false, false, 0, bitonic},
      {"atomicMaximum", 4, 256, false, false, 0, atomicMaximum},
      {"quantize", 4, 256, true, false, 0, quantize},
      {"groups", 4, 256, true, true, 0, groups},
      {"wmmaHalves", 1, 32, false, false, 1e-5, wmmaHalves},
      {"wmmaBytes", 1, 32, true, true, 0, wmmaBytes},
      {"pipeline", 1, 64, false, false, 0, pipeline},
  };
}

std::vector<Row> nvccRows() {
  std::vector<Row> all = nvccElements(), more = nvccBlocks();
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

Whole polynomial(const In &in) {
  return each([&](int i) {
    float r = 0.1f;
    for (int k = 1; k < 8; ++k)
      r = std::fma(r, in.a[i], in.b[(i + k) % kUsed]);
    return double(r);
  });
}
Whole product128(const In &in) {
  auto word = [&](int i) {
    uint64_t value = 0;
    std::memcpy(&value, &in.a[size_t(i) * 2], 8);
    return value;
  };
  return each([&](int i) {
    unsigned __int128 p =
        (unsigned __int128)word(i / 2) * word((kUsed - 1 - i) / 2);
    p += (unsigned __int128)word(3) << 40;
    return double(int32_t(uint32_t(p >> 64) ^ uint32_t(p >> 17)));
  });
}
uint32_t checksum(uint32_t x, uint32_t, int) {
  uint32_t r = ~0u;
  for (int k = 0; k < 32; ++k, x >>= 1)
    r = r >> 1 ^ ((r ^ x) & 1 ? 0xedb88320u : 0);
  return r;
}
uint32_t averageOfBytes(uint32_t x, uint32_t y, int) {
  uint32_t word = 0;
  for (int k = 0; k < 4; ++k) {
    int p = x >> 8 * k & 255, q = y >> 8 * k & 255;
    word |= uint32_t(p - q < -90 ? 0 : (p + q + 1) / 2) << 8 * k;
  }
  return word;
}
Whole compensated(const In &in) {
  return each([&](int i) {
    double sum = 0;
    for (int k = 0; k < 20; ++k)
      sum += double(in.a[(i + k) % kUsed]) * in.b[k];
    return sum;
  });
}
uint32_t structures(uint32_t a, uint32_t, int) {
  auto x = int16_t(a);
  auto y = int8_t(a >> 16);
  auto z = uint8_t(a >> 24);
  x = int16_t(x * 3 + y);
  z = uint8_t(z ^ (y >> 1));
  y = int8_t(x > 0 ? -y : z);
  return uint16_t(x) | uint32_t(uint8_t(y)) << 16 | uint32_t(z) << 24;
}
double extremes(double a, double b, int i) {
  double x = i % 7 ? a : std::copysign(INFINITY, a);
  double y = std::max(std::min(x, b), -2.0);
  return std::copysign(y, b) + (std::isinf(x) ? 8 : 0);
}
Whole reversed(const In &in) {
  return blocksOf(in, 256, [](const float *a, const float *, double *c) {
    std::reverse_copy(a, a + 256, c);
  });
}
double halfOfC(double a, double b, int) {
  double product = shortened(shortened(a, 10) * shortened(b, 10), 10);
  return shortened(product + 1, 10);
}

std::vector<Row> clangRows() {
  return {
      {"polynomial", 4, 256, false, false, 1e-4, polynomial},
      {"product128", 4, 256, true, true, 0, product128},
      integer("checksum", checksum),
      integer("averageOfBytes", averageOfBytes),
      {"compensated", 4, 256, false, false, 1e-6, compensated},
      integer("structures", structures),
      element("extremes", extremes, 1e-6),
      {"reversed", 4, 256, false, false, 0, reversed},
      // The results are subnormal where a or b are tiny.
      element("halfOfC", halfOfC, 1e-3),
  };
}

In inputs(bool randomBits, bool halves) {
  In in{std::vector<float>(kSize), std::vector<float>(kSize)};
  uint32_t state = 12345;
  auto draw = [&] { return state = state * 1664525 + 1013904223; };
  for (std::vector<float> *values : {&in.a, &in.b})
    for (float &value : *values) {
      uint32_t bits = draw();
      if (halves) // finite, near one
        bits = (bits & 0x83ff83ff) | 0x38003800;
      if (randomBits || halves)
        std::memcpy(&value, &bits, 4);
      else
        value = float(int32_t(bits)) * 0x1p-29f; // between -4 and 4
    }
  return in;
}

std::string readFile(const std::string &path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void check(const std::string &ptx, const Row &row, const char *schedule) {
  Device device(80);
  CUfunction function = device.load(ptx, row.name);
  ASSERT_TRUE(function);
  In in = inputs(row.randomBits, std::string(row.name) == "wmmaHalves");
  CUdeviceptr a = device.put(in.a), b = device.put(in.b),
              c = device.put(std::vector<float>(kSize, 0.0f));
  int n = kUsed;
  ASSERT_EQ(api().bp_cuda_emulator_set("schedule", schedule), 0);
  CUresult result =
      device.run(function, {row.blocks}, {row.threads}, {&a, &b, &c, &n});
  api().bp_cuda_emulator_set("schedule", "in-order");
  ASSERT_EQ(result, CUDA_SUCCESS) << device.error();
  std::vector<float> got = device.get<float>(c, kSize);
  Whole expected = row.expected(in);
  for (int i = 0; i < kSize; ++i) {
    double value = row.integers ? double(In::bits(got, i)) : got[size_t(i)];
    double want = expected[size_t(i)];
    ASSERT_LE(std::fabs(value - want),
              row.tolerance * std::max(1.0, std::fabs(want)))
        << row.name << " at " << i << ": " << value << ", expected " << want;
  }
}

class Foreign : public testing::TestWithParam<Row> {};

class Nvcc : public Foreign {};
TEST_P(Nvcc, GivesWhatTheFormulaGives) {
  if (std::string(BP_EMULATOR_NVCC_PTX).empty())
    GTEST_SKIP() << "no nvcc was found when the build was configured";
  static const std::string ptx = readFile(BP_EMULATOR_NVCC_PTX);
  for (const char *schedule : {"in-order", "reversed", "random"})
    check(ptx, GetParam(), schedule);
}
INSTANTIATE_TEST_SUITE_P(Kernels, Nvcc, testing::ValuesIn(nvccRows()),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });

class Clang : public Foreign {};
TEST_P(Clang, GivesWhatTheFormulaGives) {
  if (std::string(BP_EMULATOR_CLANG_PTX).empty())
    GTEST_SKIP() << "no clang-22 was found when the build was configured";
  static const std::string ptx = readFile(BP_EMULATOR_CLANG_PTX);
  for (const char *schedule : {"in-order", "reversed", "random"})
    check(ptx, GetParam(), schedule);
}
INSTANTIATE_TEST_SUITE_P(Kernels, Clang, testing::ValuesIn(clangRows()),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });

} // namespace
} // namespace emulatortest
