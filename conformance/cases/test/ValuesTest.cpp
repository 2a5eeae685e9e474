// SPDX-License-Identifier: Apache-2.0
//
// The cases with values that models have: right results pass, and limits leave
// no room for results that are a little wrong.
#include "conformance/cases/Data.h"
#include "conformance/cases/DataSets.h"
#include "conformance/cases/Judge.h"
#include "conformance/cases/ValueData.h"
#include "conformance/cases/test/Rounded.h"
#include "conformance/oracle/Format.h"
#include "conformance/oracle/Value.h"
#include "conformance/suite/Generate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

namespace backplane::conformance {
namespace {

Tensor filled(std::string dataSet, DType dtype, std::vector<int64_t> dims,
              const InputRule &rule = {}, uint64_t seed = 7) {
  Tensor tensor{dtype, std::move(dims), {}};
  tensor.data.resize((tensor.elementCount() * bitWidth(dtype) + 7) / 8);
  fill(tensor, rule, 0, {.dataSet = std::move(dataSet), .seed = seed});
  return tensor;
}

std::vector<Real> magnitudesOf(const Tensor &tensor) {
  std::vector<Real> all;
  for (size_t i = 0; i < tensor.elementCount(); ++i)
    all.push_back(std::fabs(numberOf(tensor.dtype, loadBits(tensor, i))));
  return all;
}

TEST(ValueData, MagnitudesFillTheRange) {
  size_t tiny = 0, huge = 0;
  InputRule rule;
  rule.terms = 64;
  for (Real x : magnitudesOf(filled("magnitudes", DType::F32, {4096}, rule))) {
    tiny += x < 1e-25L;
    huge += x > 1e25L;
    EXPECT_GT(x, 0);
    EXPECT_TRUE(std::isfinite(x));
  }
  EXPECT_GT(tiny, 100u);
  EXPECT_GT(huge, 100u);
}

TEST(ValueData, OutliersStayInTheirChannels) {
  std::vector<Real> values =
      magnitudesOf(filled("outliers", DType::F32, {100, 64}));
  size_t loud = 0;
  for (size_t channel = 0; channel < 64; ++channel) {
    Real squares = 0;
    for (size_t row = 0; row < 100; ++row)
      squares += values[row * 64 + channel] * values[row * 64 + channel] / 100;
    loud += squares > 50 * 50;
    EXPECT_TRUE(squares > 50 * 50 || squares < 2) << channel;
  }
  EXPECT_GE(loud, 1u);
  EXPECT_LE(loud, 8u);
}

TEST(ValueData, NaNsAreOfEveryKind) {
  Tensor tensor = filled("nans", DType::F32, {1024, 4});
  std::set<uint64_t> kinds, payloads;
  for (size_t i = 0; i < 4096; ++i) {
    uint64_t bits = loadBits(tensor, i);
    if (!std::isnan(decode(DType::F32, bits)))
      continue;
    kinds.insert(bits >> 31 << 1 | (bits >> 22 & 1));
    payloads.insert(bits & 0x3fffff);
  }
  EXPECT_EQ(kinds.size(), 4u);
  EXPECT_GT(payloads.size(), 300u);
}

TEST(ValueData, IntegersReachBothRails) {
  for (DType dtype : {DType::I8, DType::U8, DType::I4, DType::I64}) {
    Tensor tensor = filled("rails", dtype, {256});
    std::set<uint64_t> values;
    for (size_t i = 0; i < 256; ++i)
      values.insert(loadBits(tensor, i));
    uint64_t top = maskOf(dtype);
    bool isSigned = isSignedInteger(dtype);
    EXPECT_EQ(values, isSigned ? (std::set<uint64_t>{top >> 1, top ^ top >> 1})
                               : (std::set<uint64_t>{0, top}));
  }
}

TEST(ValueData, TheSeedDrawsTheBound) {
  std::set<int> bounds;
  for (uint64_t seed = 0; seed < 32; ++seed) {
    Real most = 0;
    for (Real x : magnitudesOf(filled("scaled", DType::F32, {64}, {}, seed)))
      most = std::max(most, x);
    bounds.insert(std::ilogb(most));
  }
  EXPECT_GT(bounds.size(), 20u);
}

bool isValueCase(const Case &testCase) {
  return findValueData(testCase.dataSet) != nullptr;
}

/// Changes all finite float elements by one in 32, the steps of 8 bits aside.
void bend(std::vector<Tensor> &outputs) {
  for (Tensor &tensor : outputs)
    for (size_t i = 0; i < tensor.elementCount(); ++i) {
      uint64_t bits = loadBits(tensor, i);
      if (!isFloat(tensor.dtype)) {
        storeBits(tensor, i, bits ^ 1);
        continue;
      }
      Real value = decode(tensor.dtype, bits);
      uint64_t more = encode(tensor.dtype, value * (1 + 0x1p-5L));
      if (std::isfinite(value))
        storeBits(tensor, i, more == bits ? bits ^ 1 : more);
    }
}

struct Tally {
  size_t cases = 0, vacuous = 0, deaf = 0;
};

/// Right results pass; results that are 3 % off do not.
void tally(const Unit &unit, const Case &testCase, Tally &sums) {
  auto expected =
      evaluate(unit.graph, inputsOf(unit, testCase), {}, &unit.weights);
  ASSERT_TRUE(expected.ok()) << testCase.id << ": " << expected.message();
  ++sums.cases;
  std::vector<Tensor> outputs = rounded(*expected);
  bool saysAnything = false;
  for (const Verdict &verdict : judge(unit, testCase, *expected, outputs, {})) {
    EXPECT_TRUE(verdict.pass) << testCase.id << ": " << verdict.reason;
    saysAnything |= verdict.unbounded < verdict.elements;
  }
  EXPECT_TRUE(saysAnything) << testCase.id;
  sums.vacuous += !saysAnything;
  bend(outputs);
  bool isFound = false;
  for (const Verdict &verdict : judge(unit, testCase, *expected, outputs, {}))
    isFound |= !verdict.pass;
  sums.deaf += !isFound;
  if (!isFound)
    std::printf("deaf: %s\n", testCase.id.c_str());
}

TEST(ValueCases, RightResultsPassAndWrongOnesDoNot) {
  constexpr uint64_t oneIn = 24;
  std::map<std::string, Tally> sums;
  for (uint64_t seed : {0, 12345})
    generateUnits({.seed = seed}, [&](const Unit &unit) {
      for (const Case &testCase : unit.cases)
        if (isValueCase(testCase) && hashText(testCase.id) % oneIn == 0)
          tally(unit, testCase, sums[testCase.dataSet]);
    });
  for (const auto &[name, sum] : sums) {
    std::printf("%s: %zu cases, %zu vacuous, %zu deaf\n", name.c_str(),
                sum.cases, sum.vacuous, sum.deaf);
    EXPECT_GT(sum.cases, 0u);
    EXPECT_LE(10 * sum.deaf, sum.cases) << name;
  }
  EXPECT_EQ(sums.size(), 10u);
}

} // namespace
} // namespace backplane::conformance
