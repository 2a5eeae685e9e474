// SPDX-License-Identifier: Apache-2.0
//
// MatrixTest.cpp: which lane has which element, checked with code that MLIR
// spread over lanes. All values are small integers, so that sums are exact.
#include "Harness.h"

#include <fstream>
#include <sstream>

namespace emulatortest {
namespace {

// The PTX inside of the text of a gpu.binary: \0A is the byte 10.
std::string assemblyOf(const std::string &path) {
  std::ifstream file(path);
  std::stringstream all;
  all << file.rdbuf();
  std::string text = all.str(), made;
  size_t at = text.find("assembly = \"");
  if (at == std::string::npos)
    return "";
  for (at += 12; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] != '\\') {
      made += text[at];
      continue;
    }
    made += char(std::stoi(text.substr(at + 1, 2), nullptr, 16));
    at += 2;
  }
  return made;
}

uint16_t toHalf(int value) {
  _Float16 half = _Float16(value);
  uint16_t bits = 0;
  std::memcpy(&bits, &half, 2);
  return bits;
}
int fromHalf(uint16_t bits) {
  _Float16 half = 0;
  std::memcpy(&half, &bits, 2);
  return int(half);
}

int valueA(int row, int k) { return (row * 5 + k * 3) % 7 - 3; }
int valueB(int k, int column) { return (k * 2 + column * 7) % 5 - 2; }
int valueC(int row, int column) { return row - 2 * column; }

int expected(int row, int column, int depth) {
  int sum = valueC(row, column);
  for (int k = 0; k < depth; ++k)
    sum += valueA(row, k) * valueB(k, column);
  return sum;
}

// T of A and B, S of C; `transposed`: B is stored column after column.
template <class T, class S, class ToT, class ToS, class FromS>
void checkProduct(const char *name, int m, int depth, bool transposed, ToT toT,
                  ToS toS, FromS fromS) {
  if (std::string(BP_EMULATOR_MLIR_OUTPUT).empty())
    GTEST_SKIP() << "no mlir-opt was found when the build was configured";
  static const std::string ptx = assemblyOf(BP_EMULATOR_MLIR_OUTPUT);
  Device device(80);
  CUfunction function = device.load(ptx, name);
  ASSERT_TRUE(function);
  const int n = 8;
  std::vector<T> a(size_t(m) * depth), b(size_t(depth) * n);
  std::vector<S> c(size_t(m) * n);
  for (int i = 0; i < m * depth; ++i)
    a[size_t(i)] = toT(valueA(i / depth, i % depth));
  for (int k = 0; k < depth; ++k)
    for (int j = 0; j < n; ++j)
      b[size_t(transposed ? j * depth + k : k * n + j)] = toT(valueB(k, j));
  for (int i = 0; i < m * n; ++i)
    c[size_t(i)] = toS(valueC(i / n, i % n));
  CUdeviceptr pa = device.put(a), pb = device.put(b), pc = device.put(c);
  api().bp_cuda_emulator_reset_counters();
  ASSERT_EQ(device.run(function, {1}, {32}, {&pa, &pb, &pc}), CUDA_SUCCESS)
      << device.error();
  std::vector<S> got = device.get<S>(pc, c.size());
  for (int i = 0; i < m * n; ++i)
    ASSERT_EQ(fromS(got[size_t(i)]), expected(i / n, i % n, depth))
        << name << " at " << i / n << ", " << i % n;
  EXPECT_EQ(counters().matrix_multiply_adds, uint64_t(m) * n * depth);
}

TEST(EmulatorMatrix, HalvesAsMlirSpreadsThem) {
  checkProduct<uint16_t, uint16_t>("f16", 16, 16, true, toHalf, toHalf,
                                   fromHalf);
}
TEST(EmulatorMatrix, HalvesByLdmatrix) {
  checkProduct<uint16_t, uint16_t>("shared", 16, 16, false, toHalf, toHalf,
                                   fromHalf);
}
TEST(EmulatorMatrix, Bytes) {
  auto same = [](int value) { return value; };
  checkProduct<int8_t, int32_t>("i8", 16, 32, true, same, same, same);
}
TEST(EmulatorMatrix, Doubles) {
  auto to = [](int value) { return double(value); };
  auto from = [](double value) { return int(value); };
  checkProduct<double, double>("f64", 8, 4, true, to, to, from);
}
TEST(EmulatorMatrix, Tf32) {
  auto to = [](int value) { return float(value); };
  auto from = [](float value) { return int(value); };
  checkProduct<float, float>("tf32", 16, 8, true, to, to, from);
}

} // namespace
} // namespace emulatortest
