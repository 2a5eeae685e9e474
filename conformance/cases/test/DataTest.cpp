// SPDX-License-Identifier: Apache-2.0
#include "conformance/cases/Data.h"
#include "conformance/oracle/Format.h"
#include "conformance/oracle/Value.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace backplane::conformance {
namespace {

Tensor filled(std::string dataSet, DType dtype, std::vector<int64_t> dims,
              const InputRule &rule = {}, size_t input = 0) {
  Tensor tensor{dtype, std::move(dims), {}};
  tensor.data.resize((tensor.elementCount() * bitWidth(dtype) + 7) / 8);
  fill(tensor, rule, input, {.dataSet = std::move(dataSet), .seed = 7});
  return tensor;
}

std::vector<Real> numbers(const Tensor &tensor) {
  std::vector<Real> all;
  for (size_t i = 0; i < tensor.elementCount(); ++i)
    all.push_back(numberOf(tensor.dtype, loadBits(tensor, i)));
  return all;
}

TEST(Data, OneHotHasASingleOneInEachLine) {
  InputRule rule;
  rule.contracted = 1;
  std::vector<Real> values =
      numbers(filled("one-hot", DType::F32, {5, 3}, rule, 1));
  for (size_t column = 0; column < 3; ++column) {
    int ones = 0;
    for (size_t row = 0; row < 5; ++row)
      ones += values[row * 3 + column] == 1;
    EXPECT_EQ(ones, 1) << column;
  }
}

TEST(Data, SpecialPairsMeetEachOther) {
  size_t count = specialBits(DType::I8).size();
  std::set<std::pair<uint64_t, uint64_t>> pairs;
  auto total = static_cast<int64_t>(count * count);
  Tensor a = filled("special", DType::I8, {total});
  Tensor b = filled("special", DType::I8, {total}, {}, 1);
  for (size_t i = 0; i < count * count; ++i)
    pairs.insert({loadBits(a, i), loadBits(b, i)});
  std::set<uint64_t> distinct;
  for (uint64_t bits : specialBits(DType::I8))
    distinct.insert(bits);
  EXPECT_EQ(pairs.size(), distinct.size() * distinct.size());
}

TEST(Data, OffsetLeavesTheDeviatesSomeBits) {
  for (DType dtype :
       {DType::F64, DType::F32, DType::F16, DType::BF16, DType::F8E4M3FN}) {
    std::vector<Real> values = numbers(filled("offset", dtype, {1000}));
    Real mean = 0, variance = 0;
    for (Real x : values)
      mean += x / 1000;
    for (Real x : values)
      variance += (x - mean) * (x - mean) / 1000;
    EXPECT_GT(variance, 0.8) << name(dtype);
    EXPECT_LT(variance, 1.3) << name(dtype);
    if (dtype == DType::F32) {
      EXPECT_NEAR(static_cast<double>(mean), 1e6, 1);
    }
  }
}

TEST(Data, SwampingHidesOnesFromANarrowAccumulator) {
  std::vector<Real> values = numbers(filled("swamping", DType::F16, {64}));
  Real exact = 0, narrow = 0;
  for (Real x : values) {
    exact += x;
    narrow = decode(DType::F16, encode(DType::F16, narrow + x));
  }
  EXPECT_EQ(exact, 56);
  EXPECT_NE(narrow, exact);
}

TEST(Data, AlternatingChangesSignsAndSparseIsMostlyZero) {
  std::vector<Real> values = numbers(filled("alternating", DType::BF16, {50}));
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(values[i] < 0, i % 2 == 1) << i;
  std::vector<Real> some = numbers(filled("sparse", DType::F32, {800}));
  auto zeros = std::count(some.begin(), some.end(), Real(0));
  EXPECT_GT(zeros, 600);
  EXPECT_LT(zeros, 780);
}

TEST(Data, CornersOfTilesAreNaN) {
  std::vector<Real> values = numbers(filled("corners", DType::F32, {20, 40}));
  size_t count = 0;
  for (Real x : values)
    count += std::isnan(x);
  // Rows 0, 15, 16, 19 and columns 0, 15, 16, 31, 32, 39.
  EXPECT_EQ(count, 24u);
  EXPECT_TRUE(std::isnan(values[15 * 40 + 31]));
  EXPECT_FALSE(std::isnan(values[15 * 40 + 30]));
}

TEST(Data, PiReachesTwoToTheHundred) {
  const Real pi = 3.14159265358979323846264338327950288L;
  for (DType dtype : {DType::F64, DType::F32, DType::F16}) {
    std::vector<Real> values = numbers(filled("pi", dtype, {500}));
    Real most = 0;
    for (Real x : values) {
      Real eighths = std::fabs(x) / (pi / 8);
      while (eighths > 15.5L)
        eighths /= 2;
      Real away = std::fabs(eighths - std::round(eighths * 256) / 256);
      EXPECT_LT(away, std::ldexp(Real(1), 6 - formatOf(dtype).precision))
          << static_cast<double>(x);
      most = std::max(most, std::fabs(x));
    }
    EXPECT_GT(most, std::ldexp(Real(1), dtype == DType::F16 ? 12 : 98));
  }
}

/// How many elements lie exactly between two neighbours of a format.
size_t countTies(const Tensor &tensor, DType target) {
  size_t count = 0;
  for (Real x : numbers(tensor)) {
    if (!std::isfinite(x) || std::fabs(x) > formatOf(target).max)
      continue;
    Real half = ulp(formatOf(target), x) / 2;
    count += std::fmod(std::fabs(x), half * 2) == half;
  }
  return count;
}

TEST(Data, TiesLieBetweenNeighboursOfEachNarrowerFormat) {
  for (DType target :
       {DType::F16, DType::BF16, DType::F8E4M3FN, DType::F8E5M2}) {
    EXPECT_GT(countTies(filled("ties", DType::F32, {4096}), target), 40u)
        << name(target);
    EXPECT_GT(countTies(filled("ties", DType::I32, {4096}), target), 40u)
        << name(target);
  }
  EXPECT_GT(countTies(filled("ties", DType::F64, {4096}), DType::F32), 40u);
  EXPECT_GT(countTies(filled("ties", DType::I64, {4096}), DType::F32), 40u);
}

TEST(Data, TiesCatchRoundingTwice) {
  size_t caught = 0;
  for (Real x : numbers(filled("ties", DType::F64, {4096}))) {
    Real once = decode(DType::F16, encode(DType::F16, x));
    Real between = decode(DType::F32, encode(DType::F32, x));
    caught += once != decode(DType::F16, encode(DType::F16, between));
  }
  EXPECT_GT(caught, 20u);
}

TEST(Data, ErrorsHoldIndicesOutsideAndZeroDivisors) {
  InputRule rule;
  rule.kind = InputRule::Kind::Index;
  rule.bound = 10;
  size_t outside = 0, inside = 0;
  for (Real x : numbers(filled("errors", DType::I32, {100}, rule)))
    ++(x < 0 || x >= 10 ? outside : inside);
  EXPECT_GT(outside, 20u);
  EXPECT_GT(inside, 20u);
  for (Real x : numbers(filled("uniform", DType::I32, {100}, rule)))
    EXPECT_TRUE(x >= 0 && x < 10);
  rule.kind = InputRule::Kind::Divisor;
  std::vector<Real> divisors =
      numbers(filled("errors", DType::I16, {100}, rule));
  EXPECT_GT(std::count(divisors.begin(), divisors.end(), Real(0)), 10);
  divisors = numbers(filled("uniform", DType::I16, {100}, rule));
  EXPECT_EQ(std::count(divisors.begin(), divisors.end(), Real(0)), 0);
}

TEST(Data, UnknownDataSetsAreTold) {
  EXPECT_TRUE(isDataSet("uniform"));
  EXPECT_FALSE(isDataSet("unform"));
}

/// The dtypes from one up to another in one data set.
uint64_t hashOf(std::string_view dataSet, DType first, DType last) {
  uint64_t hash = 0;
  for (uint32_t i = uint32_t(first); i <= uint32_t(last); ++i) {
    Tensor tensor = filled(std::string(dataSet), DType(i), {17, 33});
    hash = hash * 31 +
           hashText({reinterpret_cast<const char *>(tensor.data.data()),
                     tensor.data.size()});
  }
  return hash;
}

TEST(Data, TheBytesAreThoseOfEveryMachineAndRelease) {
  const std::pair<const char *, uint64_t> golden[] = {
      {"uniform", 0xcac67f64169052b1u},
      {"special", 0xd8e7ff7afa4a9277u},
      {"exhaustive", 0x40d10b6a926915cfu},
      {"bits", 0x48e58d5291a0eac1u},
      {"integers", 0xe5f5fe1f46987892u},
      {"one-hot", 0xd281451361cd3b56u},
      {"cancel", 0xe06e18ffc4651c07u},
      {"equal", 0x4f1e1daf549f6ecau},
      {"offset", 0xab269a6db6abe513u},
      {"swamping", 0x7fa037b4fb529c14u},
      {"alternating", 0x2019c63ee7018f46u},
      {"sparse", 0x52177728db568b89u},
      {"corners", 0x40dac3f1f3ef37bau},
      {"pi", 0x8a5d86722e7c0cd3u},
      {"ties", 0xaab59bb18f05a529u},
      {"mixture", 0x8f569bb2220a58a4u},
      {"magnitudes", 0xbd189483443794fcu},
      {"large", 0x38031c95a14ebb98u},
      {"scaled", 0x79c335c8ad8b6345u},
      {"outliers", 0xdbc3fc654ab4067bu},
      {"subnormals", 0x3433d9555ab4ac34u},
      {"nans", 0x39fe274b8623b221u},
      {"zeros", 0x10c0e907516f5e5cu},
      {"cancellation", 0x51a587eb37cce14du},
      {"rails", 0x885c055875299aa7u},
      {"pruned", 0xe68d1b6f89b141f6u},
      {"all-zero", 0xe68d1b6f89b141f6u},
      {"all-one", 0xe68d1b6f89b141f6u},
      {"rising", 0xe68d1b6f89b141f6u},
      {"falling", 0xe68d1b6f89b141f6u},
      {"few-values", 0xe68d1b6f89b141f6u},
      {"positive", 0xe68d1b6f89b141f6u},
      {"negative", 0xe68d1b6f89b141f6u},
      {"distant", 0xe68d1b6f89b141f6u},
      {"masked", 0xe68d1b6f89b141f6u},
      {"symmetric", 0xe68d1b6f89b141f6u},
      {"diagonal", 0xe68d1b6f89b141f6u},
      {"equal-rows", 0xe68d1b6f89b141f6u},
      {"equal-columns", 0xe68d1b6f89b141f6u},
      {"same", 0xf341089f340c33d8u},
      {"patterned", 0xd9ca97294a43c9fbu},
  };
  for (const auto &[dataSet, expected] : golden) {
    uint64_t hash = hashOf(dataSet, DType::F64, DType::Bool);
    EXPECT_EQ(hash, expected) << dataSet << std::hex << ": 0x" << hash;
  }
}

TEST(Data, TheBytesOfSmallFloatsAreThoseOfEveryMachineAndRelease) {
  const std::pair<const char *, uint64_t> golden[] = {
      {"uniform", 0xcb385c859cc8db84u},    {"special", 0x0a01ea38597b506bu},
      {"exhaustive", 0x4501707fb4186d50u}, {"bits", 0x656b8a80ef6dce31u},
      {"ties", 0x25176516a6c3e058u},       {"mixture", 0x53ac1b1b2f599c11u},
      {"magnitudes", 0x744a3d7af5048f34u}, {"subnormals", 0x1ad8198b2fdf1d89u},
      {"nans", 0xb432d34b4f005974u},       {"zeros", 0x9b30c3e0b53d6422u},
      {"patterned", 0xece86f3aa81763a0u},
  };
  for (const auto &[dataSet, expected] : golden) {
    uint64_t hash = hashOf(dataSet, DType::F8E4M3FNUZ, DType::F4E2M1FN);
    EXPECT_EQ(hash, expected) << dataSet << std::hex << ": 0x" << hash;
  }
}

} // namespace
} // namespace backplane::conformance
