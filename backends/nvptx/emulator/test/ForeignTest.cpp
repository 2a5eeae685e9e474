// SPDX-License-Identifier: Apache-2.0
//
// ForeignTest.cpp: kernels that other compilers made from kernels/, against
// what the same formula gives on the CPU. nvcc's are there where nvcc is.
#include "Foreign.h"
#include "Harness.h"

#include <fstream>
#include <sstream>

namespace emulatortest {
namespace {

std::vector<Row> nvccRows() {
  std::vector<Row> all = nvccElements();
  for (const auto &more : {nvccIntegers(), nvccBlocks()})
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

class Foreign : public testing::TestWithParam<Row> {
protected:
  void check(const char *compiler, const std::string &file) {
    if (file.empty())
      GTEST_SKIP() << "no " << compiler
                   << " was found when the build was configured";
    const std::string ptx = readFile(file);
    for (const char *schedule : {"in-order", "reversed", "random"})
      emulatortest::check(ptx, GetParam(), schedule);
  }
};
std::string nameOf(const testing::TestParamInfo<Row> &info) {
  return info.param.name;
}

class Nvcc : public Foreign {};
TEST_P(Nvcc, GivesWhatTheFormulaGives) { check("nvcc", BP_EMULATOR_NVCC_PTX); }
INSTANTIATE_TEST_SUITE_P(Kernels, Nvcc, testing::ValuesIn(nvccRows()), nameOf);

class Clang : public Foreign {};
TEST_P(Clang, GivesWhatTheFormulaGives) {
  check("clang-22", BP_EMULATOR_CLANG_PTX);
}
INSTANTIATE_TEST_SUITE_P(Kernels, Clang, testing::ValuesIn(clangRows()),
                         nameOf);

} // namespace
} // namespace emulatortest
