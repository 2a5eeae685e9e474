// SPDX-License-Identifier: Apache-2.0
//
// The oracle's functions at hard arguments, against mpmath
// (make_hard_points.py).
#include "Samples.h"

#include "gtest/gtest.h"

#include <cmath>
#include <fstream>
#include <sstream>

namespace backplane::conformance {

namespace {

Tensor scalar(double value) {
  Tensor tensor{DType::F64, {}, Bytes(8)};
  storeBits(tensor, 0, encode(DType::F64, value));
  return tensor;
}

double numberIn(std::istringstream &line) {
  std::string word;
  line >> word;
  return std::strtod(word.c_str(), nullptr);
}

TEST(HardPoints, AreWithinAFewUnitsOfTheWidestType) {
  std::ifstream file(BP_TEST_DATA "/hard_points.txt");
  std::string text;
  size_t count = 0;
  for (; std::getline(file, text); ++count) {
    std::istringstream line(text);
    Sample sample;
    line >> sample.op;
    std::vector<Tensor> inputs = {scalar(numberIn(line))};
    if (sample.op == "pow")
      inputs.push_back(scalar(numberIn(line)));
    double high = numberIn(line), low = numberIn(line);
    auto outputs = evaluate(graphOf(sample, inputs), inputs, {});
    ASSERT_TRUE(outputs.ok()) << outputs.message();
    ASSERT_EQ(outputs->size(), 1U);
    const Expected &y = outputs->front();
    Real value = y.value.empty() ? decode(DType::F64, y.bits[0]) : y.value[0];
    Real want = Real(high) + low;
    Real slack = std::fabs(want) * 0x1p-58L + 0x1p-1074L;
    ASSERT_LE(std::fabs(value - want), slack) << text;
  }
  EXPECT_GT(count, 1000U);
}

} // namespace

} // namespace backplane::conformance
