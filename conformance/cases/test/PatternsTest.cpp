// SPDX-License-Identifier: Apache-2.0
//
// Data sets of patterns: each has what its name says, in the operand that the
// case draws.
#include "conformance/cases/Data.h"
#include "conformance/oracle/Value.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace backplane::conformance {
namespace {

using Numbers = std::vector<Real>;

constexpr int64_t side = 24;

Numbers filled(const std::string &dataSet, size_t input, uint64_t seed) {
  Tensor tensor{DType::F32, {side, side}, {}};
  tensor.data.resize(size_t(side * side) * 4);
  fill(tensor, {}, input, {.dataSet = dataSet, .seed = seed});
  Numbers numbers;
  for (size_t i = 0; i < size_t(side * side); ++i)
    numbers.push_back(numberOf(DType::F32, loadBits(tensor, i)));
  return numbers;
}

/// Whether for some seeds the first operand has the pattern, for others the
/// second, and for some both have it.
void expectInSome(const std::string &dataSet,
                  const std::function<bool(const Numbers &)> &has) {
  size_t first = 0, second = 0, both = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    bool inFirst = has(filled(dataSet, 0, seed));
    bool inSecond = has(filled(dataSet, 1, seed));
    EXPECT_TRUE(inFirst || inSecond) << dataSet << " " << seed;
    first += inFirst && !inSecond;
    second += inSecond && !inFirst;
    both += inFirst && inSecond;
  }
  EXPECT_TRUE(first && second && both) << dataSet;
}

auto allOf(bool (*like)(Real)) {
  return [like](const Numbers &numbers) {
    return std::ranges::all_of(numbers, like);
  };
}

/// Of elements (i, j).
auto allPlaces(bool (*like)(const Numbers &, size_t i, size_t j)) {
  return [like](const Numbers &numbers) {
    for (size_t i = 0; i < side; ++i)
      for (size_t j = 0; j < side; ++j)
        if (!like(numbers, i, j))
          return false;
    return true;
  };
}

TEST(Patterns, NumbersAreOfOneKind) {
  expectInSome("all-zero", allOf([](Real x) { return x == 0; }));
  expectInSome("all-one", allOf([](Real x) { return x == 1; }));
  expectInSome("positive", allOf([](Real x) { return x > 0 && x <= 255; }));
  expectInSome("negative", allOf([](Real x) { return x < 0 && x >= -255; }));
  expectInSome("masked", allOf([](Real x) { return x == 0 || x == -10000; }));
  expectInSome("distant", allOf([](Real x) { return x > 32 || x < -32; }));
}

TEST(Patterns, NumbersStandInOrder) {
  expectInSome("rising",
               [](const Numbers &x) { return std::ranges::is_sorted(x); });
  expectInSome("falling", [](const Numbers &x) {
    return std::ranges::is_sorted(x, std::greater<>());
  });
}

TEST(Patterns, NumbersAreEvenlySpaced) {
  expectInSome("even", [](const Numbers &x) {
    for (size_t i = 2; i < x.size(); ++i)
      if (std::fabs(x[i] - x[i - 1] - (x[1] - x[0])) > 1e-5L)
        return false;
    return true;
  });
}

TEST(Patterns, OneElementIsUnlikeTheOthers) {
  expectInSome("one-number", [](const Numbers &x) {
    return std::ranges::count(x, Real(0)) == side * side - 1;
  });
  expectInSome("one-infinity", [](const Numbers &x) {
    return std::ranges::count_if(x, [](Real y) { return std::isinf(y); }) == 1;
  });
}

std::vector<int64_t> indices(const std::string &dataSet, int64_t bound) {
  Tensor tensor{DType::I64, {33}, Bytes(size_t(33) * 8)};
  fill(tensor, {.kind = InputRule::Kind::Index, .bound = bound}, 1,
       {.dataSet = dataSet, .seed = 5});
  std::vector<int64_t> all;
  for (size_t i = 0; i < 33; ++i)
    all.push_back(integerOf(DType::I64, loadBits(tensor, i)));
  return all;
}

TEST(Patterns, IndicesStandInAnOrder) {
  for (int64_t bound : {71, 33, 5, 1}) {
    auto one = indices("one-index", bound);
    auto next = indices("next-indices", bound);
    auto falling = indices("falling-indices", bound);
    EXPECT_EQ(std::ranges::count(one, one[0]), 33);
    EXPECT_TRUE(std::ranges::is_sorted(falling, std::greater<>()));
    EXPECT_EQ(falling[0], bound - 1);
    for (size_t i = 0; i < 33; ++i)
      EXPECT_EQ(next[i], (next[0] + int64_t(i)) % bound);
  }
  EXPECT_TRUE(std::ranges::is_sorted(indices("next-indices", 71)));
}

TEST(Patterns, FewNumbersAreOtherThanZeroOrEachOther) {
  expectInSome("pruned", [](const Numbers &x) {
    return std::ranges::count(x, Real(0)) > side * side * 4 / 5;
  });
  expectInSome("few-values", [](Numbers x) {
    std::ranges::sort(x);
    return x.size() - std::ranges::unique(x).size() <= 32;
  });
}

TEST(Patterns, MatricesAreRegular) {
  using N = const Numbers &;
  expectInSome("symmetric", allPlaces([](N x, size_t i, size_t j) {
                 return x[i * side + j] == x[j * side + i];
               }));
  expectInSome("diagonal", allPlaces([](N x, size_t i, size_t j) {
                 return i == j || x[i * side + j] == 0;
               }));
  expectInSome("equal-rows", allPlaces([](N x, size_t i, size_t j) {
                 return x[i * side + j] == x[j];
               }));
  expectInSome("equal-columns", allPlaces([](N x, size_t i, size_t j) {
                 return x[i * side + j] == x[i * side];
               }));
}

TEST(Patterns, OperandsAreEqualOrEachHasItsOwn) {
  EXPECT_EQ(filled("same", 0, 5), filled("same", 1, 5));
  EXPECT_NE(filled("same", 0, 5), filled("same", 0, 6));
  EXPECT_NE(filled("patterned", 0, 5), filled("patterned", 1, 5));
}

} // namespace
} // namespace backplane::conformance
