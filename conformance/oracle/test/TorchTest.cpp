// SPDX-License-Identifier: Apache-2.0
//
// The oracle against PyTorch in f64 (make_torch_points.py).
#include "Samples.h"
#include "conformance/oracle/Value.h"

#include "gtest/gtest.h"

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

namespace backplane::conformance {

namespace {

std::map<std::string, std::vector<double>> torchResults() {
  std::ifstream file(BP_TEST_DATA "/torch_points.txt");
  std::map<std::string, std::vector<double>> results;
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string name, word;
    line >> name;
    while (line >> word)
      results[name].push_back(std::strtod(word.c_str(), nullptr));
  }
  return results;
}

class Torch : public testing::TestWithParam<Sample> {};

/// Torch may err as a device may; its constants are those of f64.
TEST_P(Torch, Agrees) {
  static const auto results = torchResults();
  auto found = results.find(GetParam().name);
  ASSERT_NE(found, results.end()) << "no results from PyTorch";
  Sample sample = GetParam();
  if (isFloat(sample.dtype))
    sample.dtype = DType::F64;
  std::vector<Tensor> inputs = inputsOf(sample);
  auto outputs = evaluate(graphOf(sample, inputs), inputs, {});
  ASSERT_TRUE(outputs.ok()) << outputs.message();
  ASSERT_EQ(outputs->size(), 1U);
  const Expected &y = outputs->front();
  ASSERT_EQ(y.bits.size(), found->second.size());
  for (size_t i = 0; i < y.bits.size(); ++i) {
    double theirs = found->second[i];
    if (y.match == Match::Limit)
      ASSERT_LE(std::fabs(y.value[i] - theirs), 2 * y.error[i]) << i;
    else if (isFloat(y.dtype))
      ASSERT_EQ(decode(y.dtype, y.bits[i]), theirs) << i;
    else
      ASSERT_EQ(integerOf(y.dtype, y.bits[i]), static_cast<int64_t>(theirs))
          << i;
  }
}

std::vector<Sample> all() {
  std::vector<Sample> samples = primitiveSamples();
  for (Sample &sample : compositeSamples())
    samples.push_back(std::move(sample));
  return samples;
}

INSTANTIATE_TEST_SUITE_P(All, Torch, testing::ValuesIn(all()));

} // namespace

} // namespace backplane::conformance
